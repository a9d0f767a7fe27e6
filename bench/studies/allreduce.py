# SPDX-License-Identifier: BSD-3-Clause
"""Every method of reductions compared with MPI's calls: allreduce, reduce, barrier."""

import shutil
from pathlib import Path

from rich.console import Console

from bench.studies.drivers import find_driver, need_driver
from tailrace.benchmarks import fake_cluster, size_picture, size_table
from tailrace.benchmarks.drivers import Command, arguments
from tailrace.benchmarks.exchange import QUICK_SIZES, forget, tuning
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured
from tailrace.errors import TailraceError
from tailrace.launch.launcher import find_launcher

SUMMARY = "allreduce, reduce and barrier among all ranks"

OPERATIONS = {
    "allreduce": "allreduce of doubles, bytes",
    "reduce": "reduce of doubles onto rank 0, bytes",
    "barrier": "barrier",
    "many": "150,000 allreduces of one double",
}
SETTINGS = {  # of Open MPI: name -> (environment, whether it needs several nodes)
    "Open MPI, coll sm": ({"OMPI_MCA_coll_sm_priority": "100"}, False),
    "Open MPI, coll han": ({"OMPI_MCA_coll_han_priority": "100"}, True),
}
MPICH_LAUNCHER = "mpiexec.mpich"


def entries(options: Options) -> list[Entry]:
    """Return the entries of each number of ranks; ours and MPI's own are in one process."""
    program = need_driver("allreduce_ours")
    chosen = options.moving
    if chosen.nodes > 1:
        fake_cluster.check()
    operations = chosen.patterns or ["allreduce", "reduce", "barrier"]
    unknown = [name for name in operations if name not in OPERATIONS]
    if unknown:
        known = ", ".join(OPERATIONS)
        raise TailraceError(f"--patterns {unknown[0]}: expected one of {known}", status=2)
    found = []
    for ranks in options.ranks or [2, 4, 16]:
        label = f"{ranks} ranks"
        common = arguments(
            operations=",".join(operations),
            sizes=",".join(str(size) for size in chosen.sizes or QUICK_SIZES),
            repeats=options.repeats,
        )
        own = arguments(methods=";".join(chosen.methods), entries=";".join(chosen.entries))
        command = fake_cluster.on_nodes(ranks, chosen.nodes, program, [*common, *own])
        command = Command(command.words, {**command.environment, **tuning(options)})
        found.append(Entry("methods", label, True, command))
        if options.other_libraries:
            found += _peers(options, ranks, label, common)
    return found


def _peers(options: Options, ranks: int, label: str, common: list[str]) -> list[Entry]:
    nodes = options.moving.nodes
    on_nodes = "" if nodes == 1 else f" on {nodes} nodes"
    found = []
    program = find_driver("allreduce_mpi")
    is_open_mpi = nodes > 1 or find_launcher(ranks, 1).kind == "Open MPI"
    for name, (environment, several_nodes) in SETTINGS.items():
        if program is None or not is_open_mpi or several_nodes is not (nodes > 1):
            continue
        words = [*common, *arguments(entry=name, nodes=on_nodes)]
        command = fake_cluster.on_nodes(ranks, nodes, program, words)
        command = Command(command.words, {**command.environment, **environment})
        found.append(Entry(name, label, False, command))
    program = find_driver("allreduce_mpich")
    if program is not None and nodes == 1 and shutil.which(MPICH_LAUNCHER):
        words = [*common, *arguments(entry="MPICH")]
        command = Command([MPICH_LAUNCHER, "-n", str(ranks), str(program), *words])
        found.append(Entry("MPICH", label, False, command))
    return found


def finish(measured: Measured, options: Options) -> None:
    """Wrong sums are failures."""
    forget(options)
    size_table.require_entries(measured, options.moving.entries, "reductions")
    for row in measured.rows:
        row.setdefault("nodes", options.moving.nodes)
    size_table.judge(measured)


def show(console: Console, measured: Measured) -> None:
    """Print a table an operation and number of ranks."""
    size_table.show(console, measured, OPERATIONS)


def draw(path: Path, measured: Measured) -> None:
    """Draw times against sizes, and the ratios to MPI's own calls."""
    size_picture.draw(path, measured, OPERATIONS)
