# SPDX-License-Identifier: BSD-3-Clause
"""A run that writes a field per step: without output, hidden, synchronous, and by MPI-IO.

The driver runs all in turn with the same work, and measures within each run what output costs it
(`cost_fraction`, `cost_spread`). `over_limit` is the time to copy and write a field, over that of a
copy in memory and a plain write to a new file, flushed, by the page cache or past it, whichever is
faster; both are measured between the runs.

With ``--compress`` the field is one that compresses, and more methods take part: hidden output that
compresses it, and HDF5's own filters, gathered on rank 0 or collectively by all ranks (if HDF5 is a
parallel one). `stored` is the size of the file compared with that of the field, `of_repacked` that
of its chunks compared with the same items through HDF5's filters (as h5repack does it) in chunks of
the same shape. The first two read their first file again: `Input` on all ranks, HDF5 on rank 0.
With ``--fields`` the field is an array of an HDF5 file, as float64.

With ``--throttle`` the files go to a slow disk in memory that is set up before and removed
afterwards (root needed).
"""

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from tailrace.benchmarks import slow_disk
from tailrace.benchmarks.drivers import arguments, driver, parallel
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.report import show as show_tables
from tailrace.benchmarks.rounds import Entry, Measured
from tailrace.errors import TailraceError

SUMMARY = "cost of output in a run: none, hidden, synchronous, MPI-IO; slab and pencil data"
SHAPES = {"slab": [2], "pencil": [4]}
AXES = 3
WRITES = True
NO_OUTPUT = "no output"


def entries(options: Options) -> list[Entry]:
    """Return one entry a shape of data and number of ranks."""
    program, first = driver("output")
    if options.throttle:
        _slow_disk(options)
    else:
        options.folder.mkdir(parents=True, exist_ok=True)
    source = _source(options)
    found = []
    for n in [0] if source else options.sizes or [256]:
        for shape, usual in SHAPES.items():
            for ranks in options.ranks or usual:
                words = first + arguments(
                    n=n,
                    shape=shape,
                    steps=options.steps,
                    compute=options.compute,
                    compute_s=options.compute_s,
                    folder=options.folder.resolve(),
                    compress=options.compress,
                    **source,
                )
                name = f"{shape} data, {ranks} ranks"
                found.append(Entry("run", name, True, parallel(ranks, program, words)))
    return found


def _source(options: Options) -> dict[str, str]:
    """Return the driver's option that names the array of a file, whose folder is made absolute."""
    if not options.field_file:
        return {}
    if options.sizes:
        raise TailraceError(
            "--points cannot be used with --fields: the array has a fixed size", status=2
        )
    text = options.field_file
    file, colon, array = (text, "", "") if Path(text).exists() else text.rpartition(":")
    if not Path(file).is_file():
        raise TailraceError(f"--fields {text}: there is no file {file or text}", status=2)
    return {"fields": f"{Path(file).resolve()}{colon}{array}"}


def _slow_disk(options: Options) -> None:
    """Mount the slow disk at the folder, and see to it that it goes when we end."""
    # Room for the files of two runs: those of the last one may still be there when the next begins.
    largest = max(options.sizes or [256])
    size = (2 * options.steps + 4) * largest**3 * 8 + 2**28
    slow_disk.mount(options.folder, options.throttle, size)


def finish(measured: Measured, options: Options) -> None:
    """Name the ratio to the run without output, with and without the wait for the last file.

    Where a run has measured its cost, say it with its spread.

    Nothing is computed behind the last output of a run, so its writing (`drain_s`) cannot be
    hidden; it counts once a run, however long that is.
    """
    for row in measured.rows:
        base = next(
            (
                r
                for r in measured.rows
                if r["problem"] == row["problem"] and r["entry"] == NO_OUTPUT
            ),
            None,
        )
        row["overhead"] = row.get("ratio")
        row["folder"] = str(options.folder)
        cost, spread = row.get("cost_fraction"), row.get("cost_spread")
        if cost is not None and spread is not None:
            row["cost_within"] = f"{100 * cost:.1f} ± {100 * spread:.1f} %"
        if row.get("writer_cpu_s") and row.get("stored"):
            row["core_mb_per_s"] = row["bytes_per_step"] / row["writer_cpu_s"] / 1e6
        if row.get("read_s"):
            row["read_mb_per_s"] = row["bytes_per_step"] / row["read_s"] / 1e6
        if base is not None:
            row["loop_overhead"] = (row["median_s"] - row["drain_s"]) / base["median_s"]


def show(console: Console, measured: Measured) -> None:
    """Print the tables, then what output costs in this folder, in a sentence."""
    show_tables(console, measured)
    for line in answers(measured):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def answers(measured: Measured) -> Iterator[str]:
    """Yield the reader's own number for each shape: the cost of each kind of output, its range."""
    for problem in dict.fromkeys(row["problem"] for row in measured.rows):
        costs = []
        for row in measured.rows:
            if row["problem"] != problem or row["entry"] == NO_OUTPUT or "ratio" not in row:
                continue
            ratios = [row[key] for key in ("ratio", "ratio_min", "ratio_max")]
            middle, low, high = (f"{100 * (ratio - 1):+.1f}" for ratio in ratios)
            costs.append(f"{row['entry']} {middle} % ({low} to {high} %)")
        if costs:
            folder = next(row["folder"] for row in measured.rows)
            yield f"Cost of output in {folder}, {problem}: {'; '.join(costs)} of the run time."
