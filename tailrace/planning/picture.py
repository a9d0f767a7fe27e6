# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a plan: ranks against time lost, and servers against time lost."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tailrace.files import save_figure
from tailrace.planning import model
from tailrace.planning.model import Job, Machine
from tailrace.planning.plan import Case
from tailrace.report.style import ACCENT, MUTED, RC, REFERENCE

COLOURS = ("#74c0d4", "#3a9ab3", ACCENT, "#084b57")
MOST_LINES = 4


def draw(path: Path, cases: list[Case], machine: Machine, placement: str) -> None:
    """Draw both panels into a file."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9.6, 3.9), layout="constrained")
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2)
        _draw_ranks(left, cases, machine, placement)
        hidden = [case for case in cases if case.needed]
        _draw_servers(right, (hidden or cases)[-1].job, machine, placement)
        save_figure(figure, path)


def _draw_ranks(axes: Axes, cases: list[Case], machine: Machine, placement: str) -> None:
    ranks = [case.job.ranks for case in cases]
    style: dict[str, Any] = {"marker": "o", "markersize": 3}
    for place, (label, colour) in enumerate(
        (("no servers", REFERENCE), ("thread per node", MUTED))
    ):
        lost = [100 * case.outcomes[place].lost for case in cases]
        axes.plot(ranks, lost, color=colour, label=label, **style)
    for number, colour in zip(_lines(cases), COLOURS, strict=False):
        fitting = [case for case in cases if placement != "spread" or number < case.job.ranks]
        lost = [100 * model.servers(case.job, machine, number, placement).lost for case in fitting]
        label = f"{number:,} server{'s' if number > 1 else ''}"
        axes.plot([case.job.ranks for case in fitting], lost, color=colour, label=label, **style)
    if len(ranks) > 1:
        axes.set_xscale("log", base=10)
    axes.set_ylim(0, None)
    axes.set_xlabel("ranks that compute")
    axes.set_ylabel("share of time lost to output [%]")
    axes.set_title("More ranks")
    axes.legend()


def _lines(cases: list[Case]) -> list[int]:
    """Return the numbers of servers to draw: from 1 to the most that any case needs."""
    top = max((case.needed or 1 for case in cases), default=1)
    return sorted({max(1, round(top ** (k / (MOST_LINES - 1)))) for k in range(MOST_LINES)})


def _draw_servers(axes: Axes, job: Job, machine: Machine, placement: str) -> None:
    """Period of an output over the number of servers, from 1 to twice what is needed."""
    needed = model.servers_to_hide(job, machine, placement)
    top = 4 * (needed or max(4, job.nodes()))
    if placement == "spread":
        top = min(top, job.ranks - 1)
    numbers = sorted({max(1, round(top ** (k / 60))) for k in range(61)})
    outcomes = [model.servers(job, machine, n, placement) for n in numbers if n >= 1]
    none = model.synchronous(job, machine)
    axes.axhline(none.period_s, color=REFERENCE, label="no servers")
    axes.plot(numbers, [o.period_s for o in outcomes], color=ACCENT, label="with servers")
    axes.axhline(job.compute_s(), color=MUTED, linestyle=":", label="computing alone")
    if needed:
        axes.axvline(needed, color=ACCENT, linewidth=0.8, linestyle="--")
        axes.annotate(
            f" {needed:,} hide it",
            (needed, outcomes[0].period_s),
            va="top",
            color=ACCENT,
            fontsize=8,
        )
    axes.set_xscale("log", base=10)
    axes.set_yscale("log")
    axes.set_xlabel("servers")
    axes.set_ylabel("from one output to the next [s]")
    axes.set_title(f"More servers, {job.ranks:,} ranks")
    axes.legend(loc="center right")
