# SPDX-License-Identifier: BSD-3-Clause
"""What the kernel counted for the ranks and in regions: instructions, cycles, cache misses."""

from collections.abc import Iterable
from typing import Any

from tailrace.profile.record import Record

OF_PROCESSOR = ("instructions", "cycles", "cache_misses")
HEADS = ["counted", "instructions", "cycles", "per cycle", "cache misses", "per 1000 instructions"]
REFUSALS = ("Permission denied", "Operation not permitted")
MOST_REGIONS = 40


def counted(record: Record, counts: list[int] | None = None) -> dict[str, int]:
    """Return the counts of a rank by name, or of its region with `counts`; empty: has none."""
    facts = record.facts.get("counters", {"names": [], "counts": []})
    return dict(zip(facts["names"], facts["counts"] if counts is None else counts, strict=True))


def as_keys(counts: dict[str, float]) -> dict[str, float]:
    """Return sums of counts as the profile has them, with what follows from them."""
    keys: dict[str, float] = {name: int(counts[name]) for name in OF_PROCESSOR if name in counts}
    if "task_clock_ns" in counts:
        keys["task_clock_s"] = counts["task_clock_ns"] * 1e-9
    if keys.get("cycles"):
        keys["ipc"] = keys.get("instructions", 0) / keys["cycles"]
    return keys


def counter_notes(records: list[Record]) -> list[str]:
    """Return which counters of the processor are missing, and why: a line, or none."""
    for record in records:
        facts = record.facts.get("counters")
        if facts is None or not facts["missing"]:
            continue
        missing = [name.replace("_", " ") for name in OF_PROCESSOR if name not in facts["names"]]
        reason = f"the processor or virtual machine has no such counters ({facts['missing']})"
        if facts["missing"] in REFUSALS:
            reason = (
                f"the kernel or container does not permit them ({facts['missing']}; see "
                "/proc/sys/kernel/perf_event_paranoid, which must be 2 or less)"
            )
        return [f"not counted: {', '.join(missing)}: {reason}"]
    return []


def _row(name: str, counts: dict[str, Any]) -> list[str]:
    instructions, misses = counts.get("instructions"), counts.get("cache_misses")
    per_cycle, per_thousand = counts.get("ipc"), None
    if instructions and misses is not None:
        per_thousand = 1000 * misses / instructions
    whole = (instructions, counts.get("cycles"))
    return [
        name,
        *("" if value is None else f"{value:,}" for value in whole),
        "" if per_cycle is None else f"{per_cycle:.2f}",
        "" if misses is None else f"{misses:,}",
        "" if per_thousand is None else f"{per_thousand:.3g}",
    ]


def counter_rows(profile: dict[str, Any]) -> list[list[str]]:
    """Return the rows under `HEADS`: all ranks together, then regions; empty: nothing counted."""
    ranks = [rank for rank in profile.get("usage") or [] if any(n in rank for n in OF_PROCESSOR)]
    if not ranks:
        return []
    total = {n: sum(rank[n] for rank in ranks) for n in OF_PROCESSOR if all(n in r for r in ranks)}
    rows = [_row("all ranks", as_keys(total))]
    regions = [r for r in profile.get("regions") or [] if any(n in r for n in OF_PROCESSOR)]
    return rows + [_row(region["name"], region) for region in regions[:MOST_REGIONS]]


def counter_lines(profile: dict[str, Any]) -> Iterable[str]:
    """Yield the lines of the text page."""
    rows = counter_rows(profile)
    for row in [HEADS, *rows] if rows else []:
        yield f"{row[0]:24}{row[1]:>18}{row[2]:>18}{row[3]:>11}{row[4]:>14}{row[5]:>23}"
