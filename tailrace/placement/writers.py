# SPDX-License-Identifier: BSD-3-Clause
"""The table of writers: one rank map as the files that launchers read.

To add one: a function from a `RankMap` to the text of the file, and a line in `WRITERS`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from tailrace.placement.rank_map import RankMap


@dataclass(frozen=True)
class Writer:
    """One launcher's file. In `launch` {file}, {ranks}, {hosts}, {cpus} are filled in."""

    name: str
    file: str
    text: Callable[[RankMap], str]
    launch: str
    summary: str
    caveat: Callable[[RankMap], str] = lambda _map: ""


def _rankfile(rank_map: RankMap) -> str:
    lines = []
    for rank in range(rank_map.num_ranks):
        first, last = rank_map.cores_of(rank)
        cores = str(first) if first == last else f"{first}-{last}"
        lines.append(f"rank {rank}={rank_map.host_of(rank)} slot={cores}")
    return "\n".join(lines) + "\n"


def _reorder_file(rank_map: RankMap) -> str:
    """One line per node: its ranks in the order of the slots, for MPICH_RANK_REORDER_METHOD=3."""
    lines = [f"# order: {rank_map.order}; a line for each node"]
    for node in range(len(rank_map.hosts)):
        lines.append(",".join(map(str, rank_map.ranks_of(node))))
    return "\n".join(lines) + "\n"


def _host_of_each_rank(rank_map: RankMap) -> str:
    return "".join(f"{rank_map.host_of(rank)}\n" for rank in range(rank_map.num_ranks))


def _machine_file(rank_map: RankMap) -> str:
    """Hosts in the order of the ranks, those that follow one another on a node in one line.

    hydra returns to the first line after the last one, so nodes used cyclically are named once.
    """
    runs = groupby(range(rank_map.num_ranks), key=rank_map.host_of)
    lines = [(host, len(list(ranks))) for host, ranks in runs]
    turn = len({host for host, _ in lines})
    repeats = all(line == lines[place % turn] for place, line in enumerate(lines[:-1]))
    host, count = lines[-1]
    first_host, first_count = lines[(len(lines) - 1) % turn]
    if repeats and host == first_host and count <= first_count:
        lines = lines[:turn]
    return "".join(f"{host}:{count}\n" for host, count in lines)


def _hydra_caveat(rank_map: RankMap) -> str:
    hosts = [line.split(":")[0] for line in _machine_file(rank_map).splitlines()]
    if len(hosts) == len(set(hosts)):
        return ""
    return (
        "hydra starts a proxy for each line, and MPI then treats ranks of a node in "
        "different lines as ranks of different nodes (MPICH 4.0): they communicate "
        "through the network; "
        "in a Slurm job mpiexec hangs waiting for a second proxy on a node: take slurm.hosts there"
    )


def cpu_map(rank_map: RankMap) -> str:
    """Return the first core of each local rank for --cpu-bind=map_cpu; "" if nodes differ.

    Slurm numbers the tasks of a node by rank, and gives the same list to all nodes.
    """
    lists = set()
    for node in range(len(rank_map.hosts)):
        lists.add(tuple(rank_map.cores_of(rank)[0] for rank in sorted(rank_map.ranks_of(node))))
    longest = max(lists, key=len)
    if all(longest[: len(one)] == one for one in lists):
        return ",".join(map(str, longest))
    return ""


def _slurm_caveat(rank_map: RankMap) -> str:
    if cpu_map(rank_map):
        return ""
    return (
        "the cores of the ranks differ between nodes, so one CPU map cannot describe them; add a "
        "binding"
    )


WRITERS = (
    Writer(
        "openmpi4",
        "openmpi.rankfile",
        _rankfile,
        "mpirun -H {hosts} --rankfile {file} -n {ranks}",
        "Open MPI 4 and before",
    ),
    Writer(
        "openmpi5",
        "openmpi5.rankfile",
        _rankfile,
        "mpirun -H {hosts} --map-by rankfile:file={file} -n {ranks}",
        "Open MPI 5 (PRRTE)",
    ),
    Writer(
        "cray",
        "MPICH_RANK_ORDER",
        _reorder_file,
        "MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE={file} srun -n {ranks}",
        "Cray MPICH, started so that nodes are filled one after the other",
    ),
    Writer(
        "hydra",
        "hydra.hosts",
        _machine_file,
        "mpiexec -f {file} -n {ranks}",
        "MPICH, Intel MPI, MVAPICH",
        _hydra_caveat,
    ),
    Writer(
        "slurm",
        "slurm.hosts",
        _host_of_each_rank,
        "SLURM_HOSTFILE={file} srun --distribution=arbitrary{cpus} -n {ranks}",
        "srun",
        _slurm_caveat,
    ),
    Writer(
        "pbs",
        "pbs.nodes",
        _host_of_each_rank,
        "mpirun --mca rmaps seq --hostfile {file} -n {ranks}",
        "PBS, a line for each rank as in its node file; Open MPI 4's sequential mapper",
    ),
)


def launch_line(writer: Writer, rank_map: RankMap, file: str) -> str:
    """Return the words that start a program with this map."""
    counts = [rank_map.node.count(node) for node in range(len(rank_map.hosts))]
    hosts = ",".join(f"{host}:{n}" for host, n in zip(rank_map.hosts, counts, strict=True))
    cores = cpu_map(rank_map)
    cpus = f" --cpu-bind=map_cpu:{cores}" if cores else ""
    return writer.launch.format(file=file, ranks=rank_map.num_ranks, hosts=hosts, cpus=cpus)
