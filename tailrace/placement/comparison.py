# SPDX-License-Identifier: BSD-3-Clause
"""All orders of a problem with their costs, cheapest first."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from tailrace.errors import TailraceError
from tailrace.placement.cost import Cost, cost_of, link_load
from tailrace.placement.orders import ORDERS, DoesNotApplyError, Made, Problem, scattered
from tailrace.planning.machine import choose_nodes, find_machine


@dataclass(frozen=True)
class Row:
    """One order and its cost."""

    name: str
    made: Made
    cost: Cost
    load: dict[str, Any] | None  # of the links, where a machine is given

    @property
    def seconds(self) -> float | None:
        """Return what the fullest link takes for one exchange, if a machine is given."""
        return float(self.load["seconds"]) if self.load else None

    @property
    def rank(self) -> tuple[float, float, float]:
        """Return what orders are compared by: links, the busiest node, bytes off the nodes."""
        return (self.seconds or 0.0, self.cost.busiest_node_bytes, self.cost.off_node_bytes)

    def as_data(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        data = {"order": self.name, "detail": self.made.detail, **asdict(self.cost)}
        return data | {"links": self.load, "ranks": self.made.ranks.tolist()}


@dataclass(frozen=True)
class Site:
    """The nodes of the job on a machine of the link-load model."""

    machine: str
    nodes: list[int]


def make_site(machine: str, placement: str, num_nodes: int) -> Site:
    """Return the first `num_nodes` nodes that `placement` names on the machine."""
    found = find_machine(machine)
    chosen = choose_nodes(found, placement)
    if len(chosen) < num_nodes:
        raise TailraceError(
            f"--nodes {placement}: {len(chosen)} nodes of {machine}, but the job has {num_nodes}",
            status=2,
        )
    return Site(found.text, chosen[:num_nodes])


def _row(name: str, made: Made, problem: Problem, site: Site | None) -> Row:
    load = None
    if site is not None:
        load = link_load(site.machine, site.nodes, problem.traffic, made.ranks, problem.nodes)
    return Row(name, made, cost_of(problem.traffic, made.ranks, problem.nodes), load)


def compare_orders(
    problem: Problem,
    site: Site | None,
    scatter: list[int],
    tell: Callable[[str], None] = lambda _name: None,
) -> tuple[list[Row], dict[str, str]]:
    """Return the rows, cheapest first, and why the other orders cannot be made."""
    rows, left_out = [], {}
    for order in ORDERS:
        tell(order.name)
        try:
            variants = order.variants(problem) if order.variants and site else [order.make(problem)]
        except DoesNotApplyError as error:
            left_out[order.name] = str(error)
            continue
        if scatter:
            variants = [scattered(problem, made, scatter) for made in variants]
        found = [_row(order.name, made, problem, site) for made in variants]
        rows.append(min(found, key=lambda row: row.rank))
    return sorted(rows, key=lambda row: row.rank), left_out
