# SPDX-License-Identifier: BSD-3-Clause
"""The table of the bench of I/O servers."""

from typing import Any

from rich.console import Console
from rich.table import Table

from tailrace.benchmarks.rounds import Measured

COLUMNS = {  # field of a row -> heading and format; shown where a row of the problem has it
    "ratio": ("x none", "{:.3f}"),
    "loop_overhead": ("loop", "{:.3f}"),
    "over_ideal": ("x ideal", "{:.3f}"),
    "slowed": ("x alone", "{:.3f}"),
    "hidden": ("hidden", "{:.0%}"),
    "seen_s": ("seen s", "{:.4f}"),
    "seen_worst_s": ("worst s", "{:.4f}"),
    "of_memcpy": ("x copy", "{:.2f}"),
    "drain_s": ("drain s", "{:.3f}"),
    "busy_slower": ("I/O ph.", "{:+.1%}"),
    "idle_slower": ("idle ph.", "{:+.1%}"),
    "idle_cpu": ("idle CPU", "{:.1%}"),
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
    for problem in dict.fromkeys(row["problem"] for row in measured.rows):
        console.print(_table(problem, [row for row in measured.rows if row["problem"] == problem]))
    console.print(LEGEND, style="dim", highlight=False)
    for name, reason in measured.failures.items():
        console.print(f"[yellow]not measured:[/] {name}: {reason}", highlight=False)


def _table(problem: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=problem, title_justify="left")
    table.add_column("way", no_wrap=True)
    table.add_column("median s", justify="right", no_wrap=True)
    table.add_column("min .. max", justify="right", no_wrap=True)
    used = [name for name in COLUMNS if any(row.get(name) is not None for row in rows)]
    for name in used:
        table.add_column(COLUMNS[name][0], justify="right", no_wrap=True)
    for row in rows:
        values = [row.get(name) for name in used]
        cells = [
            "" if value is None else COLUMNS[name][1].format(value)
            for name, value in zip(used, values, strict=True)
        ]
        spread = f"{row['min_s']:.3f} .. {row['max_s']:.3f}"
        style = "bold" if row["ours"] else ""
        table.add_row(row["entry"], f"{row['median_s']:.3f}", spread, *cells, style=style)
    return table
