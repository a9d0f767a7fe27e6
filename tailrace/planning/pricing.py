# SPDX-License-Identifier: BSD-3-Clause
"""What the transposes of an array cost on a machine, by the link-load model."""

import re
from dataclasses import dataclass
from typing import Any

from tailrace.errors import TailraceError
from tailrace.planning.machine import choose_nodes, find_machine, place_ranks
from tailrace.programs import run_price

MOST_RANKS = 10_000_000


@dataclass(frozen=True)
class Job:
    """Ranks on nodes of a machine, and the array that they transpose."""

    machine: str
    nodes: str  # a placement: all, 6x24x24, 128, ...
    ranks_per_node: int
    order: str
    bytes: float  # of the array
    in_rounds: bool = False


@dataclass(frozen=True)
class Price:
    """One grid of ranks, with what the program says of it."""

    nodes: str
    num_nodes: int
    grid: tuple[int, int]
    data: dict[str, Any]
    in_rounds: bool

    def load(self, name: str) -> dict[str, Any] | None:
        """Return what the exchange in rows, or in columns, puts on the links."""
        for exchange in self.data["exchanges"]:
            if exchange["name"] == name:
                found: dict[str, Any] = exchange["in_rounds" if self.in_rounds else "at_once"]
                return found
        return None

    @property
    def seconds(self) -> float:
        """Return the time of both exchanges, one after the other."""
        loads = [self.load("rows"), self.load("columns")]
        return sum((load["seconds"] for load in loads if load), 0.0)

    @property
    def worst(self) -> str:
        """Return the link that holds up the slower exchange."""
        loads = [load for load in (self.load("rows"), self.load("columns")) if load]
        slowest = max(loads, key=lambda load: load["seconds"], default={"worst": ""})
        return str(slowest["worst"])


def parse_grid(text: str) -> tuple[int, int]:
    """Return ROWSxCOLUMNS as two numbers."""
    found = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text)
    if not found:
        raise TailraceError(f"--grid {text}: expected ROWSxCOLUMNS, as in 64x128", status=2)
    return int(found[1]), int(found[2])


def all_grids(num_ranks: int, largest: int) -> list[tuple[int, int]]:
    """Return the rows x columns of `num_ranks` with neither above `largest` (0: any).

    A single exchange among all ranks is in one column (slabs), not in one row.

    Examples
    --------
    >>> all_grids(12, 6)
    [(2, 6), (3, 4), (4, 3), (6, 2)]
    """
    limit = largest or num_ranks
    return [
        (rows, num_ranks // rows)
        for rows in range(min(2, num_ranks), num_ranks + 1)
        if num_ranks % rows == 0 and rows <= limit and num_ranks // rows <= limit
    ]


def price(job: Job, grids: list[tuple[int, int]], largest: int = 0) -> list[Price]:
    """Price the grids (none: all that fit), cheapest first."""
    nodes = choose_nodes(find_machine(job.machine), job.nodes)
    return price_nodes(job, nodes, grids, largest)


def price_nodes(
    job: Job, nodes: list[int], grids: list[tuple[int, int]], largest: int = 0
) -> list[Price]:
    """Do as `price` on a list of nodes; `job.nodes` is its name."""
    machine = find_machine(job.machine)
    num_ranks = len(nodes) * job.ranks_per_node
    if num_ranks > MOST_RANKS:
        raise TailraceError(
            f"{len(nodes)} nodes with {job.ranks_per_node} ranks each: more than {MOST_RANKS} "
            "ranks; name fewer (--nodes, --ranks-per-node)",
            status=2,
        )
    prices = []
    for grid in grids or all_grids(num_ranks, largest):
        if grid[0] * grid[1] != num_ranks:
            raise TailraceError(
                f"--grid {grid[0]}x{grid[1]}: {len(nodes)} nodes with {job.ranks_per_node} ranks "
                f"are {num_ranks} ranks: the product must be {num_ranks}",
                status=2,
            )
        placed = place_ranks(nodes, job.ranks_per_node, job.order, grid)
        data = _run(machine.text, grid, job, placed)
        prices.append(Price(job.nodes, len(nodes), grid, data, job.in_rounds))
    if not prices:
        raise TailraceError(
            f"--points {largest}: no grid of {num_ranks} ranks has at most {largest} rows and "
            "columns",
            status=2,
        )
    return sorted(prices, key=lambda one: one.seconds)


def _run(machine: str, grid: tuple[int, int], job: Job, placed: list[int]) -> dict[str, Any]:
    words = [machine, f"{grid[0]}x{grid[1]}", repr(job.bytes)]
    return run_price(words + (["rounds"] if job.in_rounds else []), " ".join(map(str, placed)))
