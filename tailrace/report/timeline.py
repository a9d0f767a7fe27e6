# SPDX-License-Identifier: BSD-3-Clause
"""What each rank and its writer did when: spans of a trace, put into bins of time.

A picture is some 1,500 points wide, and a trace may hold 100,000 spans and more. So the time is cut
into as many bins as there are points, and each bin is given the shares of the activities in it.
Spans may hold others (a step holds its transfers); time counts for the innermost one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from tailrace.report.style import ACTIVITIES, ACTIVITY_COLOURS
from tailrace.runs.folder import Floats

Track = tuple[int, int]
TRACK_NAMES = {0: "computes", 1: "writer"}


@dataclass(frozen=True)
class Segments:
    """Pieces of time that do not overlap: start and end [s], index of the activity."""

    start: Floats
    end: Floats
    activity: NDArray[np.intp]


def tracks(events: list[dict[str, Any]]) -> dict[Track, Segments]:
    """Return the segments of each (rank, track) of a Chrome trace, ranks in order."""
    spans: dict[Track, list[tuple[float, float, int]]] = {}
    for event in events:
        if event.get("ph") != "X" or event.get("cat") not in ACTIVITIES:
            continue
        key = (int(event["pid"]), int(event["tid"]))
        start = float(event["ts"]) * 1e-6
        end = start + float(event["dur"]) * 1e-6
        spans.setdefault(key, []).append((start, end, ACTIVITIES.index(event["cat"])))
    return {key: innermost(spans[key]) for key in sorted(spans)}


def innermost(spans: list[tuple[float, float, int]]) -> Segments:
    """Cut nested spans into pieces that do not overlap, each with its innermost activity."""
    pieces: list[tuple[float, float, int]] = []
    stack: list[tuple[float, int]] = []  # end and activity of the open spans, innermost last
    now = 0.0

    def advance(until: float) -> None:
        nonlocal now
        while stack and stack[-1][0] <= until:
            end, activity = stack.pop()
            if end > now:
                pieces.append((now, end, activity))
                now = end
        if stack and until > now:
            pieces.append((now, until, stack[-1][1]))
        now = max(now, until)

    for start, end, activity in sorted(spans, key=lambda span: (span[0], -span[1])):
        advance(start)
        stack.append((end, activity))
    advance(max((end for _, end, _ in spans), default=0.0))
    table = np.array(pieces, dtype=float).reshape(len(pieces), 3)
    return Segments(table[:, 0], table[:, 1], table[:, 2].astype(np.intp))


def shares(segments: Segments, start: float, end: float, bins: int) -> Floats:
    """Return the share of each activity in each bin, shape (bins, activities)."""
    width = (end - start) / bins
    edges = start + width * np.arange(bins + 1)
    result = np.zeros((bins, len(ACTIVITIES)))
    for activity in range(len(ACTIVITIES)):
        chosen = segments.activity == activity
        if not chosen.any():
            continue
        # Busy time up to t grows linearly inside segments: interpolate it at the edges.
        lower, upper = segments.start[chosen], segments.end[chosen]
        knots = np.stack([lower, upper], axis=1).ravel()
        busy = np.stack(
            [np.cumsum(upper - lower) - (upper - lower), np.cumsum(upper - lower)], axis=1
        ).ravel()
        result[:, activity] = np.diff(np.interp(edges, knots, busy)) / width
    return np.clip(result, 0.0, 1.0)


def totals(segments: Segments) -> Floats:
    """Return the seconds of each activity."""
    seconds = segments.end - segments.start
    return np.bincount(segments.activity, seconds, len(ACTIVITIES)).astype(np.float64)


def strip(shares_of_bins: Floats) -> Floats:
    """Return the colours (bins, 3) of bins: their activities' colours mixed on white."""
    colours = np.array([to_rgb(ACTIVITY_COLOURS[name]) for name in ACTIVITIES])
    free = np.clip(1.0 - shares_of_bins.sum(axis=1, keepdims=True), 0.0, 1.0)
    mixed: Floats = np.clip(shares_of_bins @ colours + free, 0.0, 1.0)
    return mixed


def files_written(events: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """Return begin and end [s] of each file's writing, in order, over all who write.

    A file is created, written and renamed, which are spans of their own.
    """
    spans: dict[Track, list[tuple[float, float, str]]] = {}
    for event in events:
        if event.get("ph") == "X" and event.get("cat") == "write":
            start = float(event["ts"]) * 1e-6
            track = (int(event["pid"]), int(event["tid"]))
            end = start + float(event["dur"]) * 1e-6
            spans.setdefault(track, []).append((start, end, str(event.get("name"))))
    writers = [track for track in sorted(spans) if track[1] == 1] or sorted(spans)[:1]
    files = [_files_of(sorted(spans[track])) for track in writers]
    files = [of_writer for of_writer in files if len(of_writer) == len(files[0])]
    return [
        (min(begin for begin, _ in parts), max(end for _, end in parts))
        for parts in zip(*files, strict=True)
    ]


def _files_of(spans: list[tuple[float, float, str]]) -> list[tuple[float, float]]:
    files: list[tuple[float, float]] = []
    has_data = True  # of the file under way; none is
    for begin, end, name in spans:
        is_data = name not in ("create file", "rename file")
        if not files or name == "create file" or (is_data and has_data):
            files.append((begin, end))
            has_data = False
        files[-1] = (files[-1][0], max(end, files[-1][1]))
        has_data = has_data or is_data
    return files


def close_up(events: list[dict[str, Any]], margin: float = 0.15) -> tuple[float, float] | None:
    """Return a window of time with one file in it, or None if nothing was written."""
    files = files_written(events)
    if not files:
        return None
    # The short ones hold no data: a checkpoint that was linked, a file that was cut off.
    longest = max(end - begin for begin, end in files)
    chosen = [i for i, (begin, end) in enumerate(files) if end - begin >= 0.5 * longest]
    number = chosen[len(chosen) // 2]
    begin, end = files[number]
    blank = margin * (end - begin)
    before = files[number - 1][1] if number > 0 else 0.0
    after = files[number + 1][0] if number + 1 < len(files) else end + blank
    return max(begin - blank, min(before, begin)), min(end + blank, max(after, end))
