# SPDX-License-Identifier: BSD-3-Clause
"""Who waited for whom: events of all ranks are matched after the run.

A rank that enters a collective call early waits for the last one to enter (or for the root, or for
the lower ranks: whom the call needs). The n-th blocking collective call on a communicator is the
same call on all its members, so entry times are enough; no barrier and no message is added to the
run. A receive waits until its message's send has begun, and a blocking send that returns after its
receive was posted has waited for that: the n-th send to a rank with a tag on a communicator matches
its n-th receive in the order of posting, as MPI keeps messages of one thread in order. A call that
completes several messages has waited for the last of them. Who posts a window or completes an
access to it tells the others by such messages, too; a fence is a collective call that need not
wait.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.profile.record import ALL, FENCE, LOWER, RECEIVE, ROOT, SEND, TO_ROOT, Record

CommKey = tuple[str, int]
Floats = NDArray[np.float64]


@dataclass
class Waiting:
    """Seconds waited, and for whom, in each event of a rank; what could not be matched.

    `by_event` and `whom` have for each rank an array over the events of its record: seconds, and
    the rank of the job that was waited for (-1: nobody). `by_row` has sums by rank and row.
    """

    by_event: dict[int, Floats] = field(default_factory=dict)
    whom: dict[int, NDArray[np.int32]] = field(default_factory=dict)
    by_row: dict[tuple[int, int], float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    num_collectives: int = 0
    num_messages: int = 0

    def add(self, rank: int, events: NDArray[Any], waited: Floats, whom: NDArray[Any]) -> None:
        """Set what events of a rank waited, and for whom."""
        self.by_event[rank][events] = waited
        self.whom[rank][events] = np.where(waited > 0.0, whom, -1)

    def caused(self, ranks: int) -> Floats:
        """Return how long others waited for each rank of the job, over all who waited."""
        total = np.zeros(ranks)
        for rank, whom in self.whom.items():
            known = whom >= 0
            total += np.bincount(whom[known], self.by_event[rank][known], ranks)[:ranks]
        return total


def comm_keys(record: Record) -> list[CommKey]:
    """Return the communicators of a record by their members and number, alike on all ranks."""
    return [(comm["members"], comm["ordinal"]) for comm in record.facts["comms"]]


def find_waiting(records: list[Record]) -> Waiting:
    """Return how long each row of each rank waited."""
    found = Waiting()
    for record in records:
        found.by_event[record.rank] = np.zeros(len(record.events))
        found.whom[record.rank] = np.full(len(record.events), -1, np.int32)
    clocks = {record.clock for record in records}
    if len(clocks) > 1:
        found.notes.append(
            f"waiting is not shown: {len(clocks)} nodes have clocks with unknown offsets, because "
            "a rank that compared them left no record"
        )
        return found
    found.notes += clock_notes(records)
    _collectives(records, found)
    _messages(records, found)
    for record in records:
        sums = np.bincount(record.events["row"], found.by_event[record.rank])
        for row in np.nonzero(sums)[0]:
            found.by_row[record.rank, int(row)] = float(sums[row])
    lost = sum(record.facts["lost_events"] for record in records)
    if lost:
        found.notes.append(
            f"{lost} calls were made after the list of events was full; their waiting time is not "
            "shown (TAILRACE_PROFILE=events=N sets its length)"
        )
    return found


def clock_notes(records: list[Record]) -> list[str]:
    """Return how well clocks of several nodes are known."""
    steps = [record.steps for record in records if record.steps]
    if not steps:
        return []
    error_us = max(sum(step.error_s for step in way) for way in steps) * 1e6
    notes = [
        f"times of all nodes were converted to one clock, to within {error_us:.3g} us at both ends"
    ]
    if not all(step.has_end for way in steps for step in way):
        notes = [
            f"times of all nodes were converted to one clock, to within {error_us:.3g} us at the "
            "start; how their clocks drifted is not known, as the run did not reach MPI_Finalize"
        ]
    return notes


def waits(kinds: NDArray[Any], roots: NDArray[Any], enter: Floats, leave: Floats) -> Floats:
    """Return who waited how long in matched collective calls; all but `kinds` (ranks, calls)."""
    last = enter.max(axis=0)
    ranks, calls = enter.shape
    root_enters = enter[np.clip(roots, 0, ranks - 1), np.arange(calls)]
    until = np.zeros_like(enter)
    for_all = (kinds == ALL) | (kinds == FENCE)
    until[:, for_all] = last[for_all]
    until[(kinds == FENCE) & (leave < last)] = 0.0  # left before the last came: has not waited
    until[:, kinds == ROOT] = root_enters[kinds == ROOT]
    lower = np.maximum.accumulate(enter, axis=0)
    until[:, kinds == LOWER] = lower[:, kinds == LOWER]
    at_root = kinds == TO_ROOT
    calls_to_root = np.nonzero(at_root)[0]
    until[np.clip(roots, 0, ranks - 1)[at_root], calls_to_root] = last[at_root]
    return np.clip(until - enter, 0.0, np.maximum(leave - enter, 0.0))


def culprits(kinds: NDArray[Any], roots: NDArray[Any], enter: Floats) -> NDArray[np.intp]:
    """Return whom each rank waited for, as a rank of the communicator; shapes as in `waits`."""
    ranks, calls = enter.shape
    last = np.argmax(enter, axis=0)
    whom = np.repeat(last[np.newaxis], ranks, axis=0)
    whom[:, kinds == ROOT] = np.clip(roots, 0, ranks - 1)[kinds == ROOT]
    if np.any(kinds == LOWER):
        highest = np.maximum.accumulate(enter, axis=0)
        number = np.repeat(np.arange(ranks)[:, np.newaxis], calls, axis=1)
        lower = np.maximum.accumulate(np.where(enter == highest, number, 0), axis=0)
        whom[:, kinds == LOWER] = lower[:, kinds == LOWER]
    return whom


def _collectives(records: list[Record], found: Waiting) -> None:
    """Match the blocking collective calls of each communicator."""
    members: dict[CommKey, list[tuple[int, Record, NDArray[np.intp]]]] = defaultdict(list)
    sizes: dict[CommKey, int] = {}
    for record in records:
        kinds_of = record.events["kind"]
        is_collective = (kinds_of <= LOWER) | (kinds_of == FENCE)
        for index, key in enumerate(comm_keys(record)):
            comm = record.facts["comms"][index]
            mine = np.nonzero(is_collective & (record.events["comm"] == index))[0]
            members[key].append((comm["rank"], record, mine))
            sizes[key] = comm["size"]
    for key, parts in members.items():
        if len(parts) != sizes[key] or len(parts) < 2:
            continue
        parts.sort(key=lambda part: part[0])
        calls = min(len(events) for _, _, events in parts)
        kinds = np.stack([record.events["kind"][mine[:calls]] for _, record, mine in parts])
        alike = np.all(kinds == kinds[0], axis=0)
        if not alike.all():  # a call that only some ranks made: nothing after it can be matched
            calls = int(np.argmin(alike))
            found.notes.append(
                f"the collective calls of a communicator match only up to number {calls}"
            )
        if calls == 0:
            continue
        roots = parts[0][1].events["peer"][parts[0][2][:calls]]
        enter = np.stack([record.begin_s[mine[:calls]] for _, record, mine in parts])
        leave = np.stack([record.end_s[mine[:calls]] for _, record, mine in parts])
        waited = waits(kinds[0][:calls], roots, enter, leave)
        in_job = np.array([record.rank for _, record, _ in parts])
        whom = in_job[culprits(kinds[0][:calls], roots, enter)]
        found.num_collectives += calls
        for i, (_, record, mine) in enumerate(parts):
            found.add(record.rank, mine[:calls], waited[i], whom[i])


def _numbered(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each key how many like it come before."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]] if len(keys) else np.zeros(0, bool)
    starts = np.maximum.accumulate(np.where(first, np.arange(len(keys)), 0))
    numbers = np.empty(len(keys), np.int64)
    numbers[order] = np.arange(len(keys)) - starts
    return numbers


def _of_several_threads(
    flows: NDArray[np.int64], threads: NDArray[np.int64], limit: int
) -> NDArray[np.bool_]:
    """Tell of each of `limit` flows whether more than one thread has messages of it."""
    least = np.full(limit, np.iinfo(np.int64).max)
    most = np.full(limit, -1)
    np.minimum.at(least, flows, threads)
    np.maximum.at(most, flows, threads)
    return least < most


def _messages(records: list[Record], found: Waiting) -> None:
    """Match sends and receives: a receive waits for its send, a blocking send for its receive."""
    numbers: dict[CommKey, int] = {}
    loose: set[CommKey] = set()
    for record in records:
        for key, comm in zip(comm_keys(record), record.facts["comms"], strict=True):
            numbers.setdefault(key, len(numbers))
            if comm["loose"]:
                loose.add(key)
    if loose:
        found.notes.append(
            f"late senders and receivers are not shown on {len(loose)} of {len(numbers)} "
            "communicators, whose messages cannot be matched (cancelled requests, partitioned "
            "ones with the same peer and tag at once, or wildcards without a status)"
        )
    loose_numbers = [numbers[key] for key in loose]
    columns = {kind: _flows(records, kind, numbers, loose_numbers) for kind in (SEND, RECEIVE)}
    sends, receives = columns[SEND], columns[RECEIVE]
    if not len(sends["flow"]) or not len(receives["flow"]):
        return
    _, flows = np.unique(
        np.concatenate([sends["flow"], receives["flow"]]), axis=0, return_inverse=True
    )
    flows = flows.reshape(-1)
    split = len(sends["flow"])
    limit = int(max(len(flows), 1))
    send_id = flows[:split] * limit + _numbered(flows[:split])
    receive_id = flows[split:] * limit + _numbered(flows[split:])
    shared = _of_several_threads(flows[:split], sends["thread"], limit)
    shared |= _of_several_threads(flows[split:], receives["thread"], limit)
    if num_shared := int(np.count_nonzero(shared)):
        found.notes.append(
            f"late senders and receivers are not shown for {num_shared} "
            f"pair{'s' if num_shared > 1 else ''} of ranks and tags whose messages several threads "
            "of a rank sent or received: their order is not known"
        )
        send_id[shared[flows[:split]]] = -1  # matches none
        receive_id[shared[flows[split:]]] = -2
    _, at_send, at_receive = np.intersect1d(send_id, receive_id, return_indices=True)
    found.num_messages = len(at_send)
    begin = receives["begin"][at_receive]
    end = receives["end"][at_receive]
    sent = sends["begin"][at_send]
    # What returned before the other side began has not waited: an access to a window that is not
    # posted yet may begin, and the message of a send may have been stored.
    late_send = np.where(end >= sent, np.maximum(sent - begin, 0.0), 0.0)
    late_send[~receives["done"][at_receive]] = 0.0
    is_early = receives["done"][at_receive] & (end < sent) & (receives["flow"][at_receive, 3] >= 0)
    if early := int(np.count_nonzero(is_early)):
        by_us = float(np.max((sent - end)[is_early])) * 1e6
        found.notes.append(
            f"{early} of {len(at_send)} messages appear to end before they begin, by up to "
            f"{by_us:.3g} us: the offsets of the clocks are not known more exactly"
        )
    begin, end = sends["call"][at_send], sends["end"][at_send]
    post = receives["post"][at_receive]
    late_receive = np.where(end >= post, np.maximum(post - begin, 0.0), 0.0)
    ends = {
        name: np.concatenate([receives[name][at_receive], sends[name][at_send]])
        for name in ("rank", "row", "call", "event")
    }
    whom = np.concatenate([sends["rank"][at_send], receives["rank"][at_receive]])
    _add_calls(found, ends, np.concatenate([late_send, late_receive]), whom)


def _add_calls(
    found: Waiting, ends: dict[str, NDArray[Any]], waited: Floats, whom: NDArray[Any]
) -> None:
    """Add waits for messages; those that one call waited for count once, by the latest."""
    if len(waited) == 0:  # no send matches a receive
        return
    rank, row, begin = ends["rank"], ends["row"], ends["call"]
    order = np.lexsort((waited, begin, row, rank))
    same = (np.diff(rank[order]) == 0) & (np.diff(row[order]) == 0) & (np.diff(begin[order]) == 0)
    latest = order[np.r_[~same, True]]  # the last of each group waited longest
    latest = latest[waited[latest] > 0.0]
    for one in np.unique(rank[latest]):
        mine = latest[rank[latest] == one]
        found.add(int(one), ends["event"][mine], waited[mine], whom[mine])


def _flows(
    records: list[Record], kind: int, numbers: dict[CommKey, int], loose: list[int]
) -> dict[str, NDArray[Any]]:
    """Return the messages of one kind: flow (comm, from, to, tag), times, event, row, rank."""
    parts: dict[str, list[NDArray[Any]]] = defaultdict(list)
    for record in records:
        comms = np.array([numbers[key] for key in comm_keys(record)], np.int64)
        mine = (record.events["kind"] == kind) & (record.events["peer"] >= 0)
        mine[mine] = ~np.isin(comms[record.events["comm"][mine]], loose)
        events = record.events[mine]
        here = np.full(len(events), record.rank, np.int64)
        there = events["peer"].astype(np.int64)
        ends = (here, there) if kind == SEND else (there, here)
        flow = (comms[events["comm"]], *ends, events["tag"].astype(np.int64))
        parts["flow"].append(np.stack(flow, axis=1))
        parts["begin"].append(record.begin_s[mine])
        parts["call"].append(record.call_s[mine])
        parts["end"].append(record.end_s[mine])
        parts["post"].append(record.post_s[mine])
        parts["done"].append(events["end"] > 0)
        parts["event"].append(np.nonzero(mine)[0])
        parts["row"].append(events["row"].astype(np.int64))
        parts["rank"].append(here)
        parts["thread"].append(record.threads[mine].astype(np.int64))
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}
