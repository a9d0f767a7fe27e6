# SPDX-License-Identifier: BSD-3-Clause
"""Graph mapping by Scotch's library, loaded where it is installed (libscotch 6 or 7).

Scotch parts the graph of messages into a part a node, of nearly the right sizes; what is left over
on one node then moves to another that has room, always what costs least, and ranks change places
while that saves bytes.
"""

import ctypes
import os
from typing import Any

import numpy as np

from tailrace.placement.cost import Nodes
from tailrace.placement.traffic import Ints, Traffic

LIBRARIES = ("libscotch-7.0.so", "libscotch.so.7", "libscotch-6.1.so", "libscotch.so")
ERRORS = ("libscotcherr-7.0.so", "libscotcherr.so.7", "libscotcherr-6.1.so", "libscotcherr.so")
BALANCE = 0.0
SCOTCH_STRATQUALITY = 1
MOST_TRIES = 8  # passes that look for ranks to change


def _load(names: tuple[str, ...]) -> ctypes.CDLL:
    for name in names:
        try:
            return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
    raise ImportError("Scotch's library is not installed (Debian: libscotch-7.0)")


def _scotch() -> ctypes.CDLL:
    # Read when Scotch 7 makes its threads; with one the same graph gives the same parts.
    os.environ.setdefault("SCOTCH_PTHREAD_NUMBER", "1")
    _load(ERRORS)  # the library leaves its messages to one of several others
    return _load(LIBRARIES)


def _symmetric(traffic: Traffic) -> tuple[Ints, Ints, Ints]:
    """Return first edges, neighbours and weights of the undirected graph, as Scotch wants them."""
    n = traffic.num_ranks
    ends = np.concatenate(
        [traffic.sender * n + traffic.receiver, traffic.receiver * n + traffic.sender]
    )
    keys, where = np.unique(ends, return_inverse=True)
    weight = np.bincount(where.ravel(), weights=np.tile(traffic.bytes, 2))
    # Sums of weights must fit into Scotch's integers.
    scale = min(1.0, 1e8 / max(weight.sum(), 1.0)) if weight.size else 1.0
    scaled = np.maximum(1, np.rint(weight * scale)).astype(np.int64)
    first = np.searchsorted(keys // n, np.arange(n + 1))
    return first, keys % n, scaled


def _parts(traffic: Traffic, nodes: Nodes) -> Ints:
    """Return the node of each rank as Scotch parts the graph."""
    lib = _scotch()
    number = {4: np.int32, 8: np.int64}[int(lib.SCOTCH_numSizeof())]
    real = {4: ctypes.c_int32, 8: ctypes.c_int64}[int(lib.SCOTCH_numSizeof())]

    def pointer(values: Any) -> Any:
        return values.ctypes.data_as(ctypes.c_void_p)

    arrays = [array.astype(number) for array in _symmetric(traffic)]
    first, neighbours, weights = arrays
    sizes = np.array(nodes.capacities, dtype=number)
    found = np.zeros(traffic.num_ranks, dtype=number)
    graph = ctypes.create_string_buffer(int(lib.SCOTCH_graphSizeof()) + 64)
    arch = ctypes.create_string_buffer(int(lib.SCOTCH_archSizeof()) + 64)
    strategy = ctypes.create_string_buffer(int(lib.SCOTCH_stratSizeof()) + 64)
    lib.SCOTCH_randomSeed(real(1))
    lib.SCOTCH_randomReset()
    codes = [lib.SCOTCH_graphInit(graph), lib.SCOTCH_archInit(arch), lib.SCOTCH_stratInit(strategy)]
    codes.append(
        lib.SCOTCH_graphBuild(
            graph,
            real(0),
            real(traffic.num_ranks),
            pointer(first),
            ctypes.c_void_p(first.ctypes.data + first.itemsize),
            None,
            None,
            real(neighbours.size),
            pointer(neighbours),
            pointer(weights),
        )
    )
    codes.append(lib.SCOTCH_archCmpltw(arch, real(nodes.num_nodes), pointer(sizes)))
    codes.append(
        lib.SCOTCH_stratGraphMapBuild(
            strategy, real(SCOTCH_STRATQUALITY), real(nodes.num_nodes), ctypes.c_double(BALANCE)
        )
    )
    codes.append(lib.SCOTCH_graphMap(graph, arch, strategy, pointer(found)))
    lib.SCOTCH_stratExit(strategy)
    lib.SCOTCH_archExit(arch)
    lib.SCOTCH_graphExit(graph)
    if any(codes):
        raise ImportError("Scotch's library could not map the graph")
    return found.astype(np.int64)


class _Graph:
    """The undirected graph by ranks, and what a rank has in common with each node."""

    def __init__(self, traffic: Traffic, num_nodes: int) -> None:
        self.first, self.neighbours, self.weights = _symmetric(traffic)
        self.num_nodes = num_nodes

    def ties(self, rank: int, node: Ints) -> Any:
        """Return the weight of the rank's edges to each node."""
        edges = slice(self.first[rank], self.first[rank + 1])
        return np.bincount(
            node[self.neighbours[edges]], weights=self.weights[edges], minlength=self.num_nodes
        )

    def between(self, a: int, b: int) -> float:
        """Return the weight of the edge between two ranks."""
        edges = slice(self.first[a], self.first[a + 1])
        return float(self.weights[edges][self.neighbours[edges] == b].sum())


def _balance(graph: _Graph, node: Ints, capacities: Ints) -> None:
    """Move ranks from nodes that have too many to nodes with room, the cheapest moves first."""
    while True:
        counts = np.bincount(node, minlength=capacities.size)
        over = np.flatnonzero(counts > capacities)
        if not over.size:
            return
        room = counts < capacities
        best: tuple[float, int, int] | None = None
        for rank in np.flatnonzero(node == over[0]).tolist():
            ties = graph.ties(rank, node)
            target = int(np.where(room, ties, -1.0).argmax())
            loss = float(ties[over[0]] - ties[target])
            if best is None or loss < best[0]:
                best = (loss, rank, target)
        assert best is not None
        node[best[1]] = best[2]


def _improve(graph: _Graph, node: Ints) -> None:
    """Let ranks of two nodes change places while that saves bytes."""
    for _ in range(MOST_TRIES):
        changed = False
        for rank in range(node.size):
            ties = graph.ties(rank, node)
            gains = ties - ties[node[rank]]
            if gains.max() <= 0:
                continue
            target = int(gains.argmax())
            best, partner = 0.0, -1
            for other in np.flatnonzero(node == target).tolist():
                theirs = graph.ties(other, node)
                gain = gains[target] + theirs[node[rank]] - theirs[target]
                gain -= 2 * graph.between(rank, other)
                if gain > best:
                    best, partner = float(gain), other
            if partner >= 0:
                node[rank], node[partner] = node[partner], node[rank]
                changed = True
        if not changed:
            return


def graph_order(traffic: Traffic, nodes: Nodes) -> Ints:
    """Return the ranks in the order of the slots; raises ImportError without Scotch."""
    node = _parts(traffic, nodes)
    graph = _Graph(traffic, nodes.num_nodes)
    _balance(graph, node, np.array(nodes.capacities))
    if traffic.num_ranks <= 4096:
        _improve(graph, node)
    return np.argsort(node, kind="stable")
