# SPDX-License-Identifier: BSD-3-Clause
"""PSDNS on Blue Waters: placement, slabs on nodes, random pull; exchanges by the link-load model.

A node of the model is a router with two compute nodes. The study prints run times of a whole step,
the model prices the exchanges: they are the study's 50 to 75 % of the run before the change.
"""

import random
from functools import cache

from tailrace.planning.file_system import find_file_system
from tailrace.planning.machine import choose_nodes, find_machine
from tailrace.planning.writing import links_s
from tailrace.programs import run_price
from tailrace.reproduce.figure import Curve, Found, Picture

SHARE, MOST_SHARE = (
    0.625,
    0.75,
)  # of the run before the change: the middle and the end of 50 to 75 %
SLAB = "6x24x24"  # routers of the slower job of 6,144 nodes ...
BETTER = "23x6x24"  # ... and of the faster one
STEP_S, OUTPUT_STEP_S = 21.5, 48.0  # of the faster job, as published
RANKS_PER_ROUTER = 64  # 32 cores on a node
# Gemini: 6 GB/s into and out of a node; 10 GB/s of MPI messages within a node.
NODES = "torus:23x24x24,bw=9.4:4.7:9.4,injection=12,loopback=20"
SEED = 1
USUAL = [
    "transposes take 62.5 % of the run before the change (published: 50 to 75 %)",
    "dimension-ordered routes, all messages in flight together, no latency and no other jobs",
]


def exchange_s(
    machine: str, nodes: list[int], grid: tuple[int, int], rounds: bool = False
) -> float:
    """Return the seconds of the exchanges in rows and columns of a field of 1 TB."""
    words = [machine, f"{grid[0]}x{grid[1]}", repr(1e12), *(["rounds"] if rounds else [])]
    found = run_price(words, " ".join(map(str, nodes)))
    key = "in_rounds" if rounds else "at_once"
    return float(sum(one[key]["seconds"] for one in found["exchanges"]))


def run_factor(exchange: float, share: float = SHARE) -> float:
    """Return how many times as fast a run is whose exchanges are `exchange` times as fast."""
    return 1 / (1 - share * (1 - 1 / exchange))


@cache
def _slab_factor() -> float:
    machine = find_machine("gemini")
    slow, fast = (
        exchange_s(machine.text, nodes, (len(nodes), 1))
        for nodes in (choose_nodes(machine, box)[:3072] for box in (SLAB, BETTER))
    )
    return slow / fast


def placement() -> Found:
    """Slabs of routers that are thin along x, or along y with its slower links."""
    exchange = _slab_factor()
    low, high = run_factor(exchange, 0.5), run_factor(exchange, MOST_SHARE)
    return Found(
        run_factor(exchange),
        f"The exchange takes {exchange:.2f} times as long in {SLAB} routers, because y links are "
        "half "
        f"as fast and carry most there. The step follows from the share of the transposes: "
        f"{low:.2f} times for 50 %, {high:.2f} for 75 %. Blocked packets and other jobs, which "
        "make "
        "a full link worse, are not in the model.",
        [*USUAL, "3,072 of the routers of each slab, two nodes each"],
        _step_picture(),
    )


@cache
def _output_links_s(box: str) -> float:
    """Return the time of the fullest link when a job writes 8.8 TB, four fields of 8192^3."""
    nodes = choose_nodes(find_machine("gemini"), box)[:3072]
    routers = find_file_system("blue_waters").network.routers
    return links_s("gemini", nodes, routers, 4 * 4 * 8192.0**3)


def placement_output() -> Found:
    """Steps with output: its links are those of the exchange, and lead to forwarding nodes."""
    step_s = STEP_S * run_factor(_slab_factor())
    slow_s, fast_s = _output_links_s(SLAB), _output_links_s(BETTER)
    output_s = OUTPUT_STEP_S - STEP_S
    return Found(
        (step_s + output_s * slow_s / fast_s) / OUTPUT_STEP_S,
        f"Published for the faster job: {STEP_S} s per step and {output_s:.1f} s of output. The "
        f"model gives {step_s:.1f} s for a step of the slower job. The links between its nodes and "
        f"the forwarding nodes are busy {slow_s / fast_s:.2f} times as long as in the faster job, "
        "and its output takes longer by the same factor. In the study, its output takes 32.6 s, "
        "which is 1.23 times as long.",
        [
            *USUAL,
            "480 forwarding nodes spread evenly; each router of the job sends to 8 of them",
            "output is limited by links in both jobs",
        ],
    )


@cache
def _near_and_spread(routers: int, among: int) -> float:
    machine = find_machine("gemini")
    near = list(range(routers))
    spread = random.Random(SEED).sample(range(among), routers)
    slow, fast = (exchange_s(machine.text, nodes, (routers, 1)) for nodes in (near, spread))
    return slow / fast


