# SPDX-License-Identifier: BSD-3-Clause
"""Records of ranks, as `plugins/mpi/profile/write.cpp` writes them."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.errors import TailraceError
from tailrace.profile.clocks import SAME, Step, ways_to_first

VERSION = 2

# Kinds of events, as in plugins/mpi/profile/recorder.hpp.
ALL, ROOT, TO_ROOT, LOWER, SEND, RECEIVE, FENCE = range(1, 8)

# Bits of an event's row that say which thread sent or posted the message.
THREAD_SHIFT = 24

# Sites with this bit are places in Python scripts; such places have this for an offset.
PYTHON_BIT = 1 << 63
PYTHON = -1

EVENT = np.dtype(
    [
        ("begin", "<u8"),
        ("end", "<u8"),
        ("post", "<u8"),
        ("row", "<u4"),
        ("comm", "<u2"),
        ("kind", "u1"),
        ("region", "u1"),
        ("peer", "<i4"),
        ("tag", "<i4"),
    ]
)


@dataclass(frozen=True)
class Row:
    """Calls of one kind from one place on one communicator with messages of one size class."""

    index: int
    name: str
    kind: str
    site: int
    comm: int
    size_class: int
    count: int
    bytes: int
    ticks: int
    least: int
    most: int


@dataclass(frozen=True)
class Record:
    """What one rank wrote; `begin_s`, `end_s`, `post_s` of its events: times of `clock` [s].

    `call_s`: entry into the call that may have waited. `threads`: of each event, the thread that
    sent or posted it, where several may call MPI at once; else 0. `start_s`: end of MPI_Init.
    `clock` is what the times are of: the node's (its boot), or that of the job's first node (see
    clocks.py).
    """

    rank: int
    facts: dict[str, Any]
    rows: list[Row]
    events: NDArray[Any]
    begin_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    post_s: NDArray[np.float64]
    call_s: NDArray[np.float64]
    tick_s: float
    start_s: float
    clock: str
    python: dict[int, str] = field(default_factory=dict)
    threads: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.uint32))
    steps: tuple[Step, ...] = ()  # that led to `clock` from the node's, where these differ

    @property
    def wall_s(self) -> float:
        """Time from the end of MPI_Init to MPI_Finalize, or to the end of the program."""
        return float(self.facts["last_ns"] - self.facts["first_ns"]) * 1e-9

    def on_clock(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return times of the node's clock [s] as times of `clock`."""
        for step in self.steps:
            times = step(times)
        return times

    def is_main(self, row: Row) -> bool:
        """Tell whether the thread that called MPI_Init made these calls."""
        first = self.facts["main_row"]
        return bool(first <= row.index < first + self.facts["rows_of_a_thread"])

    def module_of(self, site: int) -> tuple[str, int]:
        """Return the file of an address and its offset there; of a script, place and `PYTHON`."""
        if site >= PYTHON_BIT:
            return self.python[site], PYTHON
        for module in self.facts["modules"]:
            offset = site - int(module["base"])
            if 0 <= offset < int(module["size"]):
                return str(module["path"]), offset
        return "", site


def read_record(path: Path) -> Record:
    """Return the record whose counters are in `path` (rank-NNNNNN.json)."""
    try:
        facts = json.loads(path.read_text(errors="replace"))
        events = np.fromfile(path.with_suffix(".events"), dtype=EVENT)
    except (OSError, ValueError) as error:
        raise TailraceError(f"{path}: cannot be read as a record of a rank: {error}") from error
    if facts.get("version") != VERSION:
        raise TailraceError(f"{path}: a record of version {facts.get('version')}, not {VERSION}")
    ticks = max(1, facts["last_tick"] - facts["first_tick"])
    tick_s = (facts["last_ns"] - facts["first_ns"]) * 1e-9 / ticks
    start_s = facts["first_ns"] * 1e-9

    def seconds(column: str) -> NDArray[np.float64]:
        since = events[column].astype(np.int64) - facts["first_tick"]
        return np.asarray(start_s + since * tick_s, np.float64)

    threads = events["row"] >> THREAD_SHIFT
    events["row"] &= (1 << THREAD_SHIFT) - 1
    rows = [Row(*row) for row in facts.pop("rows")]
    begin_s, end_s, post_s = seconds("begin"), seconds("end"), seconds("post")
    # A non-blocking send begins before the call that waits for it.
    is_later = (events["kind"] == SEND) & (events["post"] > events["begin"])
    call_s = np.where(is_later, post_s, begin_s)
    python = {int(site): str(text) for site, text in facts.pop("python", [])}
    times = (begin_s, end_s, post_s, call_s)
    clock = str(facts["boot"])
    return Record(
        facts["rank"], facts, rows, events, *times, tick_s, start_s, clock, python, threads
    )


def read_records(folder: Path) -> list[Record]:
    """Return the records of a folder, by rank, on one clock if it is known; there may be none."""
    found = sorted((read_record(p) for p in folder.glob("rank-*.json")), key=lambda r: r.rank)
    ends = {}
    for path in folder.glob("rank-*.clock"):
        try:
            ends[int(path.stem.removeprefix("rank-"))] = json.loads(path.read_text())
        except (OSError, ValueError):
            continue  # drift is not known, which the profile says
    return on_one_clock(found, ends)


def on_one_clock(records: list[Record], ends: dict[int, list[int]]) -> list[Record]:
    """Return the records with the times of the job's first node, where the way there is known."""
    if len({record.facts["boot"] for record in records}) < 2:
        return records
    ways = ways_to_first((record.facts for record in records), ends)
    first = records[0].clock
    moved = []
    for record in records:
        way = ways[record.rank]
        if way is None:
            moved.append(record)
            continue
        placed = replace(record, clock=first, steps=tuple(one for one in way if one is not SAME))
        moved.append(
            replace(
                placed,
                begin_s=placed.on_clock(record.begin_s),
                end_s=placed.on_clock(record.end_s),
                post_s=placed.on_clock(record.post_s),
                call_s=placed.on_clock(record.call_s),
                start_s=float(placed.on_clock(np.array([record.start_s]))[0]),
            )
        )
    return moved


def first_starts(records: list[Record]) -> dict[str, float]:
    """Return when the first rank returned from MPI_Init, on each clock [s]."""
    starts: dict[str, float] = {}
    for record in records:
        starts[record.clock] = min(starts.get(record.clock, record.start_s), record.start_s)
    return starts
