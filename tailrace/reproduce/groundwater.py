# SPDX-License-Identifier: BSD-3-Clause
"""PFLOTRAN on a Cray XT5: grouped reading and writing, and its reductions."""

import math
from dataclasses import replace

from tailrace.planning.file_system import find_file_system
from tailrace.planning.writing import Pattern, cost
from tailrace.reproduce.figure import Curve, Found, Picture

CORES = 131_064
PER_NODE = 12
GROUP = 8192  # ranks that one of them reads or writes for
READERS = -(-CORES // GROUP)
FIELD = 1350 * 2500 * 80 * 8.0
READS = 18 + 2  # calls of the two patterns
STRIPES = 4  # default of the file system
ITERATIONS = 32_725  # reductions of 16 B: one per iteration of BiCGStab
ASSUMED = [
    "Spider: half of 1,344 targets and 240 GB/s (published); 4 stripes, its default",
    "10,000 opens and 20,000 sizes per second, 0.5 ms per request, 1 ms per lock transfer",
    f"{CORES:,} cores, groups of {GROUP:,}",
]


def _reading_s(readers: int, piece: float) -> float:
    pattern = Pattern(
        readers,
        1 if readers < CORES // PER_NODE else PER_NODE,
        READS * FIELD,
        piece_bytes=piece,
        stripes=STRIPES,
        calls=READS,
        reading=True,
    )
    system = find_file_system("spider")
    scatter_s = 0.0
    if readers < CORES:
        scatter_s = READS * FIELD / readers / system.clients.network_bytes_per_s
    return cost(system, pattern).seconds + scatter_s


def grouped_reading() -> Found:
    """All processes read their share, compared with one reader per group."""
    share = FIELD / CORES
    everyone = _reading_s(CORES, share)
    groups = [2**k for k in range(6, 15)]
    grouped = [_reading_s(-(-CORES // size), FIELD / (CORES / size)) for size in groups]
    one = _reading_s(READERS, FIELD / READERS)
    row = 8 * (FIELD / 8 / CORES) ** (1 / 3)  # of a cubic block of cells
    by_rows = _reading_s(CORES, row)
    return Found(
        everyone / one,
        f"{READS} calls take {everyone:.0f} s if all processes read, and {one:.1f} s if {READERS} "
        f"readers read and scatter. If all processes read, {READS * CORES / 1e4:.0f} s are spent "
        "on opening files. Here each process reads its share in one request. With one request per "
        f"row of a block of cells, the ratio would be {by_rows / one:.0f}. It depends on which "
        "requests MPI merges, and the study does not say this.",
        ASSUMED,
        Picture(
            "ranks per group",
            "all processes / grouped",
            [
                Curve("model", list(map(float, groups)), [everyone / s for s in grouped]),
                Curve("published", [float(GROUP)], [25.0], published=True),
            ],
        ),
    )


def grouped_writing() -> Found:
    """Collective HDF5, where all processes open the file, compared with one writer per group."""
    system = find_file_system("spider")
    collective = Pattern(
        CORES, PER_NODE, FIELD, "aggregated", writers=STRIPES, stripes=STRIPES, openers=CORES
    )
    everyone = cost(system, collective).seconds
    grouped = cost(system, replace(collective, writers=READERS, openers=0)).seconds
    return Found(
        everyone / grouped,
        f"A field of 2.16 GB takes {everyone:.1f} s if all processes open the file and {STRIPES} "
        f"write, and {grouped:.1f} s with groups. The difference is the metadata service. The "
        "study does not say how many variables are written after each open, which would reduce "
        "the factor.",
        ASSUMED,
    )


def whole_application() -> Found:
    """The whole application, of which the model knows the input and output only."""
    return Found(
        None,
        "The prediction needs the share of reading and writing in the run, which is not "
        "published. If only reading became 25 times as fast, a factor of 5 would follow from a "
        "share of 83 % before the change.",
        [],
    )


def allreduces() -> Found:
    """Reductions of 8 B by the solver, from the number of its iterations."""
    return Found(
        3.0 * ITERATIONS,
        "BiCGStab reduces three single numbers and one pair per iteration, which is four "
        f"reductions, as the study says. {ITERATIONS:,} reductions of 16 B mean the same number of "
        "iterations, and three times as many reductions of 8 B. The others belong to Newton's "
        "method and the time step.",
        ["one reduction of 16 B per iteration"],
    )


def allreduce_variants() -> Found:
    """150,000 reductions of 8 B, directly and through the nodes."""
    network_s, node_s = 6e-6, 0.6e-6  # latency of a message between nodes, and on a node
    cores = [65_532, 98_292, 131_064]
    direct, by_node = [], []
    for number in cores:
        steps = math.ceil(math.log2(number))
        nodes = -(-number // PER_NODE)
        direct.append(150_000 * steps * network_s)
        inside = 2 * math.ceil(math.log2(PER_NODE)) * node_s
        by_node.append(150_000 * (inside + math.ceil(math.log2(nodes)) * network_s))
    x = [float(n) for n in cores]
    return Found(
        direct[-1] / by_node[-1],
        f"On 131,064 cores, recursive doubling over all ranks takes {direct[-1]:.1f} s, and "
        f"{by_node[-1]:.1f} s if the nodes first compute sums. Both grow by one message per "
        "doubling. Ranks that arrive late are included in the times of the study, but not in the "
        "model.",
        ["6 us between nodes, 0.6 us on a node, 12 cores per node"],
        Picture(
            "cores",
            "150,000 reductions [s]",
            [Curve("model, direct", x, direct), Curve("model, node by node", x, by_node)],
        ),
    )
