# SPDX-License-Identifier: BSD-3-Clause
"""A comparison of profiles in tables."""

import statistics
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from tailrace.planning.quantities import seconds_text
from tailrace.profile.comparison import NUM_TOTALS, Comparison, Place, Row, Side, Values
from tailrace.profile.text import bytes_text

TOP = 15
NAMES = {
    "wall_s": "run",
    "user_s": "USER",
    "mpi_s": "MPI",
    "sync_s": "MPI_SYNC",
    "parallel": "parallel efficiency",
    "load_balance": "  load balance",
    "communication": "  communication",
    "serialisation": "    serialisation",
    "transfer": "    transfer",
    "imbalance of user_s": "imbalance of USER",
    "imbalance of mpi_s": "imbalance of MPI",
    "imbalance of sync_s": "imbalance of MPI_SYNC",
}
STYLES = {"changed": "bold", "noise": "dim", "same": "dim", "unknown": "yellow"}


def show(console: Console, found: Comparison) -> None:
    """Print groups, efficiencies, messages and the places that changed most."""
    for name, side in (("A", found.a), ("B", found.b)):
        console.print(f"{name}: {_about(side)}", highlight=False)
    _show_rows(console, "time, mean over the ranks", found.groups, seconds_text)
    _show_rows(console, "efficiency", found.efficiency, "{:.3f}".format)
    totals, classes = found.messages[:NUM_TOTALS], found.messages[NUM_TOTALS:]
    differing = [row for row in classes if row.verdict() != "same"]
    _show_rows(console, "messages", [*totals, *differing], _amount)
    if found.files:
        _show_rows(console, "files, sums over the ranks; times are means", found.files, _amount)
    _show_places(console, found.places)
    if found.routines:
        _show_routines(console, found.routines)
    for note in found.notes():
        console.print(f"Note: {note}", highlight=False)


def _about(side: Side) -> str:
    runs = f"{len(side.names)} runs" if len(side.names) > 1 else "1 run"
    return f"{runs} on {side.ranks} ranks: {', '.join(side.names)}"


def _amount(value: float) -> str:
    return f"{value:,.0f}"


def _range(values: Values, words: Callable[[float], str]) -> str:
    middle = words(statistics.median(values))
    if min(values) == max(values):
        return middle
    return f"{middle} ({words(min(values))} to {words(max(values))})"


def _change(row: Row) -> str:
    change = row.change()
    if change is None:
        return "new" if any(row.b) else ""
    if not any(row.b):
        return "gone"
    return f"{100 * change:+.1f} %" if change else ""


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in headings:
        left = heading in ("", "verdict", "where", "call", "routine")
        table.add_column(
            heading,
            justify="left" if left else "right",
            no_wrap=heading not in ("where", "routine"),
        )
    return table


def _show_rows(console: Console, title: str, rows: list[Row], words: Callable[..., Any]) -> None:
    table = _table(title, "", "A", "B", "change", "verdict")
    for row in rows:
        form = bytes_text if row.name.startswith("bytes") else words
        form = seconds_text if row.name.startswith("time") else form
        cells = [NAMES.get(row.name, row.name), _range(row.a, form), _range(row.b, form)]
        table.add_row(*cells, _change(row), row.verdict(), style=STYLES[row.verdict()])
    console.print(table)


def _show_places(console: Console, places: list[Place]) -> None:
    """Print the places whose time changed most; counts and bytes where they differ."""
    title = "calls, those whose time (mean over the ranks) changed most"
    table = _table(title, "call", "A", "B", "change", "verdict", "where")
    for place in places[:TOP]:
        time = place.rows["time_s"]
        where = place.where
        if place.before and place.before != place.where:
            where += f" (A: {place.before.split(' ')[0]})"
        for amount, words in (("count", _amount), ("bytes", bytes_text)):
            row = place.rows[amount]
            if row.verdict() not in ("same", "noise") and all(map(any, (row.a, row.b))):
                name = "calls" if amount == "count" else "bytes"
                where += f"; {name} {_range(row.a, words)} -> {_range(row.b, words)}"
        cells = [place.name, _range(time.a, seconds_text), _range(time.b, seconds_text)]
        table.add_row(*cells, _change(time), time.verdict(), where, style=STYLES[time.verdict()])
    console.print(table)
    if len(places) > TOP:
        console.print(f"({len(places) - TOP} more: --json)", highlight=False)


def _show_routines(console: Console, routines: list[Place]) -> None:
    """Print the routines whose time changed most, with their shares."""
    title = "routines, those whose processor time outside MPI (mean over the ranks) changed most"
    table = _table(title, "routine", "A", "B", "change", "verdict", "share", "where")
    for routine in routines[:TOP]:
        time, share = routine.rows["time_s"], routine.rows["share"]
        shares = " -> ".join(
            f"{100 * statistics.median(values):.1f} %" for values in (share.a, share.b)
        )
        cells = [routine.name, _range(time.a, seconds_text), _range(time.b, seconds_text)]
        cells += [_change(time), time.verdict(), shares, routine.where]
        table.add_row(*cells, style=STYLES[time.verdict()])
    console.print(table)
    if len(routines) > TOP:
        console.print(f"({len(routines) - TOP} more: --json)", highlight=False)
