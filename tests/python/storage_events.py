# SPDX-License-Identifier: BSD-3-Clause
"""A simulation of each request of an output, to compare the queues of `writing.py` with.

Each writer has up to `DEPTH` requests in flight. A request passes its process, its node and its
target, each of which serves one after another in the order of arrival. A target also moves the lock
of an object to the node that writes to it next.
"""

import heapq
from dataclasses import dataclass

from tailrace.planning.file_system import FileSystem
from tailrace.planning.writing import Pattern, cost

DEPTH = 8


@dataclass
class Request:
    writer: int
    node: int
    target: int
    item: int  # the object
    size: float
    stage: int = 0


def pieces_of(system: FileSystem, start: int, size: int, stripes: int) -> list[tuple[int, int]]:
    """Return (object, bytes) of the requests for a range of a striped file."""
    targets = system.targets
    unit = min(targets.stripe_bytes, targets.request_bytes)
    found = []
    at = start
    while at < start + size:
        end = min(start + size, (at // unit + 1) * unit)
        found.append((at // targets.stripe_bytes % stripes, end - at))
        at = end
    return found


def requests_of(system: FileSystem, pattern: Pattern, writers: int) -> list[list[Request]]:
    """Return what each writer writes, in its order."""
    targets, per_node = system.targets, pattern.ranks_per_node
    share = round(pattern.bytes / pattern.ranks)
    widest = min(targets.count, targets.most_stripes)
    found: list[list[Request]] = []
    if pattern.strategy == "file_per_process":
        for rank in range(pattern.ranks):
            parts = pieces_of(system, 0, share, 1)
            target = rank % targets.count
            found.append([Request(rank, rank // per_node, target, rank, n) for _, n in parts])
        return found
    stripes = min(pattern.stripes or widest, widest)
    if pattern.strategy == "aggregated":
        nodes = -(-pattern.ranks // per_node)
        number = -(-round(pattern.bytes) // targets.stripe_bytes)
        for writer in range(writers):
            mine = range(writer, number, writers)
            found.append(
                [
                    Request(writer, writer % nodes, s % stripes, s % stripes, targets.stripe_bytes)
                    for s in mine
                ]
            )
        return found
    piece = round(pattern.piece_bytes or share)
    for rank in range(pattern.ranks):
        mine_too = []
        for turn in range(share // piece):
            start = (turn * pattern.ranks + rank) * piece
            for item, size in pieces_of(system, start, piece, stripes):
                mine_too.append(Request(rank, rank // per_node, item, item, size))
        found.append(mine_too)
    return found


def simulate(system: FileSystem, pattern: Pattern) -> float:
    """Return the seconds of an output: opening and gathering as in the model, then each request."""
    model = cost(system, pattern)
    waiting = requests_of(system, pattern, model.writers)
    clients, targets = system.clients, system.targets
    free: dict[tuple[int, int], float] = {}
    holder: dict[int, int] = {}
    events: list[tuple[float, int, Request]] = []
    number = 0
    last = 0.0

    def send(request: Request, at: float) -> None:
        nonlocal number
        number += 1
        heapq.heappush(events, (at, number, request))

    taken = [0] * len(waiting)
    for turn in range(DEPTH):
        for writer, mine in enumerate(waiting):
            if turn < len(mine):
                send(mine[turn], 0.0)
                taken[writer] += 1
    while events:
        now, _, request = heapq.heappop(events)
        if request.stage == 3:
            last = now
            writer = request.writer
            if taken[writer] < len(waiting[writer]):
                send(waiting[writer][taken[writer]], now)
                taken[writer] += 1
            continue
        if request.stage == 0:
            place, service = request.writer, request.size / clients.process_bytes_per_s
        elif request.stage == 1:
            place, service = request.node, request.size / clients.node_bytes_per_s
        else:
            place = request.target
            service = request.size / targets.bytes_per_s + targets.request_s
            if holder.setdefault(request.item, request.node) != request.node:
                service += system.locks.transfer_s
                holder[request.item] = request.node
        key = (request.stage, place)
        done = max(now, free.get(key, 0.0)) + service
        free[key] = done
        request.stage += 1
        send(request, done)
    return model.metadata_s + model.gather_s + last
