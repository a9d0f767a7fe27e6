# SPDX-License-Identifier: BSD-3-Clause
"""What ranks give to collective calls, by communicator.

Between which ranks the bytes go is the business of the MPI library's algorithm, which is not known,
so they are no part of the matrix of messages.
"""

from collections import defaultdict
from typing import Any

from tailrace.profile.record import Record
from tailrace.profile.waiting import comm_keys


def collectives(records: list[Record]) -> list[dict[str, Any]]:
    """Return calls and bytes of each collective call of each communicator, the most bytes first.

    Sums over the ranks; `max_rank_bytes` is what the rank gives that gives most. `communicator`
    is the number of the communicator in the order in which the ranks' records name them.
    """
    numbers: dict[tuple[str, int], int] = {}
    sizes: list[int] = []
    found: dict[tuple[int, str], dict[str, Any]] = {}
    by_rank: dict[tuple[int, str], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for record in records:
        keys = comm_keys(record)
        for row in record.rows:
            if row.kind != "collective" or row.comm >= len(keys):
                continue
            number = numbers.setdefault(keys[row.comm], len(numbers))
            if number == len(sizes):
                sizes.append(int(record.facts["comms"][row.comm]["size"]))
            one = found.setdefault(
                (number, row.name),
                {"communicator": number, "ranks": sizes[number], "name": row.name}
                | {"count": 0, "bytes": 0, "time_s": 0.0},
            )
            one["count"] += row.count
            one["bytes"] += row.bytes
            one["time_s"] += row.ticks * record.tick_s
            by_rank[number, row.name][record.rank] += row.bytes
    for key, one in found.items():
        one["max_rank_bytes"] = max(by_rank[key].values())
    return sorted(found.values(), key=lambda one: (-one["bytes"], -one["time_s"], one["name"]))
