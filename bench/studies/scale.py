# SPDX-License-Identifier: BSD-3-Clause
"""Variants of moving data on simulated machines: which wins where, and what placement is worth."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.studies import scale_picture
from bench.studies.scale_run import build, run
from tailrace.benchmarks.drivers import Command
from tailrace.benchmarks.options import FULL_SIZES as ALL_SIZES
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.report import show_failures
from tailrace.benchmarks.rounds import Entry, Measured
from tailrace.errors import TailraceError

SUMMARY = "the code of `move` on simulated machines (SimGrid): rows and columns of a pencil grid"

PER_NODE = 4  # ranks of a node in the map of winners
SQUARES = {16: "4x4", 64: "8x8", 256: "16x16", 1024: "32x32"}  # ranks -> grid
MACHINES = {  # ranks -> a machine with ranks / 4 nodes
    "torus": {
        16: "gemini:2x2x1",
        64: "gemini:4x2x2",
        256: "gemini:4x4x4",
        1024: "gemini:8x8x4",
    },
    "dragonfly": {
        ranks: f"dragonfly:{shape},host=25,local=25,global=25,latency=2e-7,loopback=50"
        for ranks, shape in {16: "2x1x2x1", 64: "4x1x4x1", 256: "4x1x4x4", 1024: "8x1x8x4"}.items()
    },
    "fat_tree": {
        ranks: f"fat_tree:{shape},bw=12.5,latency=2e-7,loopback=50"
        for ranks, shape in {
            16: "2x2,up=1x1",
            64: "4x4,up=1x2",
            256: "8x8,up=1x4",
            1024: "16x16,up=1x8",
        }.items()
    },
}
OVERHEAD = {"overhead": "5e-7"}  # of a message on either side, of a read [s]
METHODS = {  # entry -> method; the first is the reference
    "MPI (MPICH's choice)": "mpi:mpich",
    "MPI (Open MPI's choice)": "mpi:ompi",
    "alltoallv (all at once)": "alltoallv",
    "pairwise, 4 in flight": "pairwise:in_flight=4",
    "bruck": "bruck",
    "pull, chunks of 64k": "pull:chunk=64k,depth=4",
    "node_aware": "node_aware",
}
SIZES = [64, 1 << 10, 16 << 10, 256 << 10]  # bytes of a pair
FULL_SIZES = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20]
SLAB = {  # entry -> where ranks of a grid of 32 x 32 are, 32 on each of 4x4x2 nodes of Gemini
    "tiles of 4 x 8 on a node": "tiles:4x8",
    "tiles of 8 x 4 on a node": "tiles:8x4",
    "ranks at random": "random",
    "slab on node (rows of the grid)": "blocks",
}
PULL = {  # entry -> method, 1,024 ranks, 4 on each of 8x8x4 nodes of Gemini
    "MPI, pairwise rounds": "mpi:pair",
    "MPI, ring of partners": "mpi:ring",
    "pull, whole blocks, 8 in flight": "pull:chunk=256k,depth=8",
}
PARTS = (*MACHINES, "slab", "pull")
DEFAULT_PARTS = (*MACHINES, "slab")


@dataclass(frozen=True)
class Simulation:
    """A machine, and what `scale_run.run` is asked for on it."""

    machine: str
    asked: dict[str, str]

    def command(self) -> Command:
        """Return what a user would type."""
        settings = [f"{key}={value}" for key, value in self.asked.items()]
        return Command(["bench/scale/run", self.machine, *settings])


def entries(options: Options) -> list[Entry]:
    """Return a simulation for each machine, number of ranks, size and method."""
    parts = options.moving.patterns or list(DEFAULT_PARTS)
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise TailraceError(
            f"--patterns {unknown[0]}: expected some of {', '.join(PARTS)}", status=2
        )
    found = []
    for part in parts:
        if part in MACHINES:
            found += _map(part, options)
        elif part == "slab":
            asked = {"grid": "32x32", "per_node": "32", "total": "8M", "alltoall": "mpi:pair"}
            places = [
                (name, Simulation("gemini:4x4x2", asked | {"order": order}))
                for name, order in SLAB.items()
            ]
            found += _compared("slab on node, 1024 ranks, 8 MiB per rank", places, ours=3)
        else:
            asked = {"grid": "32x32", "per_node": "4", "bytes": "256k", "limit": "3600"}
            variants = [
                (name, Simulation("gemini:8x8x4", asked | {"alltoall": method}))
                for name, method in PULL.items()
            ]
            found += _compared(
                "chunked random pull, 1024 ranks, 256 KiB per pair", variants, ours=2
            )
    return found


def _compared(problem: str, variants: list[tuple[str, Simulation]], ours: int) -> list[Entry]:
    """Return entries of which the first is the reference, and number `ours` is ours."""
    return [
        Entry(name, problem, number == ours, variant.command(), reference=number == 0)
        for number, (name, variant) in enumerate(variants)
    ]


def _map(kind: str, options: Options) -> list[Entry]:
    chosen = options.moving
    ranks_of = options.ranks or [64, 256]
    unknown = [ranks for ranks in ranks_of if ranks not in SQUARES]
    if unknown:
        known = ", ".join(map(str, SQUARES))
        raise TailraceError(f"--ranks {unknown[0]}: expected some of {known}", status=2)
    methods = METHODS | {method: method for method in chosen.methods}
    wanted = [
        name
        for name in methods
        if not chosen.entries or any(part in name for part in chosen.entries)
    ]
    # Chunks of blocks above 1 MiB would take the simulator hours.
    sizes = FULL_SIZES if chosen.sizes == ALL_SIZES else chosen.sizes or SIZES
    found = []
    for ranks in ranks_of:
        for size in sizes:
            asked = OVERHEAD | {"grid": SQUARES[ranks], "per_node": str(PER_NODE)}
            asked["bytes"] = str(size)
            for name in wanted:
                variant = Simulation(MACHINES[kind][ranks], asked | {"alltoall": methods[name]})
                problem = f"{kind}, {ranks} ranks, {size_text(size)}"
                ours = not methods[name].startswith("mpi")
                reference = name == next(iter(METHODS))
                found.append(Entry(name, problem, ours, variant.command(), reference))
    return found


def size_text(size: int) -> str:
    """Return 16384 as 16k."""
    for shift, unit in ((20, "M"), (10, "k")):
        if size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


def runner(_options: Options) -> Callable[[Command], list[dict[str, Any]]]:
    """Return what simulates a command: once, as its answer is the same each time."""
    folder = build()
    known: dict[str, dict[str, Any]] = {}

    def simulate(command: Command) -> list[dict[str, Any]]:
        _, machine, *settings = command.words
        key = json.dumps(command.words)
        if key not in known:
            asked = dict(word.split("=", 1) for word in settings)
            try:
                done = run(machine, asked, folder)
                known[key] = done.answer | {"machine": machine, "cpu_s": done.cpu_s}
                known[key]["command"] = " ".join(command.words)
            except TailraceError as error:
                known[key] = {"failure": f"ours failed: {error}"}
        record = dict(known[key])
        if "failure" not in record:
            record["seconds"] = [record["row_s"] + record["column_s"]]
        return [record]

    return simulate


def finish(measured: Measured, _options: Options) -> None:
    """Name the winner of each problem."""
    for problem in dict.fromkeys(row["problem"] for row in measured.rows):
        rows = [row for row in measured.rows if row["problem"] == problem]
        best = min(row["median_s"] for row in rows)
        for row in rows:
            row["wins"] = row["median_s"] <= best * 1.0005
            if "ratio" in row:
                row["gain"] = 1 / row["ratio"]


def show(console: Console, measured: Measured) -> None:
    """Print a table for each machine and number of ranks, or for each other comparison."""
    for problem in dict.fromkeys(row["problem"] for row in measured.rows):
        table = Table(title=problem, title_justify="left")
        table.add_column("simulated", no_wrap=True)
        for heading in ("rows [us]", "columns [us]", "both [us]", "gain"):
            table.add_column(heading, justify="right", no_wrap=True)
        for row in (row for row in measured.rows if row["problem"] == problem):
            times = [row["row_s"], row["column_s"], row["median_s"]]
            cells = [f"{1e6 * seconds:.1f}" for seconds in times]
            gain = f"{row['gain']:.2f}" if "gain" in row else ""
            table.add_row(row["entry"], *cells, gain, style="bold" if row["wins"] else "")
        console.print(table)
    show_failures(console, measured.failures, "not simulated")


def draw(path: Path, measured: Measured) -> None:
    """Draw the map of winners: ranks against message size, a panel a machine."""
    scale_picture.draw(path, measured, list(MACHINES), list(METHODS))
