# SPDX-License-Identifier: BSD-3-Clause
"""Regions that the program names, with the groups inside each."""

from collections import defaultdict
from typing import Any

import numpy as np

from tailrace.profile.counters import as_keys, counted
from tailrace.profile.record import Record
from tailrace.profile.waiting import Waiting

Path = tuple[str, ...]


def _paths(record: Record) -> list[Path]:
    """Return the names of each region of a record from the outermost on."""
    paths: list[Path] = []
    for region in record.facts.get("regions", []):
        outer = paths[region["parent"]] if region["parent"] >= 0 else ()
        paths.append((*outer, str(region["name"])))
    return paths


def _of_rank(record: Record, waiting: Waiting) -> dict[Path, dict[str, float]]:
    """Return seconds in the regions of a rank, all with what lies in them."""
    paths = _paths(record)
    regions = record.facts.get("regions", [])
    waited = np.bincount(
        record.events["region"], waiting.by_event[record.rank], minlength=len(paths) + 1
    )
    found = {}
    for path, region in zip(paths, regions, strict=True):
        inside = [i for i, other in enumerate(paths, 1) if other[: len(path)] == path]
        time_s = region["ticks"] * record.tick_s
        in_mpi_s = min(region["mpi_ticks"] * record.tick_s, time_s)
        sync_s = min(float(sum(waited[i] for i in inside)), in_mpi_s)
        found[path] = {
            "count": region["count"],
            "time_s": time_s,
            "user_s": time_s - in_mpi_s,
            "mpi_s": in_mpi_s - sync_s,
            "sync_s": sync_s,
        }
    return found


def _counts(records: list[Record]) -> dict[Path, dict[str, float]]:
    """Return what was counted in the regions, sums over the ranks."""
    total: dict[Path, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for record in records:
        regions = record.facts.get("regions", [])
        for path, region in zip(_paths(record), regions, strict=True):
            for name, count in counted(record, region.get("counts")).items():
                total[path][name] += count
    return total


def regions(records: list[Record], waiting: Waiting) -> list[dict[str, Any]]:
    """Return the regions, each before those in it, the longest first; times are means."""
    of_ranks = [_of_rank(record, waiting) for record in records]
    total: dict[Path, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for of_rank in of_ranks:
        for path, values in of_rank.items():
            for key, value in values.items():
                total[path][key] += value / (1 if key == "count" else len(records))
    counts = _counts(records)
    found = []
    for path in sorted(total, key=lambda path: _order(path, total)):
        useful = [of_rank.get(path, {}).get("user_s", 0.0) for of_rank in of_ranks]
        times = [of_rank.get(path, {}).get("time_s", 0.0) for of_rank in of_ranks]
        most = max(useful)
        found.append(
            {
                "name": "/".join(path),
                "depth": len(path) - 1,
                **total[path],
                "count": int(total[path]["count"]),
                "min_rank_s": min(times),
                "max_rank_s": max(times),
                "imbalance": max(0.0, 1 - sum(useful) / len(useful) / most) if most > 0 else 0.0,
                **as_keys(counts[path]),
            }
        )
    return found


def _order(path: Path, total: dict[Path, dict[str, float]]) -> list[tuple[float, str]]:
    return [(-total[path[: i + 1]]["time_s"], name) for i, name in enumerate(path)]


def region_notes(records: list[Record]) -> list[str]:
    """Return what is missing in the regions."""
    lost = sum(record.facts.get("lost_regions", 0) for record in records)
    if not lost:
        return []
    return [
        f"{lost} times, a region ended that was not open, or a limit was exceeded (128 regions, 64 "
        "nested)"
    ]
