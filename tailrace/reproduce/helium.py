# SPDX-License-Identifier: BSD-3-Clause
"""I/O servers for HELIUM on a Cray XE6: 50 MB per process, a file for each."""

from dataclasses import replace

from tailrace.planning import model
from tailrace.planning.file_system import FileSystem, Load, find_file_system
from tailrace.planning.model import Job, Machine
from tailrace.planning.writing import Pattern, cost
from tailrace.reproduce.figure import Curve, Found, Picture

RANK_BYTES = 50e6
PER_NODE = 32  # cores of a node; 65,536 processors are more than the earlier machine had
STEP_S = 9.31  # as published, with MPI servers
INTERVAL_S = 600.0  # the shortest interval of the study
INJECTION = 6e9  # Gemini, EuroBen report on the XE6 [bytes/s]
MEMORY = 50e9  # memory bandwidth of a node [bytes/s]
SHARE_BYTES = 100e6
MOST_CORES = 46340
RANKS = 16384
MET_IO = {"mpi": 0.14, "shmem": 0.25}  # steps that met I/O, as published
STORAGE = "file system of 10 GB/s (published), 72 targets, 5,000 creates per second (assumed)"


def _system() -> FileSystem:
    return find_file_system("xe6_10gb")


def _checkpoint_s(cores: int, size: float, load: float = 0.0) -> float:
    system = replace(_system(), load=Load(mean=load))
    return cost(system, Pattern(cores, PER_NODE, cores * size, "file_per_process")).seconds


def _job(ranks: int) -> Job:
    steps = round(INTERVAL_S / STEP_S)
    return Job(ranks, PER_NODE, ranks * RANK_BYTES, steps, STEP_S)


def _machine(load: float = 0.0) -> Machine:
    system = replace(_system(), load=Load(mean=load))
    return replace(model.on_machine(system), network=INJECTION)


def checkpoint_share() -> Found:
    """Share of the wall time in checkpoints without servers."""
    cores = [1024, 2048, 4096, 8192, 16384, 32768, MOST_CORES]
    curves = []
    for minutes in (10, 20, 30, 60, 180):
        times = [_checkpoint_s(n, SHARE_BYTES) / (60 * minutes) for n in cores]
        plain = [n * SHARE_BYTES / 10e9 / (60 * minutes) for n in cores]
        x = [float(n) for n in cores]
        curves += [
            Curve(f"model, {minutes} min", x, [min(1.0, t) for t in times]),
            Curve(f"study, {minutes} min", x, plain, True, f"model, {minutes} min"),
        ]
    seconds = _checkpoint_s(MOST_CORES, SHARE_BYTES)
    return Found(
        seconds / INTERVAL_S,
        f"{MOST_CORES:,} cores write 4.63 TB every 10 minutes. The study divides by 10 GB/s (463 "
        "s); "
        f"the model adds the creation of the files and the time of each request: {seconds:.0f} s.",
        [STORAGE, "0.5 ms per request of 1 MiB"],
        Picture("cores", "share of the wall time", curves),
    )


def checkpoint_time() -> Found:
    """Time of a checkpoint as the ranks see it, without and with servers."""
    ranks = [64 * 4**k for k in range(6)]
    plain = [_checkpoint_s(n, RANK_BYTES) for n in ranks]
    served = []
    for number in ranks:
        job, machine = _job(number), _machine()
        needed = model.servers_to_hide(job, machine) or 1
        outcome = model.servers(job, machine, needed)
        served.append(outcome.hand_over_s + outcome.stall_s)
    x = [float(n) for n in ranks]
    return Found(
        plain[-1],
        f"Without servers, a checkpoint takes {plain[0]:.2g} s on 64 processors and "
        f"{plain[-1]:.0f} s on 65,536. With enough servers to hide it, it takes at most "
        f"{max(served):.2g} s. The study's curves have the same shape on an axis of 200 s, so its "
        "file system was faster than the 10 GB/s with which it computes.",
        [STORAGE],
        Picture(
            "processors",
            "time of a checkpoint [s]",
            [Curve("model, without servers", x, plain), Curve("model, with servers", x, served)],
        ),
    )


def run_time() -> Found:
    """Run time of some steps with a checkpoint."""
    ranks = [64 * 2**k for k in range(10)]
    plain, served = [], []
    for number in ranks:
        job, machine = _job(number), _machine()
        needed = model.servers_to_hide(job, machine) or 1
        plain.append(job.compute_s() + _checkpoint_s(number, RANK_BYTES))
        served.append(model.servers(job, machine, needed).period_s)
    x = [float(n) for n in ranks]
    return Found(
        plain[-1],
        f"An interval of 10 minutes with its checkpoint takes {plain[0]:.0f} to {plain[-1]:.0f} s "
        f"without servers, and at most {max(served):.0f} s with them. The study's axis runs from "
        "300 to 700 s.",
        [STORAGE, "a checkpoint every 10 minutes"],
        Picture(
            "processors",
            "run time [s]",
            [Curve("model, without servers", x, plain), Curve("model, with servers", x, served)],
        ),
    )


