# SPDX-License-Identifier: BSD-3-Clause
"""The profile of a job from the records of its ranks: what ``--json`` writes."""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailrace.profile.collectives import collective_matrix, collectives
from tailrace.profile.counters import as_keys, counted, counter_notes
from tailrace.profile.io import files, io_notes
from tailrace.profile.placement import placement, placement_notes
from tailrace.profile.record import PYTHON, Record, Row
from tailrace.profile.regions import region_notes, regions
from tailrace.profile.routines import routine_notes, routines, sampling
from tailrace.profile.sites import Place, name_places
from tailrace.profile.waiting import Waiting, find_waiting
from tailrace.profile.windows import windows

VERSION = 1  # of the profile file; a key more is no new version
MATRIX_RANKS = 4096  # beyond it the matrix is kept between nodes only


@dataclass
class Counter:
    """Calls that are shown as one; `rank_s` is the time of each rank."""

    count: int = 0
    bytes: int = 0
    time_s: float = 0.0
    wait_s: float = 0.0
    rank_s: dict[int, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, record: Record, row: Row, wait_s: float) -> None:
        """Add a row."""
        seconds = row.ticks * record.tick_s
        self.count += row.count
        self.bytes += row.bytes
        self.time_s += seconds
        self.wait_s += wait_s
        self.rank_s[record.rank] += seconds


def imbalance(values: list[float]) -> float:
    """Return (max - mean) / max, 0 where all are alike; 0 of nothing."""
    most = max(values, default=0.0)
    # The mean of equal values may be above them by a rounding.
    return max(0.0, (most - sum(values) / len(values)) / most) if most > 0 else 0.0


def efficiencies(
    useful_s: list[float], wall_s: float, idle_s: list[float] | None = None
) -> dict[str, float]:
    """Return the efficiencies of POP: parallel = load balance x communication.

    Where `idle_s`, how long each rank waited, is known: communication = serialisation x transfer,
    with the longest time of a rank outside MPI and waiting in place of an ideal network's run.
    """
    most = max(useful_s, default=0.0)
    mean = sum(useful_s) / len(useful_s) if useful_s else 0.0
    balance = mean / most if most > 0 else 0.0
    communication = most / wall_s if wall_s > 0 else 0.0
    found = {
        "parallel": balance * communication,
        "load_balance": balance,
        "communication": communication,
    }
    if idle_s:
        ideal_s = max(u + i for u, i in zip(useful_s, idle_s, strict=True))
        found["serialisation"] = most / ideal_s if ideal_s > 0 else 0.0
        found["transfer"] = ideal_s / wall_s if wall_s > 0 else 0.0
    return found


def _groups(records: list[Record], waiting: Waiting) -> list[dict[str, float]]:
    """Return seconds of each rank's main thread: user, MPI, waiting; their sum is its wall time."""
    groups = []
    for record in records:
        rows = [row for row in record.rows if record.is_main(row)]
        mpi_s = sum(row.ticks for row in rows) * record.tick_s
        sync_s = sum(waiting.by_row.get((record.rank, row.index), 0.0) for row in rows)
        sync_s = min(sync_s, mpi_s)
        groups.append(
            {
                "rank": record.rank,
                "user_s": max(0.0, record.wall_s - mpi_s),
                "mpi_s": mpi_s - sync_s,
                "sync_s": sync_s,
                "wall_s": record.wall_s,
            }
        )
    return groups


def _calls(records: list[Record], waiting: Waiting) -> list[dict[str, Any]]:
    """Return the calls by name and place, the longest first."""
    counters: dict[tuple[str, str, Place], Counter] = defaultdict(Counter)
    for record in records:
        for row in record.rows:
            place = record.module_of(row.site) if row.site else ("", 0)
            wait_s = waiting.by_row.get((record.rank, row.index), 0.0)
            counters[row.name, row.kind, place].add(record, row, wait_s)
    names = name_places(place for _, _, place in counters if place != ("", 0))
    names["", 0] = "(other places)"
    calls = []
    for (name, kind, place), counter in counters.items():
        by_rank = [counter.rank_s.get(record.rank, 0.0) for record in records]
        calls.append(
            {
                "name": name,
                "where": names[place],
                "count": counter.count,
                "bytes": counter.bytes,
                "time_s": counter.time_s,
                "wait_s": counter.wait_s,
                "kind": kind,
                "module": place[0].rpartition(":")[0] if place[1] == PYTHON else place[0],
                "min_rank_s": min(by_rank),
                "max_rank_s": max(by_rank),
                "imbalance": imbalance(by_rank),
            }
        )
    return sorted(calls, key=lambda call: (-call["time_s"], call["name"], call["where"]))


