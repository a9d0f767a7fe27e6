# SPDX-License-Identifier: BSD-3-Clause
"""One run on a simulated machine: ``bench/scale/run`` and what ``tailrace bench scale`` is made of.

Needs the standard library only.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.planning.file_system import FileSystem, find_file_system
from tailrace.planning.machine import choose_nodes, find_machine, place_ranks

SOURCE_ROOT = Path(__file__).resolve().parent.parent.parent
MISSING = (
    "SimGrid is missing (smpicxx, smpirun): Debian and Ubuntu have it as libsimgrid-dev "
    "(tools/setup --scale), Spack as simgrid; others: https://simgrid.org"
)
# Networks of supercomputers are not TCP: links carry what they say, a flow is not held by a window.
MODEL = {
    "smpi/simulate-computation": "no",
    "smpi/bw-factor": "0:1",
    "smpi/lat-factor": "0:1",
    "network/crosstraffic": "0",
    "network/TCP-gamma": "0",
    "network/weight-S": "0",
    # A look at what has arrived costs little (SimGrid's own figure is 100 us, and grows).
    "smpi/iprobe": "2e-7",
    "smpi/test": "2e-7",
}
# SimGrid's own collective calls start all messages at once, which takes hours to simulate. Those of
# `ompi` and `mpich` deadlock with some communicators of a few ranks per node.
FEW_MESSAGES = {
    "smpi/allgather": "bruck",
    "smpi/allgatherv": "ompi_bruck",
    "smpi/allreduce": "rdb",
    "smpi/alltoall": "bruck",
    "smpi/alltoallv": "pair",
    "smpi/bcast": "binomial_tree",
}
DEFAULTS = {
    "placement": "all",  # nodes of the machine
    "per_node": "1",  # ranks of a node
    "order": "blocks",  # of ranks over nodes; round_robin, random:SEED, tiles:AxB
    "grid": "",  # rows x columns of ranks
    "alltoall": "alltoallv",  # method of moving blocks, or mpi, mpi:SELECTOR, isend_all
    "bytes": "1M",  # between two ranks
    "total": "0",  # or: of all blocks of a rank
    "overhead": "0",  # of a message on either side, of a one-sided read [s]
    "payload": "folded",  # or real
    "limit": "600",  # [s] of this machine's time
    "driver": "exchange",
    # Of driver output; `bytes` are those of a rank.
    "storage": "",  # name or TOML file of a file system, as `tailrace plan --storage`
    "strategy": "shared",  # file_per_process, shared, aggregated, or a strategy of File
    "piece": "0",  # contiguous bytes of a rank in the file; 0: all of them
    "writers": "0",  # of aggregated and collective; 0: one for each stripe's target
    "stripes": "0",  # of a file; 0: one for a file per process, else as many as possible
    "group": "0",  # ranks of a group of strategy grouped; 0: as many as on a node
    "direction": "write",  # or read
    "seed": "1",  # of the shares of targets that other jobs take
}
OUTPUT_WORDS = ("strategy", "writers", "stripes", "group", "direction")


@dataclass(frozen=True)
class Finished:
    """What a run has told: its line of JSON, and what it took on this machine."""

    answer: dict[str, Any]
    cpu_s: float


def read_bytes(text: str) -> int:
    """Return the number that `text` means: 512, 64k, 1M, 2G (powers of 1024)."""
    found = re.fullmatch(r"(\d+)([kMG]?)", text)
    if not found:
        raise TailraceError(f"{text}: expected bytes, as in 512, 64k or 1M", status=2)
    return int(found[1]) << {"": 0, "k": 10, "M": 20, "G": 30}[found[2]]


def build_folder() -> Path:
    """Return the folder of the drivers, build/scale of the source tree."""
    return SOURCE_ROOT / "build" / "scale"


def build() -> Path:
    """Build the drivers, which takes a minute the first time, and return their folder."""
    if not shutil.which("smpicxx") or not shutil.which("smpirun"):
        raise TailraceError(MISSING, status=77)
    folder = build_folder()
    words = [str(SOURCE_ROOT / "bench" / "scale" / "build"), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        end = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise TailraceError(f"the simulated drivers were not built ({' '.join(words)}):\n{end}")
    return folder


def run(machine_text: str, asked: dict[str, str], folder: Path) -> Finished:
    """Simulate one run; `asked` changes `DEFAULTS`."""
    unknown = set(asked) - set(DEFAULTS)
    if unknown:
        raise TailraceError(f"unknown setting {min(unknown)}: use {', '.join(DEFAULTS)}", status=2)
    options = DEFAULTS | asked
    machine = find_machine(machine_text)
    nodes = choose_nodes(machine, options["placement"])
    per_node = int(options["per_node"])
    hosts = place_ranks(nodes, per_node, options["order"], _grid(options["grid"], nodes, per_node))
    with tempfile.NamedTemporaryFile("w", prefix="tailrace-hosts-") as file:
        file.write("".join(f"n{node}\n" for node in hosts))
        file.flush()
        words = _words(options, folder, len(hosts), file.name)
        environment = os.environ | {"TAILRACE_MACHINE": machine.text}
        environment["TAILRACE_PAYLOAD"] = options["payload"]
        environment["TAILRACE_READ_OVERHEAD_S"] = options["overhead"]
        environment["TAILRACE_TUNE"] = "off"
        if options["storage"]:
            system = find_file_system(options["storage"])
            environment["TAILRACE_STORAGE"] = storage_text(system, int(options["seed"]))
        elif options["driver"] in ("output", "storage_check"):
            raise TailraceError(f"driver={options['driver']} needs storage=", status=2)
        return _run(words, environment, float(options["limit"]))


def storage_text(system: FileSystem, seed: int) -> str:
    """Return the parameters of a file system as the simulated one reads them."""
    words = [
        f"{table}.{key}={value}"
        for table in ("targets", "metadata", "locks", "clients", "network")
        for key, value in vars(getattr(system, table)).items()
        if not isinstance(value, str)
    ]
    load = system.load
    shares = [load.mean] * system.targets.count if load.mean > 0 else []
    if load.spread > 0:
        scale = load.mean * (1 - load.mean) / load.spread**2 - 1
        draw = random.Random(seed).betavariate
        shares = [min(draw(load.mean * scale, (1 - load.mean) * scale), 0.999) for _ in shares]
    return ",".join([*words, "load=" + ":".join(f"{share:.6f}" for share in shares)])


def _grid(text: str, nodes: list[int], per_node: int) -> tuple[int, int]:
    if not text:
        return 1, len(nodes) * per_node
    found = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text)
    if not found or int(found[1]) * int(found[2]) != len(nodes) * per_node:
        raise TailraceError(
            f"grid={text}: expected rows x columns of {len(nodes) * per_node} ranks", status=2
        )
    return int(found[1]), int(found[2])


def _words(options: dict[str, str], folder: Path, ranks: int, hosts: str) -> list[str]:
    model = dict(MODEL)
    method, _, selector = options["alltoall"].partition(":")
    if method == "mpi" and selector in ("ompi", "mpich", "mvapich2", "impi"):
        model["smpi/coll-selector"] = selector
    elif method == "mpi" and selector:
        model["smpi/alltoall"] = selector
    elif options["driver"] == "output":
        model |= FEW_MESSAGES
    if float(options["overhead"]) > 0:
        for way in ("os", "ois", "or"):
            model[f"smpi/{way}"] = f"0:{options['overhead']}:0"
    words = ["smpirun", "-np", str(ranks), "-hostfile", hosts]
    words += ["-platform", str((folder / "libtailrace_machine.so").resolve())]
    words += [f"--cfg={name}:{value}" for name, value in model.items()]
    words += ["--log=root.thresh:error", str((folder / f"scale_{options['driver']}").resolve())]
    words += ["--method", "mpi" if method == "mpi" else options["alltoall"]]
    words += ["--bytes", str(read_bytes(options["bytes"]))]
    words += ["--total", str(read_bytes(options["total"]))]
    if options["driver"] == "output":
        words += ["--piece", str(read_bytes(options["piece"]))]
        words += [word for key in OUTPUT_WORDS for word in (f"--{key}", options[key])]
    return words + (["--grid", options["grid"]] if options["grid"] else [])


def _run(words: list[str], environment: dict[str, str], limit_s: float) -> Finished:
    before = os.times()
    with subprocess.Popen(
        words,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=limit_s)
        except BaseException as error:  # smpirun is a script: its children must go, too
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise TailraceError(f"the simulation took longer than {limit_s:.0f} s") from error
            raise
    after = os.times()
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if process.returncode != 0 or not lines:
        end = "\n".join((out + err).strip().splitlines()[-6:])
        raise TailraceError(f"the simulation failed (status {process.returncode}):\n{end}")
    return Finished(json.loads(lines[-1]), after.children_user - before.children_user)


def main(words: list[str]) -> int:
    """Run ``bench/scale/run MACHINE [key=value ...]``."""
    if not words or (":" not in words[0] and "=" in words[0]):
        known = "\n  ".join(f"{key}={value}" for key, value in DEFAULTS.items())
        print(f"usage: bench/scale/run MACHINE [key=value ...], by default:\n  {known}")
        return 2
    try:
        asked = {key: value for key, _, value in (word.partition("=") for word in words[1:])}
        answer = run(words[0], asked, build())
    except TailraceError as error:
        print(f"bench/scale/run: {error}", file=sys.stderr)
        return error.status
    print(json.dumps(answer.answer | {"cpu_s": round(answer.cpu_s, 2)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