def _slower() -> dict[str, float]:
    """Return the share by which a step that moves data takes longer."""
    on_node = RANK_BYTES * PER_NODE
    return {"mpi": on_node / INJECTION / STEP_S, "shmem": on_node / MEMORY / STEP_S}


def disturbance_mpi() -> Found:
    """Sending takes a rank as long as its share of the node's interface needs."""
    slower = _slower()["mpi"]
    return Found(
        100 * slower,
        f"32 processes of a node send 50 MB each at 6 GB/s: {slower * STEP_S:.3f} s of a step of "
        f"9.31 s. With the 24 cores of the machine before, it is {75 * slower:.2f} %.",
        ["32 cores per node", "sending does not overlap with computing"],
    )


def disturbance_shmem() -> Found:
    """One-sided reading takes memory bandwidth from the computation, and no processor."""
    slower = _slower()["shmem"]
    return Found(
        100 * slower,
        f"Reading 1.6 GB of a node's memory at 50 GB/s takes {slower * STEP_S:.3f} s from a "
        "program "
        "that is limited by memory. A program that is not loses less.",
        ["32 cores per node", "50 GB/s of memory bandwidth, all of which the program uses"],
    )


def average_step() -> Found:
    """Average step with MPI servers over that with SHMEM servers."""
    slower = _slower()
    mpi, shmem = (1 + MET_IO[kind] * slower[kind] for kind in ("mpi", "shmem"))
    return Found(
        mpi / shmem,
        "The model slows steps that meet I/O (published: 14 % and 25 %) and no others, which makes "
        f"{mpi / shmem:.3f}. So servers do not explain that SHMEM steps took 4 % longer on "
        "average: "
        "the two runs differed in something else.",
        ["a step without I/O takes as long in both runs"],
    )


def _without_io(kind: str) -> Found:
    steps = INTERVAL_S / STEP_S
    return Found(
        1 - 1 / steps,
        f"A rank's data leaves it within one step of {steps:.0f}. The study counts steps in which "
        f"any transfer ran ({100 * MET_IO[kind]:.0f} %), and does not print its interval.",
        ["a checkpoint every 10 minutes"],
    )


def steps_without_io_mpi() -> Found:
    """Steps that met no I/O, MPI servers."""
    return _without_io("mpi")


def steps_without_io_shmem() -> Found:
    """Steps that met no I/O, SHMEM servers."""
    return _without_io("shmem")


def halved_bandwidth_write() -> Found:
    """Time of a write if another job takes half of the bandwidth."""
    alone, shared = (_checkpoint_s(RANKS, RANK_BYTES, load) for load in (0.0, 0.5))
    return Found(
        shared / alone,
        f"{RANKS:,} ranks: {alone:.1f} s alone, {shared:.1f} s with half of each target's "
        "bandwidth. "
        "Creating files takes as long as before.",
        [STORAGE],
    )


def halved_bandwidth_run() -> Found:
    """Run time with servers if another job takes half of the bandwidth."""
    job = _job(RANKS)
    needed = model.servers_to_hide(job, _machine(0.5)) or 1
    alone, shared = (model.servers(job, _machine(load), needed).period_s for load in (0.0, 0.5))
    return Found(
        shared / alone,
        f"{RANKS:,} ranks with {needed} servers: an output leaves the staging memory before the "
        "next "
        "one comes, whether it is written at full or at half speed.",
        [STORAGE, "a checkpoint every 10 minutes"],
    )


def extra_nodes() -> Found:
    """Nodes of servers that hide the output, of all nodes."""
    ranks = [1024, 4096, 16384, 65536]
    shares = []
    for number in ranks:
        needed = model.servers_to_hide(_job(number), _machine()) or 0
        shares.append(100 * needed / _job(number).nodes())
    at = ranks.index(RANKS)
    return Found(
        shares[at],
        "The fewest servers that hide a checkpoint every 10 minutes: "
        + ", ".join(f"{s:.2g} % for {n:,} ranks" for n, s in zip(ranks, shares, strict=True))
        + ". The study allows 1 to 2 %; the ratio is to the middle.",
        [STORAGE, "one server per extra node, 300 MB/s of one process", "every 10 minutes"],
        Picture(
            "ranks",
            "extra nodes [%]",
            [
                Curve("model", [float(n) for n in ranks], shares),
                Curve("study, least", [float(ranks[0]), float(ranks[-1])], [1, 1], published=True),
                Curve("study, most", [float(ranks[0]), float(ranks[-1])], [2, 2], published=True),
            ],
        ),
    )
