# SPDX-License-Identifier: BSD-3-Clause
"""Where each method wins: a panel a machine, ranks against message size, coloured by winner."""

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from tailrace.benchmarks.rounds import Measured
from tailrace.errors import TailraceError
from tailrace.files import save_figure
from tailrace.report.style import INK, MUTED, RC

COLOURS = ("#aab4be", "#c9b79c", "#6aa6c4", "#f2a33a", "#2a9d8f", "#b56576", "#7d6bb0", "#8ab17d")
PROBLEM = re.compile(r"(?P<machine>\w+), (?P<ranks>\d+) ranks, (?P<size>\d+[kM]?)")


def draw(path: Path, measured: Measured, machines: list[str], methods: list[str]) -> None:
    """Draw the map into a file."""
    cells = _cells(measured.rows)
    shown = [machine for machine in machines if any(key[0] == machine for key in cells)]
    if not shown:
        raise TailraceError("--picture: no map of winners was simulated", status=2)
    winners = list(dict.fromkeys([*methods, *(row["entry"] for row in measured.rows)]))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(winners)}
    with mpl.rc_context(RC):
        figure = Figure(figsize=(1.2 + 3.1 * len(shown), 3.4), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(1, len(shown), squeeze=False).ravel()
        for panel, machine in zip(panels, shown, strict=True):
            _draw_panel(panel, machine, cells, colours)
        used = [name for name in winners if any(row["entry"] == name for row in cells.values())]
        handles = [Patch(color=colours[name], label=name) for name in used]
        figure.legend(handles=handles, loc="outside upper left", ncols=4, handlelength=1.2)
        figure.supxlabel(
            "bytes between two ranks; figures: times faster than as MPICH would do it, "
            "rows and columns of a square grid, 4 ranks per node (simulated)",
            fontsize=8,
            color=MUTED,
        )
        save_figure(figure, path)


def _cells(rows: list[dict[str, Any]]) -> dict[tuple[str, int, str], dict[str, Any]]:
    """Return the best row of each machine, number of ranks and size."""
    best: dict[tuple[str, int, str], dict[str, Any]] = {}
    for row in rows:
        found = PROBLEM.fullmatch(row["problem"])
        if not found:
            continue
        key = (found["machine"], int(found["ranks"]), found["size"])
        if key not in best or row["median_s"] < best[key]["median_s"]:
            best[key] = row
    return best


def _bytes(size: str) -> int:
    return int(size.rstrip("kM")) << {"k": 10, "M": 20}.get(size[-1], 0)


def _draw_panel(
    axes: Axes,
    machine: str,
    cells: dict[tuple[str, int, str], dict[str, Any]],
    colours: dict[str, str],
) -> None:
    sizes = sorted({key[2] for key in cells if key[0] == machine}, key=_bytes)
    ranks = sorted({key[1] for key in cells if key[0] == machine})
    for (kind, number, size), row in cells.items():
        if kind != machine:
            continue
        x, y = sizes.index(size), ranks.index(number)
        colour = colours[row["entry"]]
        axes.add_patch(Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, color=colour, linewidth=0))
        text = f"{row['gain']:.2f}x" if "gain" in row else ""
        axes.text(x, y, text, ha="center", va="center", fontsize=8, color=INK)
    axes.set_xlim(-0.55, len(sizes) - 0.45)
    axes.set_ylim(-0.55, len(ranks) - 0.45)
    axes.set_xticks(range(len(sizes)), sizes)
    axes.set_yticks(range(len(ranks)), [str(number) for number in ranks])
    axes.set_ylabel("ranks")
    axes.set_title(machine.replace("_", " "))
    axes.tick_params(length=0)
