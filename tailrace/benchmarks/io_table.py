# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the bench of files: speeds, or counts of system calls."""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tailrace.benchmarks.report import show_failures
from tailrace.benchmarks.rounds import Measured

FAMILIES = ("ours", "mpiio", "hdf5", "posix", "test", "limit")
SPEEDS = {  # field of a row -> heading and format
    "mb_per_s_median": ("MB/s", "{:.0f}"),
    "of_peer": ("x best MPI-IO/HDF5", "{:.2f}"),
    "of_limit": ("of limit", "{:.2f}"),
    "stored": ("stored", "{:.2f}"),
    "opens": ("opens", "{:.0f}"),
    "writes": ("writes", "{:.0f}"),
    "reads": ("reads", "{:.0f}"),
}
COUNTS = {
    "counted_writes": ("writes", "{:.0f}"),
    "counted_mb_written": ("MB written", "{:.3f}"),
    "counted_reads": ("reads", "{:.0f}"),
    "counted_mb_read": ("MB read", "{:.3f}"),
    "counted_opens": ("opens", "{:.0f}"),
    "counted_flushes": ("flushes", "{:.0f}"),
    "counted_locks": ("locks", "{:.0f}"),
    "counted_uring": ("io_uring", "{:.0f}"),
    "writes": ("own count: writes", "{:.0f}"),
    "bytes_written": ("own count: bytes", "{:.0f}"),
}


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows to show: by family, the fastest first; of the limits only the best."""
    shown = [row for row in rows if row["family"] != "limit" or row.get("best_limit")]
    return sorted(shown, key=lambda row: (FAMILIES.index(row["family"]), row["median_s"]))


def title(row: dict[str, Any]) -> str:
    """Return the name of a variant, with what an automatic one chose."""
    chosen = row.get("chosen", "")
    return row["entry"] if not chosen or chosen in row["entry"] else f"{row['entry']} ({chosen})"


def show(console: Console, measured: Measured) -> None:
    """Print one table a problem, and what could not be measured."""
    for problem in dict.fromkeys(row["problem"] for row in measured.rows):
        rows = ordered([row for row in measured.rows if row["problem"] == problem])
        counted = any("counted_writes" in row for row in rows)
        console.print(_table(problem, rows, COUNTS if counted else SPEEDS))
    show_failures(console, measured.failures)


def _table(problem: str, rows: list[dict[str, Any]], fields: dict[str, tuple[str, str]]) -> Table:
    table = Table(title=problem, title_justify="left")
    table.add_column("entry", no_wrap=True)
    used = [name for name in fields if any(row.get(name) for row in rows)]
    for name in used:
        table.add_column(fields[name][0], justify="right", no_wrap=True)
        if name == "mb_per_s_median":
            table.add_column("min .. max", justify="right", no_wrap=True)
    for row in rows:
        cells = [title(row)]
        for name in used:
            value = row.get(name)
            cells.append("" if value is None else fields[name][1].format(value))
            if name == "mb_per_s_median":
                cells.append(f"{row['mb_per_s_min']:.0f} .. {row['mb_per_s_max']:.0f}")
        best = (" best", "green") if row.get("best_peer") else ""
        table.add_row(
            Text.assemble(cells[0], best), *cells[1:], style="bold" if row["ours"] else ""
        )
    return table
