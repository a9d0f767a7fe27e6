# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the bench of I/O servers: the time of each variant beyond that without output."""

import textwrap
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tailrace.benchmarks.rounds import Measured
from tailrace.errors import TailraceError
from tailrace.files import save_figure
from tailrace.report.style import ACCENT, INK, MUTED, RC, REFERENCE

COMPUTE, SEEN, DRAIN = "#d5d9de", "#f2a33a", "#8a94a0"
COLUMNS = 3  # panels beside each other
BAR_INCHES = 0.2


def draw(path: Path, measured: Measured) -> None:
    """Draw a panel a problem, the same ways in the same lines of all panels, into a file."""
    problems = list(dict.fromkeys(row["problem"] for row in measured.rows))
    variants = list(dict.fromkeys((row["entry"], row["ours"]) for row in measured.rows))
    if not variants or "drain_s" not in measured.rows[0]:
        raise TailraceError("--picture: nothing was measured that can be drawn", status=2)
    columns = min(COLUMNS, len(problems))
    lines = -(-len(problems) // columns)
    with mpl.rc_context(RC):
        height = lines * (BAR_INCHES * len(variants) + 1.4)
        figure = Figure(figsize=(2.6 + 3.2 * columns, height), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(lines, columns, squeeze=False).ravel()
        for number, panel in enumerate(panels):
            if number >= len(problems):
                panel.set_visible(False)
                continue
            rows = {
                row["entry"]: row for row in measured.rows if row["problem"] == problems[number]
            }
            _draw_panel(panel, problems[number], rows, variants)
            if number % columns:
                panel.set_yticklabels([])
        _legend(figure)
        save_figure(figure, path)


def _draw_panel(
    axes: Axes, problem: str, rows: dict[str, dict[str, Any]], variants: list[tuple[str, bool]]
) -> None:
    top = max(row["max_s"] for row in rows.values())
    for place, (name, _) in enumerate(variants):
        row = rows.get(name)
        if row is None:
            axes.text(0.01 * top, place, "–", va="center", fontsize=7, color=MUTED)
            continue
        total = row["median_s"]
        seen = row["seen_sum_s"]
        parts = ((total - seen - row["drain_s"], COMPUTE), (seen, SEEN), (row["drain_s"], DRAIN))
        left = 0.0
        for width, colour in parts:
            axes.barh(place, width, left=left, height=0.74, color=colour)
            left += width
        spread = [row["min_s"], row["max_s"]]
        axes.plot(spread, [place, place], color=INK, linewidth=0.9, solid_capstyle="butt")
        axes.text(row["max_s"] + 0.02 * top, place, f"{total:.2f}", va="center", fontsize=7)
    ideals = [row["ideal_s"] for row in rows.values() if "ideal_s" in row]
    if ideals:
        axes.axvline(max(ideals), color=REFERENCE, linewidth=1.1, zorder=3)
    axes.set_yticks(range(len(variants)), [name for name, _ in variants])
    for label, (_, ours) in zip(axes.get_yticklabels(), variants, strict=True):
        label.set_color(ACCENT if ours else INK)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(variants) - 0.4, -0.6)
    axes.set_xlim(0, 1.16 * top)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("seconds")
    axes.set_title(textwrap.fill(problem, 48), fontsize=8)


def _legend(figure: Figure) -> None:
    handles: list[Any] = [
        Patch(color=COMPUTE, label="computing"),
        Patch(color=SEEN, label="seen: calls that write"),
        Patch(color=DRAIN, label="after the last step"),
        Line2D([], [], color=INK, linewidth=0.9, label="fastest to slowest round"),
        Line2D([], [], color=REFERENCE, linewidth=1.1, label="ideal overlap on this disk"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=3, handlelength=1.2)
