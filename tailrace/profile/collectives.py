# SPDX-License-Identifier: BSD-3-Clause
"""What ranks give to collective calls, by communicator, and between which ranks that must go.

On which ways bytes go is the business of the MPI library's algorithm, which is not known, so they
are no part of the matrix of messages. But what a rank gives to an all-to-all or an allgather must
come to other ranks whatever the algorithm: these bytes have a matrix of their own.
"""

import re
from collections import defaultdict
from typing import Any

from tailrace.profile.record import Record
from tailrace.profile.waiting import comm_keys

# Calls whose blocks all go from each rank to each other one: of an all-to-all one block each, of an
# allgather the same block to all.
ALL_TO_ALL = re.compile(r"MPI_I?alltoall[vw]?(_c|_init|_init_c)?", re.IGNORECASE)
ALL_GATHER = re.compile(r"MPI_I?allgatherv?(_c|_init|_init_c)?", re.IGNORECASE)
MOST_CELLS = 1 << 20


def collective_matrix(records: list[Record]) -> tuple[list[dict[str, int]], list[str]]:
    """Return the bytes of all-to-alls and allgathers from rank to rank, and what is left out.

    Blocks of an all-to-all-v are taken as even, as only their sum is known.
    """
    members: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)  # bytes to each other rank
    sizes: dict[tuple[str, int], int] = {}
    for record in records:
        keys = comm_keys(record)
        for key, comm in zip(keys, record.facts["comms"], strict=True):
            sizes[key] = int(comm["size"])
            members[key].setdefault(record.rank, 0)
        for row in record.rows:
            if row.kind != "collective" or row.comm >= len(keys) or not row.bytes:
                continue
            key = keys[row.comm]
            if ALL_TO_ALL.fullmatch(row.name):
                members[key][record.rank] += row.bytes // max(1, sizes[key])
            elif ALL_GATHER.fullmatch(row.name):
                members[key][record.rank] += row.bytes
    cells: dict[tuple[int, int], int] = defaultdict(int)
    left_out = 0
    for key, given in members.items():
        senders = {rank: size for rank, size in given.items() if size > 0}
        if len(given) != sizes[key] or not senders:
            continue
        if len(cells) + len(senders) * len(given) > MOST_CELLS:
            left_out += 1
            continue
        for rank, size in senders.items():
            for other in given:
                if other != rank:
                    cells[rank, other] += size
    rows = [{"from": a, "to": b, "bytes": size} for (a, b), size in sorted(cells.items())]
    notes = [f"the matrix of collective calls omits {left_out} large communicators"]
    return rows, notes if left_out else []


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
