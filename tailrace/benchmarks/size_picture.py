# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the benches of exchanges and reductions: time against size, ratio to MPI below."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from tailrace.benchmarks.rounds import Measured
from tailrace.benchmarks.size_table import Group, groups, size_text, time_text
from tailrace.errors import TailraceError
from tailrace.files import save_figure
from tailrace.report.style import INK, MUTED, RC

OURS = (
    "#0b7285",
    "#f2a33a",
    "#6b4c9a",
    "#e377c2",
    "#2a9d8f",
    "#d1495b",
    "#3d7dd8",
    "#8f6a2a",
    "#1b9e4b",
    "#5f5fd3",
)
THEIRS = ("#8a94a0", "#c9b79c", "#b08fa8", "#93b1a7", "#b8c0c8", "#a3a37a", "#9aa7c7", "#c7a39a")
AUTO = "#c2410c"
COLUMNS = 3  # panels beside each other
PANEL_INCHES = 3.4
BAR_INCHES = 0.2
NAME_INCHES = 2.5  # of an entry of the legend
RATIOS = (0.05, 0.1, 0.25, 0.5, 1, 2, 4)  # ticks; what is slower than the last leaves the panel


def draw(path: Path, measured: Measured, heading: dict[str, str]) -> None:
    """Draw a panel a pattern and number of ranks into a file: lines, or bars for a single size."""
    found = groups([row for row in measured.rows if not row.get("error")])
    if not found or all(not row["ours"] for row in measured.rows):
        raise TailraceError("--picture: nothing was measured that can be drawn", status=2)
    styles = _styles(measured.rows)
    columns = min(COLUMNS, len(found))
    lines = -(-len(found) // columns)
    most = max(len(rows) for rows in found.values() if _is_single(rows)) if _bars(found) else 0
    height = max(3.9, BAR_INCHES * most + 1)
    with mpl.rc_context(RC):
        if any(not _is_single(rows) for rows in found.values()):
            height += 0.06 * len(styles)
        figure = Figure(figsize=(PANEL_INCHES * columns, height * lines), layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.add_gridspec(lines, columns)
        for number, (group, rows) in enumerate(found.items()):
            place = grid[number // columns, number % columns]
            if _is_single(rows):
                axes = figure.add_subplot(place)
                _draw_bars(axes, rows, styles)
                axes.set_title(_title(group, rows, heading))
                continue
            parts = place.subgridspec(2, 1, height_ratios=(2, 1), hspace=0.05)
            upper = figure.add_subplot(parts[0])
            lower = figure.add_subplot(parts[1], sharex=upper)
            _draw_lines(upper, lower, rows, styles)
            upper.set_title(_title(group, rows, heading))
        if any(not _is_single(rows) for rows in found.values()):
            _legend(figure, found, styles)
        save_figure(figure, path)


def _is_single(rows: list[dict[str, Any]]) -> bool:
    return len({row["size"] for row in rows}) == 1


def _bars(found: dict[Group, list[dict[str, Any]]]) -> bool:
    return any(_is_single(rows) for rows in found.values())


def _styles(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return colour and dashes of each entry: other libraries are dashed, MPI's own is black."""
    styles: dict[str, dict[str, Any]] = {}
    references = {own[0]["entry"] for own in groups(rows).values() if own[0]["family"] == "mpi"}
    ours = theirs = 0
    for row in rows:
        name = row["entry"]
        if name in styles:
            continue
        if name in references:
            styles[name] = {"color": INK, "linestyle": "-", "linewidth": 1.8}
        elif name == "auto":
            styles[name] = {"color": AUTO, "linestyle": ":", "linewidth": 2.4}
        elif row["ours"]:
            styles[name] = {"color": OURS[ours % len(OURS)], "linestyle": "-"}
            ours += 1
        elif row.get("family") == "null":
            styles[name] = {"color": INK, "linestyle": ":", "linewidth": 0.9}
        else:
            styles[name] = {"color": THEIRS[theirs % len(THEIRS)], "linestyle": "--"}
            styles[name]["linewidth"] = 1.1
            theirs += 1
    return styles


def _title(group: Group, rows: list[dict[str, Any]], heading: dict[str, str]) -> str:
    pattern, ranks, nodes = group
    what = heading.get(pattern, pattern).split(" (")[0].removesuffix(", bytes per pair")
    if pattern not in ("barrier", "many") and _is_single(rows):
        what = rows[0]["problem"].rsplit(", ", 1)[0].replace(", order kept", ",\norder kept")
    what = what.replace("pencils, ", "pencils,\n").replace("slabs, ", "slabs,\n")
    return f"{what}\n{ranks} ranks" + (f" on {nodes} nodes" if nodes > 1 else "")


def _draw_lines(
    upper: Axes, lower: Axes, rows: list[dict[str, Any]], styles: dict[str, dict[str, Any]]
) -> None:
    for name in dict.fromkeys(row["entry"] for row in rows):
        own = sorted((row for row in rows if row["entry"] == name), key=lambda row: row["size"])
        sizes = [row["size"] for row in own]
        upper.plot(sizes, [row["median_s"] for row in own], **styles[name])
        if own[0]["ours"]:
            low = [row.get("quartile_low_s", row["median_s"]) for row in own]
            high = [row.get("quartile_high_s", row["median_s"]) for row in own]
            upper.fill_between(sizes, low, high, color=styles[name]["color"], alpha=0.12, lw=0)
        pairs = [(row["size"], row["ratio"]) for row in own if "ratio" in row]
        if pairs:
            lower.plot(*zip(*pairs, strict=True), **styles[name])
    sizes = sorted({row["size"] for row in rows})
    for axes in (upper, lower):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.grid(axis="y", color="#eceff2", linewidth=0.7)
    lower.xaxis.set_major_locator(FixedLocator(sizes[:: -(-len(sizes) // 6)]))
    lower.xaxis.set_minor_locator(NullLocator())
    lower.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(size)))
    upper.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    lower.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    lower.yaxis.set_major_locator(FixedLocator(RATIOS))
    lower.yaxis.set_minor_locator(NullLocator())
    least = min((row["ratio"] for row in rows if "ratio" in row), default=0.5)
    lower.set_ylim(0.8 * min(least, 0.5), 1.2 * RATIOS[-1])
    upper.tick_params(labelbottom=False)
    lower.set_ylabel("x MPI's own")
    lower.tick_params(axis="x", labelsize=7)


def _short(seconds: float) -> str:
    """Return a round time without needless digits."""
    number, unit = time_text(seconds).split(" ")
    return f"{float(number):g} {unit}"


def _draw_bars(axes: Axes, rows: list[dict[str, Any]], styles: dict[str, dict[str, Any]]) -> None:
    top = max(row["median_s"] for row in rows)
    for place, row in enumerate(rows):
        low = row.get("quartile_low_s", row["median_s"])
        high = row.get("quartile_high_s", row["median_s"])
        axes.barh(place, row["median_s"], height=0.74, color=styles[row["entry"]]["color"])
        axes.plot([low, high], [place, place], color=MUTED, linewidth=0.9)
        ratio = f"  {row['ratio']:.2f}x" if "ratio" in row else ""
        text = time_text(row["median_s"]) + ratio
        end = min(max(high, row["median_s"]), 1.15 * top)
        note = axes.text(end + 0.02 * top, place, text, va="center", fontsize=7)
        note.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.4})
    axes.set_yticks(range(len(rows)), [row["entry"] for row in rows])
    axes.tick_params(axis="y", length=0, labelcolor=INK, labelsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.6 * top)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: time_text(value)))
    axes.locator_params(axis="x", nbins=4)


def _legend(
    figure: Figure,
    found: dict[Group, list[dict[str, Any]]],
    styles: dict[str, dict[str, Any]],
) -> None:
    names = {row["entry"]: None for rows in found.values() if not _is_single(rows) for row in rows}
    handles = [Line2D([], [], **styles[name], label=name) for name in names]
    columns = max(1, int(figure.get_figwidth() / NAME_INCHES))
    figure.legend(
        handles=handles, loc="outside lower left", ncols=columns, handlelength=2.2, fontsize=7
    )