def _sizes(records: list[Record]) -> list[dict[str, Any]]:
    """Return counts and bytes of the classes of message sizes, with their limits in bytes."""
    counters: dict[int, Counter] = defaultdict(Counter)
    for record in records:
        for row in record.rows:
            if row.kind != "wait":
                counters[row.size_class].add(record, row, 0.0)
    return [
        {
            "from_bytes": 0 if number == 0 else 1 << (number - 1),
            "below_bytes": 1 << number,
            "count": counter.count,
            "bytes": counter.bytes,
            "time_s": counter.time_s,
        }
        for number, counter in sorted(counters.items())
    ]


def _matrix(records: list[Record]) -> list[dict[str, int]]:
    """Return who sent how much to whom by point-to-point and one-sided calls."""
    if records[0].facts["ranks"] > MATRIX_RANKS:
        return []
    return [
        {"from": record.rank, "to": to, "bytes": size, "messages": messages}
        for record in records
        for to, size, messages in record.facts["traffic"]
    ]


def _node_matrix(records: list[Record]) -> list[dict[str, Any]]:
    """Return the same between nodes and within them; what goes to ranks without a record is not."""
    hosts = {record.rank: record.facts["host"] for record in records}
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for record in records:
        for to, size, messages in record.facts["traffic"]:
            if to in hosts:
                both = sums[hosts[record.rank], hosts[to]]
                both[0] += size
                both[1] += messages
    return [
        {"from": sender, "to": to, "bytes": size, "messages": messages}
        for (sender, to), (size, messages) in sums.items()
    ]


def _late(waiting: Waiting, ranks: int) -> list[dict[str, float]]:
    """Return the ranks that others waited for, and how long all others did."""
    seconds = waiting.caused(ranks)
    return [{"rank": int(r), "caused_s": float(seconds[r])} for r in seconds.nonzero()[0]]


def _usage(record: Record) -> dict[str, Any]:
    """Return what a rank used, and what was counted for it."""
    who = {"rank": record.rank, "host": record.facts["host"]}
    return {**who, **record.facts["usage"], **as_keys({**counted(record)})}


def summarize(records: list[Record]) -> dict[str, Any]:
    """Return the profile; `groups` are means over the ranks, `calls` sums over the ranks."""
    waiting = find_waiting(records)
    by_rank = _groups(records, waiting)
    wall_s = max(record.wall_s for record in records)
    useful = [group["user_s"] for group in by_rank]
    idle = [group["sync_s"] for group in by_rank]
    is_known = waiting.num_collectives + waiting.num_messages > 0
    names = ("user_s", "mpi_s", "sync_s")
    notes = list(waiting.notes)
    missing = records[0].facts["ranks"] - len(records)
    if missing:
        notes.append(f"{missing} of {records[0].facts['ranks']} ranks left no record")
    ends = sorted({record.facts["ended"] for record in records} - {"finalized"})
    if ends:
        notes.append(f"ranks ended without MPI_Finalize: {', '.join(ends)}")
    notes += io_notes(records) + region_notes(records) + placement_notes(records)
    notes += counter_notes(records) + routine_notes(records)
    between, left_out = collective_matrix(records)
    notes += left_out
    if records[0].facts["ranks"] > MATRIX_RANKS:
        notes.append(f"with more than {MATRIX_RANKS} ranks the matrix is kept between nodes")
    modules = records[0].facts["modules"]
    sampled = sampling(records)
    return {
        "version": VERSION,
        "program": Path(modules[0]["path"]).name if modules else "",
        "ranks": records[0].facts["ranks"],
        "wall_s": wall_s,
        "groups": {name: sum(g[name] for g in by_rank) / len(by_rank) for name in names},
        "imbalance": {name: imbalance([g[name] for g in by_rank]) for name in names},
        "efficiency": efficiencies(useful, wall_s, idle if is_known else None),
        "by_rank": by_rank,
        "calls": _calls(records, waiting),
        "sizes": _sizes(records),
        "matrix": _matrix(records),
        "node_matrix": _node_matrix(records),
        "collectives": collectives(records),
        "collective_matrix": between,
        "late": _late(waiting, records[0].facts["ranks"]),
        "windows": windows(records, waiting),
        "regions": regions(records, waiting),
        **({"sampling": sampled, "routines": routines(records, by_rank)} if sampled else {}),
        "io": files(records),
        "usage": [_usage(record) for record in records],
        "placement": placement(records),
        "matched": {"collectives": waiting.num_collectives, "messages": waiting.num_messages},
        "notes": notes,
    }
