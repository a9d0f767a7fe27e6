# SPDX-License-Identifier: BSD-3-Clause
"""What the passes of a fused pseudo-spectral step took, from the spans of a trace."""

from typing import Any

PASSES = ("physical pass", "spectral pass")


def substage_passes(events: list[dict[str, Any]]) -> dict[str, float]:
    """Return the seconds of each pass in a substage, without waiting, of the slowest rank.

    A substage has one physical pass. Its spectral pass may come in two halves (the first and the
    last of a step), so all of them are divided by the number of physical ones.
    """
    spent: dict[int, dict[str, float]] = {}
    substages: dict[int, int] = {}
    spans = [event for event in events if event.get("ph") == "X" and event.get("tid") == 0]
    by_rank: dict[int, list[dict[str, Any]]] = {}
    for event in spans:
        by_rank.setdefault(int(event["pid"]), []).append(event)
    for rank, of_rank in by_rank.items():
        until, inside = -1.0, ""
        for event in sorted(of_rank, key=lambda one: (one["ts"], -one["dur"])):
            start, seconds = float(event["ts"]), float(event["dur"]) * 1e-6
            if event["name"] in PASSES:
                until, inside = start + float(event["dur"]), event["name"]
                times = spent.setdefault(rank, {})
                times[inside] = times.get(inside, 0.0) + seconds
                substages[rank] = substages.get(rank, 0) + (inside == PASSES[0])
            elif event.get("cat") == "wait" and start < until:
                spent[rank][inside] -= seconds
    found = [
        {name: seconds / substages[rank] for name, seconds in times.items()}
        for rank, times in spent.items()
        if substages[rank] > 0
    ]
    return {name: max(times.get(name, 0.0) for times in found) for name in PASSES if found}
