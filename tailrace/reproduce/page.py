# SPDX-License-Identifier: BSD-3-Clause
"""The page of ``tailrace reproduce``: ratios, and curves next to published points."""

from functools import partial

from matplotlib.axes import Axes

from tailrace.report.html import fill, picture
from tailrace.report.style import ACCENT, INK, MUTED, REFERENCE
from tailrace.reproduce.figure import CLOSE, Picture, Row, texts

COLOURS = (ACCENT, REFERENCE, "#3a9ab3", "#8a6d3b", "#5b5b8f")


def render(rows: list[Row]) -> str:
    """Return the page as HTML."""
    printed = [row for row in rows if row.figure.study is not None]
    shown = [row for row in printed if row.ratio is not None]
    good = sum(row.reproduced for row in printed)
    return fill(
        "reproduce.html.j2",
        title="Published figures and what the models give",
        cards=[
            (f"{good} of {len(printed)}", "figures with printed values are within 15 %"),
            (str(len(rows) - len(printed)), "curves without values: their trend"),
        ],
        ratios=picture(partial(_draw_ratios, shown=shown), (8.0, 0.7 + 0.24 * len(shown)))
        if shown
        else "",
        figures=[_section(row) for row in rows],
    )


def _section(row: Row) -> dict[str, object]:
    drawn = row.found.picture
    return {
        "name": row.figure.name,
        "of": row.figure.of,
        "what": row.figure.what,
        "published": row.figure.published,
        "texts": texts(row),
        "verdict": row.verdict,
        "reason": row.found.reason,
        "assumed": row.found.assumed,
        "picture": picture(partial(_draw_curves, drawn=drawn), (6.4, 3.0)) if drawn else None,
    }


def _draw_ratios(axes: Axes, shown: list[Row]) -> None:
    """Draw a point per figure, filled if it is reproduced, and the band of 15 %."""
    axes.axvspan(1 - CLOSE, 1 + CLOSE, color=ACCENT, alpha=0.12, lw=0)
    axes.axvline(1.0, color=MUTED, lw=0.8)
    for at, row in enumerate(shown):
        face = ACCENT if row.reproduced else "white"
        axes.plot(row.ratio or 0.0, at, "o", ms=6, mfc=face, mec=ACCENT if row.reproduced else INK)
    axes.set_yticks(range(len(shown)), [row.figure.name for row in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(0, 2)
    axes.set_xlabel("model / study")


def _draw_curves(axes: Axes, drawn: Picture) -> None:
    """Draw the model's curves as lines, published points as circles."""
    models = [curve.label for curve in drawn.curves if not curve.published]
    colour = dict(zip(models, COLOURS, strict=False))
    for curve in drawn.curves:
        tint = colour.get(curve.of if curve.published else curve.label, INK)
        if curve.published:
            axes.plot(curve.x, curve.y, "o", ms=5, mfc="white", mec=tint, label=curve.label)
        else:
            axes.plot(curve.x, curve.y, "-", marker=".", color=tint, label=curve.label)
    if drawn.log_x:
        axes.set_xscale("log", base=10)
    else:
        axes.set_xticks(drawn.curves[0].x)
    if drawn.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, None)
    axes.set_xlabel(drawn.x_label)
    axes.set_ylabel(drawn.y_label)
    axes.legend(fontsize=7, ncols=2 if len(drawn.curves) > 5 else 1)
