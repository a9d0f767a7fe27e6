# SPDX-License-Identifier: BSD-3-Clause
"""What an output (or reading) of all ranks costs on a striped file system.

Queues, not events: each phase takes as long as its fullest queue.

1. metadata: creates, opens and the stripes of a file that a client asks for, one after another;
2. gathering: bytes into the nodes that write, where ranks send their data to others first;
3. data: the slowest of the clients (process, node), the routers, the links, and the targets. A
   target serves its bytes, a fixed time per request, and the lock transfers of its objects.

Lustre expands a write lock to the whole object, so that another client that writes there has to
call it back: interleaved pieces cost a transfer each, stripes with one owner none.
"""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np

from tailrace.errors import TailraceError
from tailrace.planning.file_system import FileSystem, Load
from tailrace.planning.machine import find_machine
from tailrace.programs import run_price

STRATEGIES = {
    "file_per_process": "each rank writes a file",
    "shared": "all ranks write their pieces into one file",
    "aggregated": "each stripe has one writer",
    "servers": "ranks that only write receive the data first",
}
DRAWS = 200  # of the load of others
MOST_TAKEN = 0.999  # of a target by others
FAN = 8  # forwarding nodes that a compute node sends to, in the model of the links
MOST_LINK_NODES = 200_000


@dataclass(frozen=True)
class Pattern:
    """An output of all ranks."""

    ranks: int
    ranks_per_node: int
    bytes: float  # of all ranks
    strategy: str = "shared"
    piece_bytes: float = 0  # contiguous in the shared file; 0: one piece per rank
    writers: int = 0  # of "aggregated" and "servers"; 0: as many as the file has stripes
    stripes: int = 0  # of a file; 0: one for a file per process, else as many as possible
    aligned: bool = True  # writers that gather write whole stripes that they own
    openers: int = 0  # processes that open the files; 0: those that write
    calls: int = 1  # times that the files are opened for it
    reading: bool = False


@dataclass(frozen=True)
class Cost:
    """Seconds of each phase; `seconds` is all of it, with the load of others."""

    strategy: str
    writers: int
    metadata_s: float
    gather_s: float
    clients_s: float
    routers_s: float
    links_s: float
    requests_s: float  # of the busiest target, as are the next two
    bytes_s: float
    locks_s: float
    seconds: float
    low_s: float  # a tenth of all outputs are faster
    high_s: float  # a tenth are slower

    def limit(self) -> str:
        """Return the name of what takes longest."""
        queues = {
            "metadata": self.metadata_s,
            "gathering": self.gather_s,
            "clients": self.clients_s,
            "routers": self.routers_s,
            "links": self.links_s,
            "requests": self.requests_s,
            "targets": self.bytes_s,
            "locks": self.locks_s,
        }
        return max(queues, key=lambda name: queues[name])


@dataclass(frozen=True)
class _Files:
    """How a pattern uses the file system."""

    files: int
    stripes: int  # of each file
    writers: int
    nodes: int  # that write
    piece: float  # contiguous bytes of a writer in a file


