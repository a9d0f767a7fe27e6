# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the bench of files: a bar with its spread for each entry, the limit as a line."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tailrace.benchmarks.io_table import FAMILIES, ordered
from tailrace.benchmarks.rounds import Measured
from tailrace.errors import TailraceError
from tailrace.files import save_figure
from tailrace.report.style import ACCENT, INK, MUTED, RC, REFERENCE

COLOURS = {"ours": ACCENT, "mpiio": "#aab4be", "hdf5": "#8a94a0", "posix": "#c9b79c"}
NAMES = {"ours": "Tailrace", "mpiio": "MPI-IO", "hdf5": "HDF5 (parallel)", "posix": "plain POSIX"}
COLUMNS = 4  # panels beside each other
BAR_INCHES = 0.19


def draw(path: Path, measured: Measured) -> None:
    """Draw a panel a problem, the same ways in the same rows of all panels, into a file."""
    problems = list(dict.fromkeys(row["problem"] for row in measured.rows))
    variants = _variants(measured.rows)
    if not variants or "mb_per_s_median" not in measured.rows[0]:
        raise TailraceError("--picture: nothing was measured that can be drawn", status=2)
    columns = min(COLUMNS, len(problems))
    lines = -(-len(problems) // columns)
    with mpl.rc_context(RC):
        height = lines * (BAR_INCHES * len(variants) + 1.3)
        figure = Figure(figsize=(2.9 + 2.7 * columns, height), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(lines, columns, squeeze=False).ravel()
        for number, panel in enumerate(panels):
            if number >= len(problems):
                panel.set_visible(False)
                continue
            rows = [row for row in measured.rows if row["problem"] == problems[number]]
            _draw_panel(panel, problems[number], rows, variants)
            if number % columns:
                panel.set_yticklabels([])
        _legend(figure, {variant[1] for variant in variants})
        save_figure(figure, path)


def _variants(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return name and family of each variant, by family, in the order of the first problem."""
    first = ordered([row for row in rows if row["problem"] == rows[0]["problem"]]) if rows else []
    found = {(row["entry"], row["family"]): None for row in [*first, *rows]}
    known = [variant for variant in found if variant[1] in COLOURS]
    return sorted(known, key=lambda variant: FAMILIES.index(variant[1]))


def _draw_panel(
    axes: Axes, problem: str, rows: list[dict[str, Any]], variants: list[tuple[str, str]]
) -> None:
    by_name = {row["entry"]: row for row in rows}
    limit = next((row for row in rows if row.get("best_limit")), None)
    tops = [row["mb_per_s_max"] for row in rows if row["family"] in COLOURS]
    top = max([*tops, limit["mb_per_s_median"] if limit else 0.0])
    for place, (name, family) in enumerate(variants):
        row = by_name.get(name)
        if row is None:
            axes.text(0.01 * top, place, "–", va="center", fontsize=7, color=MUTED)
            continue
        middle, low, high = (row[f"mb_per_s_{which}"] for which in ("median", "min", "max"))
        axes.barh(place, middle, height=0.74, color=COLOURS[family])
        axes.plot([low, high], [place, place], color=INK, linewidth=0.9, solid_capstyle="butt")
        number = axes.text(high + 0.02 * top, place, f"{middle:.0f}", va="center", fontsize=7)
        number.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.6})
    if limit is not None:
        axes.axvline(limit["mb_per_s_median"], color=REFERENCE, linewidth=1.1, zorder=0)
    axes.set_yticks(range(len(variants)), [name for name, _ in variants])
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set_ylim(len(variants) - 0.4, -0.6)
    axes.set_xlim(0, 1.16 * top)
    axes.locator_params(axis="x", nbins=4)
    axes.set_xlabel("MB/s")
    axes.set_title(_title(problem), fontsize=8)


def _title(problem: str) -> str:
    """The problem on several short lines."""
    lines = [""]
    for word in problem.split(", "):
        if lines[-1] and len(lines[-1]) + len(word) > 32:
            lines.append("")
        lines[-1] += (", " if lines[-1] else "") + word
    return "\n".join(lines)


def _legend(figure: Figure, families: set[str]) -> None:
    handles: list[Any] = [
        Patch(color=COLOURS[name], label=NAMES[name]) for name in COLOURS if name in families
    ]
    handles.append(Line2D([], [], color=INK, linewidth=0.9, label="slowest to fastest round"))
    handles.append(Line2D([], [], color=REFERENCE, linewidth=1.1, label="raw limit of the device"))
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), handlelength=1.2)
