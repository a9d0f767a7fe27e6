# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of a report; each function draws into the axes it is given."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from tailrace.report.style import ACCENT, INK
from tailrace.report.timeline import TRACK_NAMES, Segments, Track, shares, strip

SYNCHRONOUS, SERVERS, PACKED = "#c2410c", "#0f766e", "#7c5cbf"
MODE_COLOURS = {  # in the order of the bars
    "none": "#aab4be",
    "hidden": ACCENT,
    "servers": SERVERS,
    "synchronous": SYNCHRONOUS,
    "shared hidden": ACCENT,
    "shared compressed": PACKED,
    "shared processes": SERVERS,
    "shared synchronous": SYNCHRONOUS,
}
MODE_TEXT = {
    "none": "no output",
    "synchronous": "synchronous",
    "hidden": "hidden",
    "servers": "servers",
}
TIMELINE_BINS = 1500
MAX_TRACKS = 64


def draw_timeline(
    axes: Axes, by_track: Mapping[Track, Segments], window: tuple[float, float] | None = None
) -> None:
    """Draw one strip for each rank and writer, coloured by what it did."""
    if window is None:
        window = (0.0, max(float(s.end.max()) for s in by_track.values() if len(s.end)))
    chosen = list(by_track)[:MAX_TRACKS]
    ticks, labels, y = [], [], 0.0
    for number, key in enumerate(chosen):
        rank, track = key
        height = 1.0 if track == 0 else 0.62
        if number and track == 0:
            y += 0.35
        colours = strip(shares(by_track[key], *window, TIMELINE_BINS))
        axes.imshow(
            colours[np.newaxis],
            extent=(window[0], window[1], y + height, y),
            aspect="auto",
            interpolation="nearest",
        )
        ticks.append(y + height / 2)
        labels.append(f"rank {rank}" if track == 0 else TRACK_NAMES.get(track, f"track {track}"))
        y += height + 0.06
    axes.set_xlim(window)
    axes.set_ylim(y, 0)
    axes.set_yticks(ticks, labels)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("time since the start [s]")


def colour_legend(axes: Axes, colours: Mapping[str, str]) -> None:
    """Add a legend of names and their colours above the axes."""
    handles = [Patch(color=colour, label=name) for name, colour in colours.items()]
    axes.legend(
        handles=handles,
        ncols=len(handles),
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        handlelength=1.0,
        borderaxespad=0.2,
        columnspacing=1.2,
    )


def timeline_height(num_tracks: int) -> float:
    """Return the height [inches] that a timeline of so many strips needs."""
    return 0.75 + 0.24 * min(num_tracks, MAX_TRACKS)


def draw_output_times(
    axes: Axes,
    times_s: Mapping[str, float],
    all_s: Mapping[str, Sequence[float]],
    costs: Mapping[str, float],
    labels: Mapping[str, str],
) -> None:
    """Draw a bar for each kind of output, a line from its shortest to its longest run, its cost.

    `costs` are shares of the run, of the kinds whose cost is known; `labels` name the kinds.
    """
    modes = [mode for mode in MODE_COLOURS if times_s.get(mode)]
    values = [float(times_s[mode]) for mode in modes]
    base = float(times_s.get("none") or 0.0)
    axes.barh(range(len(modes)), values, color=[MODE_COLOURS[m] for m in modes], height=0.62)
    if base:
        axes.axvline(base, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    longest = max(values)
    for row, (mode, value) in enumerate(zip(modes, values, strict=True)):
        runs = [float(run) for run in all_s.get(mode, [])] or [value]
        longest = max(longest, *runs)
        if len(runs) > 1:
            axes.plot([min(runs), max(runs)], [row, row], color=INK, linewidth=1.0, marker="|")
        text = f"{value:.2f} s"
        if mode != "none" and mode in costs:
            text += f"  ({100 * costs[mode]:+.1f} %)"
        axes.text(max(*runs, base), row, f"  {text}", va="center", fontsize=9, fontweight="bold")
    axes.set_yticks(range(len(modes)), [labels[m] for m in modes])
    axes.tick_params(axis="y", length=0, labelsize=9, labelcolor=INK)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.5 * longest)
    axes.set_xlabel("time of the same steps [s]")
