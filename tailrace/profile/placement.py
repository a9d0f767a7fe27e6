# SPDX-License-Identifier: BSD-3-Clause
"""Where the threads of the ranks ran, and which had to share processors."""

from collections import defaultdict
from typing import Any

from tailrace.profile.record import Record

BUSY = 0.2  # of the run: threads with less processor time wait for work


def processors(text: str) -> list[int]:
    """Return the processors of a list such as "0-3,8".

    >>> processors("0-3,8")
    [0, 1, 2, 3, 8]
    """
    found: list[int] = []
    for word in filter(None, text.split(",")):
        first, _, last = word.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def placement(records: list[Record]) -> list[dict[str, Any]]:
    """Return for each rank its threads, those that had most processor time first."""
    return [
        {
            "rank": record.rank,
            "host": record.facts["host"],
            "threads": sorted(
                record.facts.get("placement", []), key=lambda thread: -thread["cpu_s"]
            ),
        }
        for record in records
        if record.facts.get("placement")
    ]


def placement_notes(records: list[Record]) -> list[str]:
    """Return which ranks had more busy threads than processors they were bound to."""
    busy: dict[tuple[str, str], list[int]] = defaultdict(list)
    for record in records:
        for thread in record.facts.get("placement", []):
            if thread["cpu_s"] > BUSY * record.wall_s > 0:
                busy[record.facts["host"], thread["allowed"]].append(record.rank)
    notes = []
    for (host, allowed), ranks in sorted(busy.items()):
        room = len(processors(allowed))
        if room < len(ranks):
            shown = ", ".join(map(str, sorted(set(ranks))[:8]))
            more = ", ..." if len(set(ranks)) > 8 else ""
            notes.append(
                f"{len(ranks)} busy threads of ranks {shown}{more} share {room} "
                f"processor{'s' if room > 1 else ''} of {host} ({allowed})"
            )
    return notes
