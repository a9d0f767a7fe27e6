# SPDX-License-Identifier: BSD-3-Clause
"""Times of several nodes on one clock, by what `clocks.cpp` of the recorder asked at both ends.

The first rank of each node asked that of another one, its parent in a tree, for the time. Between
the two answers the difference of the clocks is taken to grow evenly.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Point = list[int]  # own time, the parent's time, their uncertainty [ns]; 0: was not asked


@dataclass(frozen=True)
class Step:
    """From a node's clock to that of its parent: t + offset_s + rate * (t - start_s)."""

    start_s: float
    offset_s: float
    rate: float
    error_s: float  # at most, at the two ends of the run
    has_end: bool  # else drift is not known

    def __call__(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return times on the parent's clock."""
        return times + self.offset_s + self.rate * (times - self.start_s)


SAME = Step(0.0, 0.0, 0.0, 0.0, has_end=True)


def step_between(start: Point, end: Point | None) -> Step | None:
    """Return the step that follows from the answers; None: there was none."""
    if not start[2]:
        return None
    first = (start[1] - start[0]) * 1e-9
    if end is None or not end[2] or end[0] <= start[0]:
        return Step(start[0] * 1e-9, first, 0.0, start[2] * 0.5e-9, has_end=False)
    grown = (end[1] - end[0]) - (start[1] - start[0])
    rate = grown / (end[0] - start[0])
    return Step(start[0] * 1e-9, first, rate, max(start[2], end[2]) * 0.5e-9, has_end=True)


def ways_to_first(
    facts: Iterable[dict[str, Any]], ends: dict[int, Point]
) -> dict[int, list[Step] | None]:
    """Return for each rank the steps from its node's clock to that of the job's first node.

    `ends` are the answers at the end of the run, by rank. None: the way is not known, as a rank on
    it left no record. Nodes with one boot (containers) have one clock, whatever was measured.
    """
    by_rank = {int(one["rank"]): one for one in facts}
    ways: dict[int, list[Step] | None] = {}
    for rank, one in by_rank.items():
        at = int(one["clock"]["rank"]) if "clock" in one else -1
        way: list[Step] | None = []
        while way is not None and at in by_rank and by_rank[at]["clock"]["parent"] >= 0:
            clock = by_rank[at]["clock"]
            parent = by_rank.get(clock["parent"])
            step = step_between(clock["start"], ends.get(at))
            if parent is not None and parent["boot"] == by_rank[at]["boot"]:
                step = SAME
            way = [*way, step] if step is not None and parent is not None else None
            at = int(clock["parent"])
        ways[rank] = way if at in by_rank else None
    return ways
