# SPDX-License-Identifier: BSD-3-Clause
"""The events of a profile's records as a Chrome trace, which Perfetto and chrome://tracing show.

The form is that of the trace a run leaves (`src/trace/trace_file.cpp`): a process a rank, a track
a thread, spans in microseconds with the categories of `tailrace/report/style.py`. A blocking
collective call or a wait for receives is a span "transfer"; what of it waited for a late rank lies
inside as a span "wait". Sends are instants; a call that waited for one to end is a span.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.errors import TailraceError
from tailrace.profile.record import RECEIVE, SEND, Record, Row, first_starts
from tailrace.profile.sites import name_places
from tailrace.profile.waiting import Waiting, find_waiting

MOST_EVENTS = 1_000_000

KINDS = {SEND: "send", RECEIVE: "receive"}
Event = dict[str, Any]


@dataclass(frozen=True)
class Window:
    """A window of time [s] since the first rank (on the same clock) returned from MPI_Init."""

    from_s: float
    to_s: float


def whole_run(records: list[Record]) -> Window:
    """Return the window that holds all of the run."""
    starts = first_starts(records)
    return Window(0.0, max(r.start_s - starts[r.clock] + r.wall_s for r in records))


def chrome_trace(records: list[Record], window: Window) -> Iterator[str]:
    """Yield the text of the trace of the events that lie in the window, wholly or in part.

    Raises TailraceError if there are none, or more than a viewer can show.
    """
    starts = first_starts(records)
    chosen = {r.rank: _inside(r, starts[r.clock], window) for r in records}
    count = sum(len(events) for events in chosen.values())
    if count == 0:
        whole = whole_run(records)
        raise TailraceError(
            f"no event between {window.from_s:g} s and {window.to_s:g} s of a run that took "
            f"{whole.to_s:.4g} s (--from, --to)",
            status=2,
        )
    if count > MOST_EVENTS:
        raise TailraceError(
            f"{count:,} events between {window.from_s:g} s and {window.to_s:g} s, at most "
            f"{MOST_EVENTS:,} make a trace: choose a shorter window (--from, --to)",
            status=2,
        )
    waiting = find_waiting(records)
    places = _places(records, chosen)
    other = {
        "num_ranks": records[0].facts["ranks"],
        "spans_dropped": sum(record.facts["lost_events"] for record in records),
        "notes": waiting.notes,
    }
    separator = '{"displayTimeUnit":"ms",\n"traceEvents":[\n'
    for record in records:
        start_s = starts[record.clock]
        for event in _rank(record, chosen[record.rank], start_s, waiting, places):
            yield separator + json.dumps(event, separators=(",", ":"))
            separator = ",\n"
    yield f'\n],\n"otherData":{json.dumps(other)}}}\n'


def _inside(record: Record, start_s: float, window: Window) -> NDArray[np.intp]:
    """Return the numbers of the completed events that lie in the window, by their begin."""
    begin, end = record.begin_s - start_s, record.end_s - start_s
    is_done = record.events["end"] > 0
    inside = np.nonzero(is_done & (end >= window.from_s) & (begin <= window.to_s))[0]
    return inside[np.argsort(begin[inside], kind="stable")]


def _places(
    records: list[Record], chosen: dict[int, NDArray[np.intp]]
) -> dict[tuple[int, int], tuple[Row, str]]:
    """Return row and place of each (rank, row) that a chosen event names."""
    rows: dict[tuple[int, int], tuple[Row, tuple[str, int]]] = {}
    for record in records:
        events = record.events[chosen[record.rank]]
        calls = events[(events["kind"] != SEND) | (events["end"] > events["begin"])]
        wanted = set(np.unique(calls["row"]).tolist())
        for row in record.rows:
            if row.index in wanted:
                place = record.module_of(row.site) if row.site else ("", 0)
                rows[record.rank, row.index] = (row, place)
    names = name_places(place for _, place in rows.values() if place != ("", 0))
    names["", 0] = "(other places)"
    return {key: (row, names[place]) for key, (row, place) in rows.items()}


def _rank(
    record: Record,
    chosen: NDArray[np.intp],
    start_s: float,
    waiting: Waiting,
    places: dict[tuple[int, int], tuple[Row, str]],
) -> Iterable[Event]:
    """Yield the events of a rank: its names, calls with the waits in them, sends."""
    rank = record.rank
    main = record.facts["main_row"] // record.facts["rows_of_a_thread"]
    tracks = {0}
    yield _name("process_name", rank, 0, f"rank {rank}")
    yield _name("thread_name", rank, 0, "main")
    before: tuple[float, int, int] | None = None
    for number in chosen:
        event = record.events[number]
        ts = (float(record.begin_s[number]) - start_s) * 1e6
        if event["kind"] == SEND:
            what = "send" if event["tag"] >= 0 else "epoch"
            name = f"{what} to rank {event['peer']}"
            yield {"name": name, "cat": "transfer", "ph": "i", "s": "t", **_at(ts, rank, 0)}
            if event["end"] == event["begin"]:  # nothing waited for it
                continue
            ts = (float(record.call_s[number]) - start_s) * 1e6
        thread = int(event["row"]) // record.facts["rows_of_a_thread"]
        track = 0 if thread == main else thread + 1
        if track not in tracks:
            tracks.add(track)
            yield _name("thread_name", rank, track, f"thread {track}")
        dur = float(record.end_s[number] - record.call_s[number]) * 1e6
        call = (round(ts, 3), int(event["end"]), int(event["row"]))
        if call != before:  # several receives may end in one call
            row, where = places.get((rank, int(event["row"])), (None, ""))
            name = row.name if row else KINDS.get(int(event["kind"]), "collective")
            span = {"name": name, "cat": "transfer", "ph": "X", **_at(ts, rank, track)}
            yield {**span, "dur": round(dur, 3), "args": {"where": where}}
        before = call
        waited = float(waiting.by_event[rank][number]) * 1e6
        if waited > 0:
            name = f"wait for rank {waiting.whom[rank][number]}"
            span = {"name": name, "cat": "wait", "ph": "X", **_at(ts, rank, track)}
            yield {**span, "dur": round(min(waited, dur), 3)}


def _at(ts: float, rank: int, track: int) -> Event:
    return {"ts": round(ts, 3), "pid": rank, "tid": track}


def _name(kind: str, rank: int, track: int, name: str) -> Event:
    return {"name": kind, "ph": "M", "pid": rank, "tid": track, "args": {"name": name}}
