# SPDX-License-Identifier: BSD-3-Clause
"""The table of rank orders. An order lists the ranks as the slots of the nodes take them.

To add one: a function from a `Problem` to an order, and a line in `ORDERS`. The first is the plain
reference.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from tailrace.placement import curves, tiles
from tailrace.placement.cost import Nodes, cost_of
from tailrace.placement.graph import graph_order
from tailrace.placement.traffic import Grid, Ints, Traffic

BEST_SHAPES = 3  # of tiles that are priced on links
MOST_WAYS = 24


class DoesNotApplyError(Exception):
    """An order cannot be made for this problem; the text says why."""


@dataclass(frozen=True)
class Problem:
    """Messages between ranks, and the nodes that are to take them."""

    traffic: Traffic
    nodes: Nodes

    @property
    def grid(self) -> Grid:
        """Return the grid of the ranks."""
        if self.traffic.grid is None:
            raise DoesNotApplyError("needs --grid")
        return self.traffic.grid


@dataclass(frozen=True)
class Made:
    """An order of ranks, and what is particular about it (the shape of tiles)."""

    ranks: Ints
    detail: str = ""


@dataclass(frozen=True)
class Order:
    """One entry of the table."""

    name: str
    make: Callable[[Problem], Made]
    summary: str
    variants: Callable[[Problem], list[Made]] | None = None  # to choose from where links are priced


def _consecutive(problem: Problem) -> Made:
    return Made(np.arange(problem.traffic.num_ranks))


def _in_rounds(nodes: Nodes, back_and_forth: bool) -> Made:
    """Return the order in which each round gives a rank to each node that has a free slot."""
    of_node: list[list[int]] = [[] for _ in nodes.capacities]
    rank = 0
    for number in range(max(nodes.capacities)):
        free = [n for n, most in enumerate(nodes.capacities) if number < most]
        for node in reversed(free) if back_and_forth and number % 2 else free:
            of_node[node].append(rank)
            rank += 1
    return Made(np.array([rank for ranks in of_node for rank in ranks], dtype=np.int64))


def _shapes(problem: Problem) -> list[tuple[int, ...]]:
    """Return the shapes of tiles, those with the fewest bytes off the nodes first."""
    grid, volume = problem.grid, problem.nodes.uniform
    if volume is None:
        raise DoesNotApplyError("needs the same number of ranks on each node")
    found = tiles.shapes(grid.extents, volume)
    if not found:
        raise DoesNotApplyError(f"no tile of {volume} ranks divides {grid.text}")
    return sorted(found, key=lambda shape: tiles.off_node_bytes(grid, shape))


def _tiles(problem: Problem) -> Made:
    best = _shapes(problem)[0]
    return Made(tiles.tile_order(problem.grid, best), "x".join(map(str, best)))


def _ways_of_tiles(problem: Problem) -> list[Made]:
    """Return the best shapes in several orders of tiles, which links tell apart.

    Every order of the axes suits a torus, curves suit trees and groups.
    """
    made = []
    for shape in _shapes(problem)[:BEST_SHAPES]:
        counts = [n // edge for n, edge in zip(problem.grid.extents, shape, strict=True)]
        several = [axis for axis, count in enumerate(counts) if count > 1]
        text = "x".join(map(str, shape))
        for key in (curves.hilbert_key, curves.z_key):
            made.append(Made(tiles.tiles_along(problem.grid, shape, key), text))
        single = tuple(axis for axis, count in enumerate(counts) if count == 1)
        for axes in permutations(several):
            order = tiles.tile_order(problem.grid, shape, single + axes)
            made.append(Made(order, text))
    return made[:MOST_WAYS]


def _along(key: Callable[[Ints], Ints]) -> Callable[[Problem], Made]:
    def make(problem: Problem) -> Made:
        return Made(np.argsort(key(problem.grid.coordinates()), kind="stable"))

    return make


def _graph(problem: Problem) -> Made:
    try:
        return Made(graph_order(problem.traffic, problem.nodes))
    except ImportError as error:
        raise DoesNotApplyError(str(error)) from error


ORDERS = (
    Order("consecutive", _consecutive, "method 1: consecutive ranks share a node"),
    Order("round_robin", lambda p: _in_rounds(p.nodes, False), "method 0: spread over the nodes"),
    Order("folded", lambda p: _in_rounds(p.nodes, True), "method 2: spread back and forth"),
    Order(
        "tiles",
        _tiles,
        "a box of the grid per node, the best of all shapes that divide it",
        _ways_of_tiles,
    ),
    Order("hilbert", _along(curves.hilbert_key), "the grid along Hilbert's curve"),
    Order("z", _along(curves.z_key), "the grid along the Z curve"),
    Order("peano", _along(curves.peano_key), "the grid along Peano's curve"),
    Order("graph", _graph, "the messages as a graph, partitioned by Scotch"),
)


def scattered(problem: Problem, made: Made, chosen: list[int]) -> Made:
    """Return the order with the `chosen` ranks on nodes as different as can be.

    They share a resource of a node (a network card, a disk). One that is in excess on a node
    changes places with a rank of the node that has fewest of them; of those, with the one that
    costs least.
    """
    ranks, of_slot = made.ranks.copy(), problem.nodes.of_slots()
    is_chosen = np.isin(ranks, chosen)
    while True:
        counts = np.bincount(of_slot[is_chosen], minlength=problem.nodes.num_nodes)
        room = np.array(problem.nodes.capacities) > counts
        least = int(np.where(room, counts, counts.max() + 1).argmin())
        most = int(counts.argmax())
        if counts[most] - counts[least] <= 1 or not room[least]:
            return Made(ranks, made.detail)
        here = int(np.flatnonzero(is_chosen & (of_slot == most))[-1])
        there = np.flatnonzero(~is_chosen & (of_slot == least))
        costs = []
        for slot in there.tolist():
            tried = ranks.copy()
            tried[[here, slot]] = tried[[slot, here]]
            costs.append(cost_of(problem.traffic, tried, problem.nodes).off_node_bytes)
        slot = int(there[int(np.argmin(costs))])
        ranks[[here, slot]] = ranks[[slot, here]]
        is_chosen[[here, slot]] = is_chosen[[slot, here]]
