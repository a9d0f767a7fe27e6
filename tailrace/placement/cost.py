# SPDX-License-Identifier: BSD-3-Clause
"""What an order of ranks costs: bytes off the node, the busiest node, the fullest link."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tailrace.placement.traffic import Ints, Traffic
from tailrace.programs import run_price


@dataclass(frozen=True)
class Nodes:
    """How many ranks each node of the job takes, in the order of the launcher."""

    capacities: tuple[int, ...]

    @property
    def num_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.capacities)

    @property
    def uniform(self) -> int | None:
        """Return the ranks of a node if all have as many, else None."""
        return self.capacities[0] if len(set(self.capacities)) == 1 else None

    def of_slots(self) -> Ints:
        """Return the node of each slot; slots of a node follow one another."""
        return np.repeat(np.arange(self.num_nodes), self.capacities)


@dataclass(frozen=True)
class Cost:
    """What one exchange of all messages costs under an order."""

    off_node_bytes: float  # that leave a node
    off_node_pairs: int  # of ranks on different nodes that send to each other
    busiest_node: int
    busiest_node_bytes: float  # the larger of what it sends and what it receives
    busiest_node_pairs: int  # the most that any node has


def node_of_ranks(order: Ints, nodes: Nodes) -> Ints:
    """Return the node of each rank under `order`, the ranks in the order of the slots."""
    found = np.empty(order.size, dtype=np.int64)
    found[order] = nodes.of_slots()
    return found


def cost_of(traffic: Traffic, order: Ints, nodes: Nodes) -> Cost:
    """Return the cost of an order."""
    node = node_of_ranks(order, nodes)
    a, b = node[traffic.sender], node[traffic.receiver]
    off = a != b
    sent = np.bincount(a[off], weights=traffic.bytes[off], minlength=nodes.num_nodes)
    received = np.bincount(b[off], weights=traffic.bytes[off], minlength=nodes.num_nodes)
    busy = np.maximum(sent, received)
    low = np.minimum(traffic.sender[off], traffic.receiver[off])
    high = np.maximum(traffic.sender[off], traffic.receiver[off])
    pairs = np.unique(low * traffic.num_ranks + high)
    ends = np.concatenate([node[pairs // traffic.num_ranks], node[pairs % traffic.num_ranks]])
    of_node = np.bincount(ends, minlength=nodes.num_nodes)
    worst = int(busy.argmax())
    return Cost(float(sent.sum()), pairs.size, worst, float(busy[worst]), int(of_node.max()))


def link_load(
    machine: str, machine_nodes: list[int], traffic: Traffic, order: Ints, nodes: Nodes
) -> dict[str, Any]:
    """Return what the link-load model says of all messages at once: seconds, worst, kinds.

    `machine_nodes` are the nodes of the machine that the job has, in the order of `nodes`.
    Messages are added up from node to node. Those inside a node go from its first to its second
    stand-in for its ranks, so that the node's memory (loopback) carries them.
    """
    node = node_of_ranks(order, nodes)
    a, b = node[traffic.sender], node[traffic.receiver]
    key, where = np.unique(a * nodes.num_nodes + b, return_inverse=True)
    total = np.bincount(where.ravel(), weights=traffic.bytes)
    source, target = key // nodes.num_nodes, key % nodes.num_nodes
    places = [node for node in machine_nodes for _ in range(2)]
    lines = [" ".join(map(str, [len(places), *places]))]
    lines += [
        f"{2 * s} {2 * t + (s == t)} {round(size)}"
        for s, t, size in zip(source.tolist(), target.tolist(), total.tolist(), strict=True)
    ]
    found: dict[str, Any] = run_price([machine, "messages"], "\n".join(lines))["load"]
    return found
