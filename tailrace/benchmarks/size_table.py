# SPDX-License-Identifier: BSD-3-Clause
"""What the benches of exchanges and reductions share: checks of rows, and tables over sizes."""

import math
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tailrace.benchmarks.report import show_failures
from tailrace.benchmarks.rounds import Measured
from tailrace.errors import TailraceError

WIDEST = 7  # sizes beside each other in one table

Group = tuple[str, int, int]


def size_text(size: float) -> str:
    """Return ``4 KiB``; sizes of barriers are 0 and have no text."""
    if size <= 0:
        return ""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024 or size % 1024:
            return f"{size:g} {unit}"
        size /= 1024
    return f"{size:g} GiB"


def time_text(seconds: float) -> str:
    """Return a time with three digits and its unit."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        value = seconds * factor
        if value < 999.5:
            return f"{value:.{max(0, 2 - int(math.log10(max(value, 1))))}f} {unit}"
    return f"{seconds:.3g} s"


def group_of(row: dict[str, Any]) -> Group:
    """Return what rows of one table have in common: pattern, ranks, nodes."""
    return row["pattern"], int(row["ranks"]), int(row.get("nodes", 1))


def groups(rows: list[dict[str, Any]]) -> dict[Group, list[dict[str, Any]]]:
    """Return the rows of each group, in the order of their first row."""
    found: dict[Group, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(group_of(row), []).append(row)
    return found


def require_entries(measured: Measured, words: list[str], table: str) -> None:
    """Complain about words of --entries that are in no name; `table` lists Tailrace's names."""
    names = {row["entry"] for row in measured.rows}
    for word in words:
        if names and not any(word in name for name in names):
            raise TailraceError(
                f"--entries {word}: no entry contains this word (`tailrace list {table}` names "
                "Tailrace's; without --entries, all are shown)",
                status=2,
            )


def judge(measured: Measured) -> None:
    """Mark the best rows, say how far the automatic choice is from them, report wrong results.

    ``null_spread`` is how far from 1 the ratio of MPI's own call to itself went in any round:
    differences below it are none. A wrong result is a failure of its entry.
    """
    for row in measured.rows:
        if row.get("error"):
            other = row["family"] == "peer"
            what = "the other library's result is wrong" if other else "wrong result"
            reason = f"{what}: {row['error']:.0f} items"
            measured.failures[f"{row['entry']} ({row['problem']})"] = reason
    for rows in _by_problem(measured.rows).values():
        null = next((row for row in rows if row["family"] == "null" and "ratio" in row), None)
        right = [row for row in rows if not row.get("error") and row["family"] != "limit"]
        best = min(right, key=lambda row: row["median_s"], default=None)
        for row in rows:
            row["best"] = row is best
            if null is not None:
                row["null_spread"] = max(null["ratio_max"], 1 / null["ratio_min"]) - 1
            if row["entry"] == "auto" and best is not None:
                row["over_best"] = row["median_s"] / best["median_s"]


def _by_problem(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["problem"], []).append(row)
    return found


def show(console: Console, measured: Measured, heading: dict[str, str]) -> None:
    """Print a table a group, sizes side by side, and what could not be measured."""
    for (pattern, ranks, nodes), rows in groups(measured.rows).items():
        on_nodes = f" on {nodes} nodes" if nodes > 1 else ""
        title = f"{heading.get(pattern, pattern)}, {ranks} ranks{on_nodes}"
        sizes = list(dict.fromkeys(row["size"] for row in rows))
        if len(sizes) == 1:
            console.print(_one_size(rows[0]["problem"], rows))
            continue
        for start in range(0, len(sizes), WIDEST):
            console.print(_many_sizes(title, rows, sizes[start : start + WIDEST]))
        chosen = {size_text(row["size"]): row["chosen"] for row in rows if row.get("chosen")}
        if chosen:
            text = ", ".join(f"{size} {name}" for size, name in chosen.items())
            console.print(f"auto took: {text}", highlight=False)
    waiting = {row["waiting"]: None for row in measured.rows if "waiting" in row}
    for text in waiting:
        console.print(f"waiting: {text}", highlight=False)
    show_failures(console, measured.failures)


def _many_sizes(title: str, rows: list[dict[str, Any]], sizes: list[float]) -> Table:
    table = Table(title=f"{title}: time, x MPI's own", title_justify="left")
    table.add_column("entry", no_wrap=True)
    for size in sizes:
        table.add_column(size_text(size), justify="right", no_wrap=True)
    found = {(row["entry"], row["size"]): row for row in rows}
    for name, ours in dict.fromkeys((row["entry"], row["ours"]) for row in rows):
        cells = [_cell(found.get((name, size))) for size in sizes]
        if any(cells):
            table.add_row(name, *cells, style="bold" if ours else "")
    return table


def _cell(row: dict[str, Any] | None) -> Text:
    if row is None:
        return Text()
    if row.get("error"):
        return Text("wrong", style="red")
    ratio = f" {row['ratio']:.2f}" if "ratio" in row else ""
    return Text(time_text(row["median_s"]) + ratio, style="green" if row.get("best") else "")


def _one_size(problem: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=problem, title_justify="left")
    table.add_column("entry", no_wrap=True)
    for heading in ("median", "quartiles", "x MPI's own", "GB/s", "buffers", "chosen"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        ends = [row.get("quartile_low_s"), row.get("quartile_high_s")]
        quartiles = " .. ".join(time_text(end) for end in ends if end is not None)
        speed = f"{row['gb_per_s']:.2f}" if "gb_per_s" in row else ""
        buffers = f"{row['buffer_bytes'] / 1e6:.1f} MB" if row.get("buffer_bytes") else ""
        ratio = f"{row['ratio']:.2f}" if "ratio" in row else ""
        alone = {key: value for key, value in row.items() if key != "ratio"}
        cells: list[Text | str] = [_cell(alone), quartiles, ratio]
        table.add_row(
            row["entry"],
            *cells,
            speed,
            buffers,
            row.get("chosen", ""),
            style="bold" if row["ours"] else "",
        )
    return table