def random_nodes() -> Found:
    """Spread 3,072 nodes over about 4,500."""
    exchange = _near_and_spread(1536, 2250)
    return Found(
        run_factor(exchange),
        f"Nodes spread over 4,500 use more links: the exchange is {exchange:.2f} times as fast. "
        "The study compares with nodes that the batch system chose; their arrangement is not "
        "published.",
        [*USUAL, "before: routers in the order of their numbers, x fastest; after: seed 1"],
    )


def random_list() -> Found:
    """Spread 12,000 nodes over the whole machine."""
    exchange = _near_and_spread(6000, 13248)
    return Found(
        run_factor(exchange),
        "The job uses 6,000 of 13,248 routers. If they are spread over the machine, the exchange "
        f"is {exchange:.2f} times as fast as on neighbouring routers. The study also omitted nodes "
        "whose partner was down, which the model does not include.",
        [*USUAL, "before: routers in the order of their numbers, x fastest; after: seed 1"],
    )


@cache
def _plane_factors() -> dict[str, float]:
    """Return how many times as fast exchanges are with rows on a node, by the choice of nodes."""
    factors = {}
    spread = random.Random(SEED).sample(range(2250), 1536)
    for name, routers in (("neighbours", list(range(1536))), ("spread", spread)):
        placed = [node for node in routers for _ in range(RANKS_PER_ROUTER)]
        pencils = exchange_s(NODES, placed, (256, 384))
        factors[name] = pencils / exchange_s(NODES, placed, (3072, 32))
    return factors


def slabs() -> Found:
    """Whole planes on a node: the exchange in rows stays in its memory."""
    factors = _plane_factors()
    most = max(factors.values())
    return Found(
        run_factor(most, MOST_SHARE),
        f"On a grid of 3,072 x 32 with rows on a node, exchanges are {factors['neighbours']:.2f} "
        "times as fast as on a grid of 256 x 384 for neighbouring nodes, and "
        f"{factors['spread']:.2f} times for spread nodes. The study says up to 1.72, so the larger "
        "factor is used, with 75 % of the run. The study does not print the grid that it compares "
        "with.",
        [
            "transposes take 75 % of the run before the change (published: 50 to 75 %)",
            "grid before the change: 256 x 384 ranks; 10 GB/s of messages within a node",
            *USUAL[1:],
        ],
    )


@cache
def _pull_factor() -> float:
    machine = find_machine("gemini")
    nodes = list(range(2048))
    rounds = exchange_s(machine.text, nodes, (2048, 1), rounds=True)
    return rounds / exchange_s(machine.text, nodes, (2048, 1))


def random_pull() -> Found:
    """Compare pairwise rounds with all messages in flight, which random order approaches."""
    exchange = _pull_factor()
    return Found(
        run_factor(exchange),
        f"Pairwise rounds wait for the fullest link of each round, and take {exchange:.2f} times "
        "as long as all messages in flight together. Small chunks in random order come close to "
        "the latter, but do not quite reach it, so the model gives a bound.",
        [
            USUAL[0],
            "before: pairwise rounds; after: all messages in flight; 2,048 routers in order",
        ],
    )


def all_together() -> Found:
    """Apply all three to the exchanges of one run."""
    factors = [_slab_factor(), max(_plane_factors().values()), _pull_factor()]
    runs = [run_factor(one) for one in factors]
    return Found(
        run_factor(factors[0] * factors[1] * factors[2]),
        "The study multiplies gains in run time without a measurement: 1.1 (memory kept), 1.4, "
        f"1.4 and 1.3. The same product of the model is {runs[0] * runs[1] * runs[2]:.2f}. In a "
        f"single run, only the exchanges become faster, by {factors[0]:.2f} (placement), "
        f"{factors[1]:.2f} (slabs) and {factors[2]:.2f} (pull), so the run gains at most "
        f"{1 / (1 - SHARE):.2f} times. Memory is omitted on both sides.",
        USUAL,
    )


def kept_memory() -> Found:
    """Count the page faults of exchange buffers that are freed after each call."""
    points, nodes, fields, fault_s = 6144, 3072, 30, 1e-6
    per_rank = points**3 * 4 / (nodes * 32)
    faults_s = 2 * fields * per_rank / 4096 * fault_s
    return Found(
        STEP_S / (STEP_S - faults_s),
        f"Send and receive buffers of 30 transposes a step are {2 * fields * per_rank / 1e6:.0f} "
        "MB "
        f"per rank: page faults cost {faults_s:.2f} s of a step. The study's gain is larger; 32 "
        "ranks that ask the kernel for memory at the same time are not in the model.",
        ["1 us per page of 4 KiB", "30 transposes a step; a step of 21.5 s"],
    )


def _step_picture() -> Picture:
    """Step times of both jobs, published and by the model."""
    ours = [STEP_S, STEP_S * run_factor(_slab_factor())]
    return Picture(
        "y extent of the job [routers]",
        "time of a step [s]",
        [
            Curve("model (faster job as published)", [6, 24], ours),
            Curve("published", [6, 24], [21.5, 35.3], published=True),
        ],
        log_x=False,
    )
