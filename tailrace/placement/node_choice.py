# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes of a machine a job should have: boxes of a torus, and a list that was given.

The score is an all-to-all among the nodes, by the link-load model: how many bytes a second each
node sends when the fullest link never idles. It is what the bisection of the nodes allows.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tailrace.errors import TailraceError
from tailrace.planning.machine import Machine, choose_nodes
from tailrace.planning.pricing import Job, price_nodes

SLACK = 0.05  # boxes may have so many more nodes than are wanted
SHOWN_SHAPES = 400  # at most are tried


@dataclass(frozen=True)
class Choice:
    """Some nodes, and how fast they exchange."""

    name: str
    nodes: list[int]
    seconds: float  # of an all-to-all in which each node sends 1 GB
    worst: str  # its fullest link
    alone: bool = False  # a box of a torus: its messages stay on its own links

    @property
    def gb_per_s(self) -> float:
        """Return what each node sends a second, in GB."""
        return 1 / self.seconds if self.seconds > 0 else math.inf


def read_numbers(path: Path, machine: Machine, option: str) -> list[int]:
    """Return the node numbers of a file, in their order; complains about those that are none."""
    try:
        words = re.split(r"[\s,]+", path.read_text().strip())
    except OSError as error:
        raise TailraceError(f"{option} {path}: {error.strerror}", status=2) from error
    numbers = [int(word) for word in words if word.isdigit()]
    wrong = [word for word in words if not word.isdigit() or int(word) >= machine.nodes]
    if wrong or len(set(numbers)) != len(numbers):
        what = f"'{wrong[0]}'" if wrong else "a number twice"
        raise TailraceError(
            f"{option} {path} contains {what}; expected node numbers of {machine.text}, 0 to "
            f"{machine.nodes - 1}, each once",
            status=2,
        )
    return numbers


def boxes(extents: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    """Return the shapes of boxes with `count` nodes or up to 5 % more, the smallest first.

    Only those whose messages stay inside: an edge is the whole ring, or below half of it, or else
    the shorter way goes round outside.

    Examples
    --------
    >>> boxes((4, 4), 8)
    [(2, 4), (4, 2)]
    """
    most = max(count, int(count * (1 + SLACK)))

    def grow(rest: tuple[int, ...], volume: int) -> list[tuple[int, ...]]:
        if not rest:
            return [()] if count <= volume <= most else []
        left = math.prod(rest[1:])
        return [
            (edge, *tail)
            for edge in range(1, rest[0] + 1)
            if edge == rest[0] or 2 * (edge - 1) < rest[0]
            if volume * edge <= most and volume * edge * left >= count
            for tail in grow(rest[1:], volume * edge)
        ]

    return sorted(grow(extents, 1), key=math.prod)


def nodes_of_box(
    machine: Machine, shape: tuple[int, ...], count: int, down: set[int]
) -> tuple[list[int], str]:
    """Return `count` nodes of the box where it has the fewest nodes that are down, and its name.

    Empty if there is no place with enough of them.
    """
    holes = np.zeros(machine.extents[::-1], dtype=np.int64)  # the first axis runs fastest
    holes.flat[sorted(down)] = 1
    for axis, size in enumerate(shape[::-1]):
        holes = sum((np.roll(holes, -i, axis) for i in range(size)), np.zeros_like(holes))
    corner = np.unravel_index(int(holes.argmin()), holes.shape)[::-1]
    name = "x".join(map(str, shape))
    if any(corner):
        name += "@" + ",".join(map(str, corner))
    nodes = [node for node in choose_nodes(machine, name) if node not in down]
    return (nodes[:count] if len(nodes) >= count else []), name


def _others(machine: Machine, count: int, down: set[int]) -> list[tuple[str, list[int]]]:
    """Return lists that every machine has: the first nodes, evenly spread ones, some by chance."""
    free = [node for node in range(machine.nodes) if node not in down]
    if len(free) < count:
        raise TailraceError(
            f"--count {count}: {machine.text} has {len(free)} nodes that are not down", status=2
        )
    spread = [free[i * len(free) // count] for i in range(count)]
    chance = [n for n in choose_nodes(machine, f"scattered:{machine.nodes}") if n not in down]
    return [("the first", free[:count]), ("spread", spread), ("by chance", chance[:count])]


def choose(
    machine: Machine,
    count: int,
    given: list[int] | None = None,
    down: frozenset[int] = frozenset(),
    tell: Callable[[str], None] = lambda _name: None,
) -> list[Choice]:
    """Return the choices of `count` nodes: boxes, the fastest first, then lists that are none.

    Messages of the latter pass by other jobs, which the model does not know. `given` is scored
    among them.
    """
    lists = _others(machine, count, set(down))
    no_boxes = {name for name, _ in lists} | {"given"}
    if machine.kind == "torus":
        for shape in boxes(machine.extents, count)[:SHOWN_SHAPES]:
            nodes, name = nodes_of_box(machine, shape, count, set(down))
            if nodes:
                lists.append((name, nodes))
    if given is not None:
        lists.append(("given", given))
    found = []
    for name, nodes in lists:
        tell(name)
        job = Job(machine.text, name, 1, "blocks", 1e9 * len(nodes))
        priced = price_nodes(job, nodes, [(len(nodes), 1)])[0]
        found.append(Choice(name, nodes, priced.seconds, priced.worst, name not in no_boxes))
    return sorted(found, key=lambda one: (not one.alone, one.seconds))
