# SPDX-License-Identifier: BSD-3-Clause
"""The groups over time: seconds of USER, MPI and MPI_SYNC in each window of each rank."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.profile.record import Record, first_starts
from tailrace.profile.waiting import Waiting

MOST_WINDOWS = 8192  # of all ranks; beyond, neighbours are put together, down to LEAST a rank
LEAST_WINDOWS = 16
KEYS = ("user_s", "mpi_s", "sync_s")

Floats = NDArray[np.float64]


def waited_until(record: Record, waiting: Waiting, times: Floats) -> Floats:
    """Return how long the main thread had waited at `times` [s of the node's clock], rising."""
    first = record.facts["main_row"]
    rows = record.events["row"]
    waits = waiting.by_event[record.rank]
    mine = (waits > 0.0) & (rows >= first) & (rows < first + record.facts["rows_of_a_thread"])
    begin, length = record.call_s[mine], waits[mine]
    order = np.argsort(begin, kind="stable")
    begin, length = begin[order], length[order]
    if not len(begin):
        return np.zeros(len(times))
    sums = np.cumsum(length)
    at = np.maximum.accumulate(np.stack([begin, begin + length], axis=1).ravel())
    return np.asarray(np.interp(times, at, np.stack([sums - length, sums], axis=1).ravel()))


def windows(records: list[Record], waiting: Waiting) -> list[list[dict[str, float]]]:
    """Return the windows of each record; times since the first MPI_Init on the rank's clock."""
    most = max(LEAST_WINDOWS, MOST_WINDOWS // max(1, len(records)))
    starts = first_starts(records)
    return [_of_rank(r, waiting, starts[r.clock], most) for r in records]


def _of_rank(record: Record, waiting: Waiting, start_s: float, most: int) -> list[dict[str, float]]:
    facts = record.facts.get("windows")
    if not facts or not facts["mpi"] or record.wall_s <= 0:
        return []
    mpi_s = np.array(facts["mpi"], float) * record.tick_s
    together = -(-len(mpi_s) // most)
    mpi_s = np.add.reduceat(mpi_s, np.arange(0, len(mpi_s), together))
    edges = np.arange(len(mpi_s) + 1) * (together * facts["ticks"] * record.tick_s)
    edges[-1] = record.wall_s
    at = record.on_clock(record.facts["first_ns"] * 1e-9 + edges)
    sync_s = np.minimum(np.diff(waited_until(record, waiting, at)), mpi_s)
    user_s = np.maximum(np.diff(edges) - mpi_s, 0.0)
    edges += record.start_s - start_s
    return [
        {
            "from_s": round(float(edges[i]), 9),
            "to_s": round(float(edges[i + 1]), 9),
            "user_s": round(float(user_s[i]), 9),
            "mpi_s": round(float(mpi_s[i] - sync_s[i]), 9),
            "sync_s": round(float(sync_s[i]), 9),
        }
        for i in range(len(mpi_s))
    ]


def over_time(profile: dict[str, Any], parts: int) -> tuple[Floats, Floats]:
    """Return mean seconds of the groups in equal parts of the run, (parts, 3), and their edges.

    A window that lies in several parts is divided as if its groups were spread evenly.
    """
    ranks = [rank for rank in profile.get("windows") or [] if rank]
    if not ranks:
        return np.zeros((0, len(KEYS))), np.zeros(0)
    edges = np.linspace(0.0, max(rank[-1]["to_s"] for rank in ranks), parts + 1)
    total = np.zeros((parts, len(KEYS)))
    for rank in ranks:
        ends = np.array([window["to_s"] for window in rank])
        seconds = np.array([[float(w.get(key) or 0.0) for key in KEYS] for w in rank])
        at = np.concatenate([[rank[0]["from_s"]], ends])
        for number in range(len(KEYS)):
            sums = np.concatenate([[0.0], np.cumsum(seconds[:, number])])
            total[:, number] += np.diff(np.interp(edges, at, sums))
    return total / len(ranks), edges
