# SPDX-License-Identifier: BSD-3-Clause
"""The order of ranks on nodes: GYRO and TGYRO.

GYRO splits its ranks twice: into groups of neighbouring ranks, one for each toroidal mode, and into
groups across the modes. Both exchange all-to-all: rows and columns of a grid of ranks.
"""

from functools import cache

from tailrace.reproduce.blue_waters import exchange_s
from tailrace.reproduce.figure import Curve, Found, Picture

MODES = 16
XT4 = "torus:8x8x4,bw=7.6,injection=4,loopback=5"  # 256 nodes of 4 cores, SeaStar2
XT5 = "torus:25x32x24,bw=9.6,injection=4,loopback=10"  # Jaguar: nodes of 12 cores, SeaStar2+
ASSUMED = [
    f"{MODES} toroidal modes, equal volumes within and across them",
    "links of SeaStar2, 4 GB/s into a node, 5 GB/s of messages within a node of 4 cores",
]


def folded(nodes: list[int], per_node: int) -> list[int]:
    """Return the nodes of ranks that run forth and back over them."""
    return [node for turn in range(per_node) for node in (nodes if turn % 2 == 0 else nodes[::-1])]


def _orders(ranks: int, per_node: int) -> dict[str, list[int]]:
    nodes = list(range(-(-ranks // per_node)))
    return {
        "SMP": [node for node in nodes for _ in range(per_node)][:ranks],
        "round-robin": (nodes * per_node)[:ranks],
        "folded": folded(nodes, per_node)[:ranks],
    }


@cache
def seconds(ranks: int, machine: str, per_node: int) -> dict[str, float]:
    """Return the time of both exchanges by the order of ranks."""
    grid = (MODES, ranks // MODES)
    return {
        name: exchange_s(machine, placed, grid) for name, placed in _orders(ranks, per_node).items()
    }


def _gyro(order: str) -> Found:
    found = seconds(1024, XT4, 4)
    published = {"SMP": 11.26, "round-robin": 6.94, "folded": 6.68}
    scale = published["SMP"] / found["SMP"]
    return Found(
        found["SMP"] / found[order],
        f"For a field of 1 TB, the links alone take {found['SMP']:.2f} s (SMP), "
        f"{found['round-robin']:.2f} s (round-robin) and {found['folded']:.2f} s (folded). In "
        "every order, the ranks of a group are on different nodes, so the volume hardly changes. "
        "The study does not print the grid of the run. The model does not include messages that "
        "wait for one another at the interface of a node.",
        ASSUMED,
        Picture(
            "order (1 SMP, 2 round-robin, 3 folded)",
            "communication [s]",
            [
                Curve("model, SMP as published", [1, 2, 3], [scale * s for s in found.values()]),
                Curve("published", [1, 2, 3], list(published.values()), published=True),
            ],
            log_x=False,
        ),
    )


def gyro_round_robin() -> Found:
    """Compare SMP order with round-robin."""
    return _gyro("round-robin")


def gyro_folded() -> Found:
    """Compare SMP order with folded."""
    return _gyro("folded")


def tgyro() -> Found:
    """Compare the orders on three numbers of cores; the model knows the communication only."""
    cores = [20480, 40960, 81920]
    published = [99 / 66, 104 / 63, 105 / 72]
    ours = []
    for number in cores:
        found = seconds(number, XT5, 12)
        ours.append(found["SMP"] / found["round-robin"])
    return Found(
        sum(ours) / len(ours),
        "The study prints run times, but the model only compares communication, whose share is "
        f"not published. For the links alone, the default order is {min(ours):.2f} to "
        f"{max(ours):.2f} times as slow. In the study, several GYRO runs share the machine; here "
        "they are one run.",
        [ASSUMED[0], "nodes of 12 cores, the first ones of a torus of 25 x 32 x 24"],
        Picture(
            "cores",
            "default / round-robin",
            [
                Curve("model, communication", [float(n) for n in cores], ours),
                Curve("published, run time", [float(n) for n in cores], published, published=True),
            ],
        ),
    )
