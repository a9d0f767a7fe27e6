# SPDX-License-Identifier: BSD-3-Clause
"""A rank map: for each rank its node and its slot there. Kept as JSON, written for launchers."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tailrace.errors import TailraceError
from tailrace.placement.cost import Nodes
from tailrace.placement.traffic import Ints

VERSION = 1


@dataclass(frozen=True)
class RankMap:
    """Where each rank is to run. `hosts` and `cores` are of the nodes, `node` and `slot` of ranks.

    The slot numbers the ranks of a node; it says which share of the node's cores a rank gets.
    """

    order: str
    hosts: list[str]
    cores: int  # of a node
    node: list[int]
    slot: list[int]

    @property
    def num_ranks(self) -> int:
        """Return the number of ranks."""
        return len(self.node)

    def host_of(self, rank: int) -> str:
        """Return the name of the rank's node."""
        return self.hosts[self.node[rank]]

    def ranks_of(self, node: int) -> list[int]:
        """Return the ranks of a node, in the order of their slots."""
        own = [rank for rank, at in enumerate(self.node) if at == node]
        return sorted(own, key=lambda rank: self.slot[rank])

    def cores_of(self, rank: int) -> tuple[int, int]:
        """Return the first and the last core of a rank: an equal share of the node's."""
        count = self.node.count(self.node[rank])
        first = self.slot[rank] * self.cores // count
        last = (self.slot[rank] + 1) * self.cores // count - 1
        return first, max(first, last)


def make_map(order: str, ranks: Ints, nodes: Nodes, hosts: list[str], cores: int) -> RankMap:
    """Return the map of an order, a list of ranks as the slots take them."""
    node, slot = np.empty(ranks.size, dtype=np.int64), np.empty(ranks.size, dtype=np.int64)
    node[ranks] = nodes.of_slots()
    slot[ranks] = np.concatenate([np.arange(count) for count in nodes.capacities])
    return RankMap(order, hosts, cores, node.tolist(), slot.tolist())


def map_text(rank_map: RankMap) -> str:
    """Return the map as JSON."""
    return json.dumps({"version": VERSION, **asdict(rank_map)}) + "\n"


def read_map(path: Path) -> RankMap:
    """Read what `map_text` gave; complains about another file."""
    try:
        data = json.loads(path.read_text())
        if data.pop("version") != VERSION:
            raise ValueError("of another version")
        found = RankMap(**data)
        ok = len(found.node) == len(found.slot) and all(
            0 <= node < len(found.hosts) for node in found.node
        )
        if not ok:
            raise ValueError("ranks without a node")
    except OSError as error:
        raise TailraceError(f"{path}: {error.strerror}", status=2) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TailraceError(
            f"{path}: not a rank map (expected map.json as `tailrace map -o FOLDER` writes it)",
            status=2,
        ) from error
    return found
