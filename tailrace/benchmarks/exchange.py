# SPDX-License-Identifier: BSD-3-Clause
"""Every method of exchanges compared with MPI's own calls: all-to-alls, transposes."""

import os
from pathlib import Path

from rich.console import Console

from tailrace.benchmarks import clone, fake_cluster, size_picture, size_table
from tailrace.benchmarks.drivers import Command, arguments, driver
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured
from tailrace.errors import TailraceError

SUMMARY = "moving data between all ranks: uniform and skewed all-to-alls, transposes of an FFT"

ALL_TO_ALLS = {  # pattern -> what it is called
    "uniform": "all-to-all, uniform, bytes per pair",
    "fat": "all-to-all, fat (few big messages, the other pairs empty), bytes per pair on average",
    "zipf": "all-to-all, zipf (few big and many small messages), bytes per pair on average",
}
TRANSPOSES = {
    "pencils": "x-pencils to y-pencils, y fastest",
    "kept": "x-pencils to y-pencils, order kept",
    "slabs": "z-slabs to y-slabs",
}
AXES = 3
QUICK_SIZES = [8, 512, 4096, 32768, 2097152]
QUICK_EDGE = 128  # points along an edge of a transpose
MOST_BYTES = 256 << 20  # moved by all ranks together; larger all-to-alls are left out


def entries(options: Options) -> list[Entry]:
    """Return one entry a pattern and number of ranks; the methods take turns inside the driver."""
    others = clone.other_libraries() if options.other_libraries else None
    chosen = options.moving
    if chosen.nodes > 1:
        fake_cluster.check()
    found = []
    for pattern in chosen.patterns or ["uniform", "zipf", "pencils"]:
        if pattern not in ALL_TO_ALLS and pattern not in TRANSPOSES:
            known = ", ".join([*ALL_TO_ALLS, *TRANSPOSES])
            raise TailraceError(f"--patterns {pattern}: expected one of {known}", status=2)
        for ranks in options.ranks or ([2, 4, 16] if pattern == "uniform" else [2, 4]):
            label = f"{pattern}, {ranks} ranks"
            command = _ours(options, pattern, ranks)
            found.append(Entry("methods", label, True, command))
            if pattern in TRANSPOSES and others:
                found += others.exchange_entries(options, pattern, ranks, label)
    return found


def _ours(options: Options, pattern: str, ranks: int) -> Command:
    program, first = driver("exchange")
    chosen = options.moving
    sizes = chosen.sizes or QUICK_SIZES
    if pattern in TRANSPOSES:
        sizes = options.sizes or [QUICK_EDGE]
    words = first + arguments(
        pattern=pattern,
        sizes=",".join(str(size) for size in sizes),
        repeats=options.repeats,
        memory=MOST_BYTES,
        methods=";".join(chosen.methods),
        entries=";".join(chosen.entries),
    )
    command = fake_cluster.on_nodes(ranks, chosen.nodes, program, words)
    return Command(command.words, {**command.environment, **tuning(options)})


def tuning(options: Options) -> dict[str, str]:
    """Return the environment in which "auto" is chosen by this bench's own measurements."""
    memory = options.cache.resolve() / f"tune-{os.getpid()}.json"
    return {"TAILRACE_TUNE": "first_use", "TAILRACE_TUNE_FILE": str(memory)}


def forget(options: Options) -> None:
    """Remove what "auto" remembered."""
    for left in options.cache.glob(f"tune-{os.getpid()}.json*"):
        left.unlink()


def finish(measured: Measured, options: Options) -> None:
    """Add bytes a second; points that arrived wrong are failures."""
    forget(options)
    size_table.require_entries(measured, options.moving.entries, "exchange")
    nodes = options.moving.nodes
    for row in measured.rows:
        row["gb_per_s"] = row["bytes"] / row["median_s"] / 1e9
        row.setdefault("nodes", nodes)
    size_table.judge(measured)


def show(console: Console, measured: Measured) -> None:
    """Print a table a pattern and number of ranks."""
    size_table.show(console, measured, {**ALL_TO_ALLS, **TRANSPOSES})


def draw(path: Path, measured: Measured) -> None:
    """Draw times against sizes, and the ratios to MPI's own calls."""
    size_picture.draw(path, measured, {**ALL_TO_ALLS, **TRANSPOSES})
