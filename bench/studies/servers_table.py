# SPDX-License-Identifier: BSD-3-Clause
"""The table of the bench of I/O servers."""

from typing import Any

from rich.console import Console
from rich.table import Table

from tailrace.benchmarks.report import show_failures
from tailrace.benchmarks.rounds import Measured

COLUMNS = {  # heading -> fields of a row and their format; shown where a row has them
    "x none": (("ratio",), "{:.3f}"),
    "loop": (("loop_overhead",), "{:.3f}"),
    "x ideal": (("over_ideal",), "{:.3f}"),
    "x alone": (("slowed",), "{:.3f}"),
    "hidden": (("hidden",), "{:.0%}"),
    "seen/worst ms": (("seen_ms", "seen_worst_ms"), "{:.1f}/{:.1f}"),
    "x copy": (("of_memcpy",), "{:.2f}"),
    "drain s": (("drain_s",), "{:.3f}"),
    "I/O, idle phase": (("busy_slower", "idle_slower"), "{:+.1%}, {:+.1%}"),
    "idle CPU": (("idle_cpu",), "{:.1%}"),
}
LEGEND = (
    "x none: time of the run to that without output; loop: the same less the drain; x ideal: to "
    "perfect overlap on this disk; hidden: share of the cost of synchronous output; seen: a call "
    "that writes; x copy: that to a memcpy of the rank's part; drain: wait after the last step; "
    "I/O ph., idle ph.: how much slower a step computes while output is under way, and while not; "
    "idle CPU: of a core, by all processes while those that compute sleep"
)


def show(console: Console, measured: Measured) -> None:
    """Print one table a problem, and what could not be measured."""
    for row in measured.rows:
        row["seen_ms"], row["seen_worst_ms"] = row["seen_s"] * 1e3, row["seen_worst_s"] * 1e3
    for problem in dict.fromkeys(row["problem"] for row in measured.rows):
        console.print(_table(problem, [row for row in measured.rows if row["problem"] == problem]))
    console.print(LEGEND, style="dim", highlight=False)
    show_failures(console, measured.failures)


def _cell(row: dict[str, Any], heading: str) -> str:
    fields, form = COLUMNS[heading]
    values = [row.get(field) for field in fields]
    return "" if None in values else form.format(*values)


def _table(problem: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=problem, title_justify="left")
    table.add_column("entry", no_wrap=True)
    table.add_column("median s", justify="right", no_wrap=True)
    table.add_column("min-max", justify="right", no_wrap=True)
    used = [heading for heading in COLUMNS if any(_cell(row, heading) for row in rows)]
    for heading in used:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        spread = f"{row['min_s']:.2f}-{row['max_s']:.2f}"
        cells = [_cell(row, heading) for heading in used]
        style = "bold" if row["ours"] else ""
        table.add_row(row["entry"], f"{row['median_s']:.3f}", spread, *cells, style=style)
    return table
