# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of a profile; each function draws into the axes it is given."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from tailrace.profile.text import bytes_text
from tailrace.report.figures import colour_legend
from tailrace.report.style import (
    ACCENT,
    ACTIVITIES,
    ACTIVITY_COLOURS,
    AMOUNTS,
    GROUPS,
    INK,
    WITHOUT,
)
from tailrace.report.timeline import strip
from tailrace.runs.folder import Floats

MAX_CELLS = 256  # lines and columns of a matrix: more are put together
MAX_LINES = 512  # of a time line
NAMED_RANKS = 24
CELLS_WITH_NUMBERS = 6
GROUP_COLOURS = {key: ACTIVITY_COLOURS[activity] for key, _, activity in GROUPS}


def group_legend(axes: Axes) -> None:
    """Add the legend of the groups above the axes."""
    colour_legend(axes, {name: GROUP_COLOURS[key] for key, name, _ in GROUPS})


def draw_groups(axes: Axes, groups: dict[str, float]) -> None:
    """Draw the mean seconds of the groups as one bar."""
    total = sum(groups.values())
    left = 0.0
    for key, _, _ in GROUPS:
        seconds = groups.get(key, 0.0)
        axes.barh([0], [seconds], left=left, color=GROUP_COLOURS[key], height=0.8)
        if total > 0 and seconds > 0.06 * total:
            share = f"{100 * seconds / total:.0f} %"
            light = key == "user_s"
            axes.text(
                left + seconds / 2,
                0,
                share,
                ha="center",
                va="center",
                color="white" if light else INK,
                fontweight="bold",
            )
        left += seconds
    axes.set_xlim(0, total or 1.0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("mean over the ranks [s]")
    group_legend(axes)


def draw_routines(axes: Axes, parts: list[tuple[str, float, str]]) -> None:
    """Draw the mean seconds of routines inside USER as one bar: name, seconds, colour of each."""
    left = 0.0
    total = sum(seconds for _, seconds, _ in parts)
    for name, seconds, colour in parts:
        axes.barh([0], [seconds], left=left, color=colour, height=0.8, edgecolor="white")
        if seconds > 0.05 * total:
            most = max(4, int(110 * seconds / total))
            text = name if len(name) <= most else name.rpartition("::")[2]
            axes.text(
                left + seconds / 2,
                0,
                text if len(text) <= most else f"{text[: most - 1]}…",
                ha="center",
                va="center",
                fontsize=7,
                color=INK if colour == WITHOUT else "white",
            )
        left += seconds
    axes.set_xlim(0, total or 1.0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("mean over the ranks [s]")


def draw_strips(axes: Axes, names: list[str], seconds: Floats) -> None:
    """Draw a strip for each routine with a cell for each rank, (routines, ranks) seconds.

    Dark is the most of the routine on a rank, so that a strip of one colour is balanced.
    """
    most = seconds.max(axis=1, keepdims=True)
    depth = np.divide(seconds, most, out=np.zeros_like(seconds), where=most > 0)
    routines, ranks = seconds.shape
    axes.imshow(
        depth,
        cmap=LinearSegmentedColormap.from_list("amounts", ("white", *AMOUNTS)),
        vmin=0.0,
        vmax=1.0,
        extent=(-0.5, ranks - 0.5, routines - 0.5, -0.5),
        aspect="auto",
        interpolation="nearest",
    )
    axes.hlines(np.arange(routines - 1) + 0.5, -0.5, ranks - 0.5, color="white", linewidth=4.0)
    if ranks <= NAMED_RANKS:
        axes.vlines(np.arange(ranks - 1) + 0.5, -0.5, routines - 0.5, color="white", linewidth=1.0)
    axes.set_yticks(range(routines), [n if len(n) <= 40 else f"…{n[-39:]}" for n in names])
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    axes.set_xlabel("rank")


def draw_ranks(axes: Axes, by_rank: list[dict[str, float]]) -> None:
    """Draw the groups of each rank on top of each other, and the mean of USER."""
    ranks = np.array([group["rank"] for group in by_rank], float)
    order = np.argsort(ranks)
    edges = np.append(ranks[order] - 0.5, ranks[order][-1] + 0.5)
    base = np.zeros(len(ranks))
    for key, _, _ in GROUPS:
        top = base + np.array([by_rank[i].get(key, 0.0) for i in order])
        axes.stairs(top, edges, baseline=base, fill=True, color=GROUP_COLOURS[key])
        base = top
    if len(ranks) <= NAMED_RANKS:
        axes.vlines(edges[1:-1], 0, base.max(), color="white", linewidth=1.5)
    mean = float(np.mean([group.get("user_s", 0.0) for group in by_rank]))
    axes.axhline(mean, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    axes.set_xlabel("rank (dashed: mean of USER)")
    axes.set_ylabel("time [s]")
    group_legend(axes)


def draw_sizes(axes: Axes, sizes: list[dict[str, Any]], key: str, title: str) -> None:
    """Draw a histogram over the classes of message sizes of `count`, `bytes` or `time_s`."""
    classes = range(min(_class(size) for size in sizes), max(_class(size) for size in sizes) + 1)
    values = dict.fromkeys(classes, 0.0)
    for size in sizes:
        values[_class(size)] += size[key]
    scale, unit = _unit(key, max(values.values()))
    axes.bar(list(classes), [value / scale for value in values.values()], color=ACCENT, width=0.86)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=key == "count"))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}")
    )
    every = max(1, -(-len(classes) // 6))
    ticks = list(classes)[::every]
    axes.set_xticks(ticks, [_size_name(number) for number in ticks], fontsize=7)
    axes.set_xlim(classes[0] - 0.6, max(classes[-1], classes[0] + 3) + 0.6)
    axes.set_xlabel("message size, from")
    axes.set_title(f"{title} [{unit}]" if unit else title)


def _unit(key: str, most: float) -> tuple[float, str]:
    """Return the unit of an axis whose largest value is `most`: its size and name."""
    if key == "count":
        return 1.0, ""
    if key == "time_s":
        return (1.0, "s") if most >= 1 else (1e-3, "ms") if most >= 1e-3 else (1e-6, "µs")
    power = min(3, max(0, int(np.log2(max(most, 1.0)) // 10)))
    return 1024.0**power, ("B", "KiB", "MiB", "GiB")[power]


def _class(size: dict[str, Any]) -> int:
    return int(size["from_bytes"]).bit_length()


def _size_name(number: int) -> str:
    return "0 B" if number == 0 else bytes_text(1 << (number - 1)).replace(".0 ", " ")


def folded(matrix: Floats, most: int = MAX_CELLS) -> tuple[Floats, int]:
    """Return a square matrix of at most `most` lines, and how many of the old ones are in each.

    Cells are sums, so the total stays.
    """
    size = len(matrix)
    width = -(-size // most)
    if width == 1:
        return matrix, 1
    starts = np.arange(0, size, width)
    return np.add.reduceat(np.add.reduceat(matrix, starts, axis=0), starts, axis=1), width


def draw_matrix(axes: Axes, matrix: Floats, what: str, names: list[str] | None = None) -> None:
    """Draw who sends (line) how many bytes to whom (column); cells without a message are white."""
    whole = len(matrix)
    shown, width = folded(matrix)
    colours = LinearSegmentedColormap.from_list("amounts", AMOUNTS)
    masked = np.ma.masked_less_equal(shown, 0.0)
    least, most = float(masked.min()), float(masked.max())
    edge = whole - 0.5
    image = axes.imshow(
        masked,
        cmap=colours,
        norm=LogNorm(least, most) if most > least else None,
        extent=(-0.5, edge, edge, -0.5),
        interpolation="nearest",
    )
    for spine in axes.spines.values():
        spine.set_visible(True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(8, integer=True))
    if names and whole <= NAMED_RANKS:
        axes.set_xticks(range(whole), names, rotation=45, ha="right")
        axes.set_yticks(range(whole), names)
    together = f" (cells of {width} x {width})" if width > 1 else ""
    axes.set_xlabel(f"to {what}{together}")
    axes.set_ylabel(f"from {what}")
    if whole <= CELLS_WITH_NUMBERS:
        _write_cells(axes, matrix, least, most)
    elif most > least:
        bar = axes.figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03)
        bar.outline.set_visible(False)
        ticks = np.geomspace(least, most, 4)
        bar.set_ticks(list(ticks), labels=[bytes_text(tick) for tick in ticks], minor=False)
        bar.ax.minorticks_off()


def _write_cells(axes: Axes, matrix: Floats, least: float, most: float) -> None:
    """Write the bytes into the cells, light on dark."""
    for (line, column), value in np.ndenumerate(matrix):
        if value > 0:
            depth = np.log(value / least) / np.log(most / least) if most > least else 0.0
            axes.text(
                column,
                line,
                bytes_text(value),
                ha="center",
                va="center",
                fontsize=7,
                color="white" if depth > 0.5 else INK,
            )


def window_shares(windows: list[Any], bins: int = 1000) -> tuple[NDArray[Any], float, float]:
    """Return the shares of USER, MPI and MPI_SYNC, shape (ranks, bins, 3), and the time covered.

    `windows` has for each rank the windows in order: {from_s, to_s, user_s, mpi_s, sync_s}.
    """
    pieces = [window for rank in windows for window in rank]
    start = min(float(window["from_s"]) for window in pieces)
    end = max(float(window["to_s"]) for window in pieces)
    centres = start + (end - start) * (np.arange(bins) + 0.5) / bins
    result = np.zeros((len(windows), bins, len(GROUPS)))
    for number, rank in enumerate(windows):
        for window in rank:
            seconds = np.array([float(window.get(key) or 0.0) for key, _, _ in GROUPS])
            inside = (centres >= window["from_s"]) & (centres < window["to_s"])
            length = float(window["to_s"]) - float(window["from_s"])
            result[number, inside] = seconds / max(length, float(seconds.sum()), 1e-30)
    return result, start, end


def draw_windows(axes: Axes, windows: list[Any]) -> None:
    """Draw a line of time for each rank, coloured by the groups' shares in each window."""
    shares, start, end = window_shares(windows)
    ranks = len(shares)
    if ranks > MAX_LINES:
        starts = np.arange(0, ranks, -(-ranks // MAX_LINES))
        counts = np.diff(np.append(starts, ranks))
        shares = np.add.reduceat(shares, starts, axis=0) / counts[:, np.newaxis, np.newaxis]
    activities = np.zeros((*shares.shape[:2], len(ACTIVITIES)))
    for number, (_, _, activity) in enumerate(GROUPS):
        activities[..., ACTIVITIES.index(activity)] = shares[..., number]
    colours = strip(activities.reshape(-1, len(ACTIVITIES))).reshape(*shares.shape[:2], 3)
    axes.imshow(
        colours,
        extent=(start, end, ranks - 0.5, -0.5),
        aspect="auto",
        interpolation="nearest",
    )
    if ranks <= NAMED_RANKS:
        axes.hlines(np.arange(ranks - 1) + 0.5, start, end, color="white", linewidth=2.0)
        axes.set_yticks(range(ranks), [f"rank {rank}" for rank in range(ranks)])
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(8, integer=True))
        axes.set_ylabel("rank")
    axes.set_xlabel("time since MPI_Init [s]")
    group_legend(axes)