def cost(system: FileSystem, pattern: Pattern) -> Cost:
    """Return what one output costs."""
    _check(pattern)
    files = _files(system, pattern)
    targets = system.targets
    objects = files.files * files.stripes
    on_busiest = -(-objects // min(targets.count, objects))
    object_bytes = pattern.bytes / objects
    pieces = max(1.0, pattern.bytes / files.files / files.piece)  # of a file
    requests = _requests(system, pattern, files) * pieces / files.stripes * on_busiest
    bytes_s = on_busiest * object_bytes / targets.bytes_per_s
    locks = 0.0 if pattern.reading else _transfers(system, pattern, files, pieces) * on_busiest
    requests_s = requests * targets.request_s
    locks_s = locks * system.locks.transfer_s
    clients_s = _clients_s(system, pattern, files)
    routers_s = _routers_s(system, pattern)
    links_s = _links_s(system, pattern, files)
    metadata_s = _metadata_s(system, pattern, files)
    gather_s = _gather_s(system, pattern, files)
    others = max(clients_s, routers_s, links_s)
    slower = _slowest(system.load, min(targets.count, objects))
    low, middle, high = (
        metadata_s + gather_s + max(others, factor * (bytes_s + requests_s) + locks_s)
        for factor in slower
    )
    return Cost(
        strategy=pattern.strategy,
        writers=files.writers,
        metadata_s=metadata_s,
        gather_s=gather_s,
        clients_s=clients_s,
        routers_s=routers_s,
        links_s=links_s,
        requests_s=requests_s,
        bytes_s=bytes_s,
        locks_s=locks_s,
        seconds=middle,
        low_s=low,
        high_s=high,
    )


def costs(system: FileSystem, pattern: Pattern, names: tuple[str, ...]) -> list[Cost]:
    """Return the cost of several strategies, fastest first."""
    found = [cost(system, replace(pattern, strategy=name)) for name in names]
    return sorted(found, key=lambda one: one.seconds)


def _check(pattern: Pattern) -> None:
    if pattern.strategy not in STRATEGIES:
        raise TailraceError(
            f"strategy {pattern.strategy}: expected one of {', '.join(STRATEGIES)}", status=2
        )
    if pattern.ranks < 1 or pattern.ranks_per_node < 1 or not pattern.bytes > 0:
        raise TailraceError(
            f"an output of {pattern.bytes:g} bytes from {pattern.ranks} ranks, "
            f"{pattern.ranks_per_node} per node: expected more than 0 of each",
            status=2,
        )


def _files(system: FileSystem, pattern: Pattern) -> _Files:
    targets = system.targets
    widest = min(targets.count, targets.most_stripes)
    nodes = -(-pattern.ranks // pattern.ranks_per_node)
    share = pattern.bytes / pattern.ranks
    if pattern.strategy == "file_per_process":
        stripes = min(pattern.stripes or 1, widest)
        return _Files(pattern.ranks, stripes, pattern.ranks, nodes, share)
    needed = max(1, math.ceil(pattern.bytes / targets.stripe_bytes))
    stripes = min(pattern.stripes or widest, widest, needed)
    if pattern.strategy == "shared":
        piece = min(pattern.piece_bytes or share, share)
        return _Files(1, stripes, pattern.ranks, nodes, piece)
    writers = pattern.writers or stripes
    if pattern.strategy == "aggregated":
        writers = min(writers, pattern.ranks)
        nodes = min(writers, nodes)
    else:
        nodes = writers  # servers have their own nodes, or a share of one (the caller's bandwidth)
    piece = targets.stripe_bytes if pattern.aligned else pattern.bytes / writers
    return _Files(1, stripes, writers, nodes, min(piece, pattern.bytes / writers))


def _owned(pattern: Pattern) -> bool:
    """Tell whether each stripe has one writer, which writes all of it."""
    return pattern.strategy in ("aggregated", "servers") and pattern.aligned


def _requests(system: FileSystem, pattern: Pattern, files: _Files) -> float:
    """Return the requests of one piece."""
    targets = system.targets
    unit = min(targets.request_bytes, targets.stripe_bytes)
    if _owned(pattern) or pattern.strategy == "file_per_process":
        return max(1.0, files.piece / unit)
    return files.piece / unit + (1.0 if files.piece % unit else 0.0)


def _transfers(system: FileSystem, pattern: Pattern, files: _Files, pieces: float) -> float:
    """Return the lock transfers of one object: extents that follow one of another node."""
    if files.files > 1 or files.nodes < 2 or _owned(pattern):
        return 0.0
    stripe = system.targets.stripe_bytes
    crossing = files.piece / stripe + (1.0 if files.piece % stripe else 0.0)
    extents = pieces * min(files.stripes, max(1.0, crossing)) / files.stripes
    return extents * (1 - 1 / files.nodes)


def _clients_s(system: FileSystem, pattern: Pattern, files: _Files) -> float:
    clients = system.clients
    per_writer = pattern.bytes / files.writers
    per_node = pattern.bytes / files.nodes
    return max(per_writer / clients.process_bytes_per_s, per_node / clients.node_bytes_per_s)


def _routers_s(system: FileSystem, pattern: Pattern) -> float:
    network = system.network
    if not network.routers:
        return 0.0
    return pattern.bytes / (network.routers * network.router_bytes_per_s)


def _links_s(system: FileSystem, pattern: Pattern, files: _Files) -> float:
    """Return the time of the fullest link between the nodes that write and the routers."""
    network = system.network
    if not network.machine or not network.routers:
        return 0.0
    nodes = find_machine(network.machine).nodes
    if files.nodes > min(nodes, MOST_LINK_NODES):
        raise TailraceError(
            f"{pattern.ranks} ranks on {files.nodes} nodes: network.machine of {system.name} has "
            f"{nodes} nodes",
            status=2,
        )
    return links_s(network.machine, list(range(files.nodes)), network.routers, pattern.bytes)


def links_s(machine: str, senders: list[int], routers: int, size: float) -> float:
    """Return the time of the fullest link when `senders` write `size` bytes.

    The routers are spread evenly over the machine; a node sends equal shares to `FAN` of them.
    """
    total = find_machine(machine)
    forward = [number * total.nodes // routers for number in range(routers)]
    fan = min(FAN, routers)
    share = max(1, round(size / len(senders) / fan))
    lines = [f"{len(senders) + routers}", " ".join(map(str, [*senders, *forward]))]
    for at in range(len(senders)):
        first = at * fan
        for number in range(fan):
            to = len(senders) + (first + number * (routers // fan)) % routers
            lines.append(f"{at} {to} {share}")
    return float(run_price([total.text, "messages"], "\n".join(lines))["load"]["seconds"])


def _metadata_s(system: FileSystem, pattern: Pattern, files: _Files) -> float:
    metadata = system.metadata
    openers = pattern.openers or files.writers  # ranks that write through others need not open
    made = 0 if pattern.reading else files.files
    once = made / metadata.creates_per_s + max(0, openers - made) / metadata.opens_per_s
    if pattern.reading:  # and each asks for the size
        once += openers / metadata.stats_per_s
    return pattern.calls * (once + files.stripes * metadata.object_s)


def _gather_s(system: FileSystem, pattern: Pattern, files: _Files) -> float:
    if pattern.strategy != "aggregated":
        return 0.0  # servers receive while the ranks compute
    nodes = -(-pattern.ranks // pattern.ranks_per_node)
    if files.writers >= pattern.ranks:
        return 0.0
    moved = pattern.bytes * (1 - 1 / nodes)
    return moved / (files.nodes * system.clients.network_bytes_per_s)


@functools.cache
def _slowest(load: Load, used: int) -> tuple[float, float, float]:
    """Return how much longer the busiest of `used` targets takes: 10 %, 50 %, 90 % of all draws."""
    if load.spread <= 0:
        factor = 1 / (1 - load.mean)
        return factor, factor, factor
    scale = load.mean * (1 - load.mean) / load.spread**2 - 1
    rng = np.random.default_rng(1)
    shares = rng.beta(load.mean * scale, (1 - load.mean) * scale, (DRAWS, used)).max(axis=1)
    factors = 1 / (1 - np.minimum(shares, MOST_TAKEN))
    low, middle, high = np.quantile(factors, (0.1, 0.5, 0.9))
    return float(low), float(middle), float(high)
