# SPDX-License-Identifier: BSD-3-Clause
"""Simulated machines, and where on them the ranks of a job are.

Needs the standard library only: ``bench/scale/run`` works without the Python environment.
"""

import math
import random
import re
from dataclasses import dataclass

from tailrace.errors import TailraceError

NAMED = {  # name -> kind, extents unless others are given, settings
    "gemini": ("torus", "23x24x24", "bw=9.4:4.7:9.4,latency=1.05e-7,loopback=20"),
}
KINDS = ("torus", "dragonfly", "fat_tree")
MOST_NODES = 100_000_000  # as in src/model


@dataclass(frozen=True)
class Machine:
    """A machine by its text, as in ``torus:8x8x8,bw=9.4:4.7:9.4``."""

    text: str
    kind: str
    extents: tuple[int, ...]

    @property
    def nodes(self) -> int:
        """Return the number of nodes."""
        return math.prod(self.extents)


def find_machine(text: str) -> Machine:
    """Return the machine of `text`; ``gemini`` and ``gemini:8x8x8`` are short for tori."""
    first, comma, more = text.partition(",")
    kind, _, extents = first.partition(":")
    if kind in NAMED:
        kind, usual, settings = NAMED[kind]
        extents = extents or usual
        more = f"{settings},{more}" if comma else settings
        comma = ","
    if kind not in KINDS or not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*", extents):
        raise TailraceError(
            f"machine {text}: expected one of {', '.join((*KINDS, *NAMED))} with extents, "
            "as in torus:8x8x8,bw=10",
            status=2,
        )
    machine = Machine(
        f"{kind}:{extents}{comma}{more}", kind, tuple(int(word) for word in extents.split("x"))
    )
    if machine.nodes > MOST_NODES:
        raise TailraceError(f"machine {text}: more than {MOST_NODES} nodes", status=2)
    return machine


def choose_nodes(machine: Machine, placement: str) -> list[int]:
    """Return the nodes of a job, in the order in which ranks are given to them.

    `placement` is ``all``; a box of a torus, as in ``2x8x8`` or ``2x8x8@3,0,0``; a number N of
    nodes, the first ones; or ``scattered:N`` (``scattered:N:SEED``), N nodes by chance.
    """
    if placement == "all":
        return list(range(machine.nodes))
    if re.fullmatch(r"\d+", placement):
        return list(range(_count(machine, placement, int(placement))))
    scattered = re.fullmatch(r"scattered:(\d+)(?::(\d+))?", placement)
    if scattered:
        number = _count(machine, placement, int(scattered[1]))
        return random.Random(int(scattered[2] or 0)).sample(range(machine.nodes), number)
    if re.fullmatch(r"\d+(x\d+)+(@\d+(,\d+)+)?", placement):
        return _box(machine, placement)
    raise TailraceError(
        f"placement {placement}: expected all, N, a box as in 2x8x8 or 2x8x8@3,0,0, or scattered:N",
        status=2,
    )


def _count(machine: Machine, placement: str, number: int) -> int:
    if 0 < number <= machine.nodes:
        return number
    raise TailraceError(f"placement {placement}: the machine has {machine.nodes} nodes", status=2)


def _box(machine: Machine, placement: str) -> list[int]:
    shape_text, _, corner_text = placement.partition("@")
    shape = [int(word) for word in shape_text.split("x")]
    corner = [int(word) for word in corner_text.split(",")] if corner_text else [0] * len(shape)
    fits = (
        machine.kind == "torus"
        and len(shape) == len(corner) == len(machine.extents)
        and all(0 < s <= e for s, e in zip(shape, machine.extents, strict=True))
    )
    if not fits:
        raise TailraceError(f"placement {placement}: no box of {machine.text}", status=2)
    nodes = [0]
    stride = 1
    for extent, size, start in zip(machine.extents, shape, corner, strict=True):
        along = [(start + i) % extent * stride for i in range(size)]
        nodes = [node + offset for offset in along for node in nodes]
        stride *= extent
    return nodes


def place_ranks(nodes: list[int], per_node: int, order: str, grid: tuple[int, int]) -> list[int]:
    """Return the node of each rank.

    `order` is ``blocks`` (ranks that follow one another share a node), ``round_robin`` (they are
    spread over the nodes), ``random`` (``random:SEED``), or ``tiles:AxB``: each node holds a tile
    of A x B ranks of the `grid` of rows x columns.
    """
    if order == "blocks":
        return [node for node in nodes for _ in range(per_node)]
    if order == "round_robin":
        return nodes * per_node
    kind, _, rest = order.partition(":")
    if kind == "random" and (rest.isdigit() or not rest):
        ranks = nodes * per_node
        random.Random(int(rest or 0)).shuffle(ranks)
        return ranks
    tile = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", rest)
    if kind == "tiles" and tile:
        return _tiles(nodes, per_node, (int(tile[1]), int(tile[2])), grid)
    raise TailraceError(
        f"order {order}: expected blocks, round_robin, random:SEED or tiles:AxB", status=2
    )


def _tiles(
    nodes: list[int], per_node: int, tile: tuple[int, int], grid: tuple[int, int]
) -> list[int]:
    rows, columns = grid
    fits = (
        rows * columns == len(nodes) * per_node
        and tile[0] * tile[1] == per_node
        and rows % tile[0] == columns % tile[1] == 0
    )
    if not fits:
        raise TailraceError(
            f"order tiles:{tile[0]}x{tile[1]}: such tiles of {per_node} ranks on {len(nodes)} "
            f"nodes do not make up a grid of {rows}x{columns}",
            status=2,
        )
    across = columns // tile[1]  # tiles in a row of tiles
    return [
        nodes[row // tile[0] * across + column // tile[1]]
        for row in range(rows)
        for column in range(columns)
    ]
