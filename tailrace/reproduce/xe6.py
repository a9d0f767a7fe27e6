# SPDX-License-Identifier: BSD-3-Clause
"""I/O on a Cray XE6 with Lustre: stripes, aggregators, collective buffering."""

from dataclasses import replace

from tailrace.planning.file_system import FileSystem, find_file_system
from tailrace.planning.writing import Cost, Pattern, cost
from tailrace.reproduce.figure import Curve, Found, Picture

PER_NODE = 24  # cores of a node of the XE6 of that file system
RUN_S, FEW_S = 625.0, 1800.0  # with all targets, with 4, as published
MOVED = 850e9
CORES = 6000
STORAGE = "file system of 156 targets and 35 GB/s, as Hopper's (published for that XE6)"
TIMES = "0.5 ms per request, 1 ms per lock transfer, 1 ms per further stripe of a file"


def _system() -> FileSystem:
    return find_file_system("hopper")


def _gathered(stripes: int, size: float = MOVED, ranks: int = CORES) -> Cost:
    pattern = Pattern(ranks, PER_NODE, size, "aggregated", stripes=stripes)
    return cost(_system(), pattern)


def striping() -> Found:
    """Run time with 4 stripes over that with all targets."""
    widest = _system().targets.count
    few, many = (_gathered(stripes).seconds for stripes in (4, widest))
    stripes = [4, 8, 16, 32, 64, 128, widest]
    predicted = [RUN_S - many + _gathered(n).seconds for n in stripes]
    return Found(
        predicted[0] / RUN_S,
        f"Writing 850 GB takes {few:.0f} s on 4 targets and {many:.0f} s on all {widest}. The rest "
        f"of the run takes {RUN_S - many:.0f} s, from the published run with all targets (625 s). "
        "The study does not say whether pieces were gathered; independent writing would take "
        "longer.",
        [STORAGE, TIMES, "pieces are gathered by one writer per stripe (collective buffering)"],
        Picture(
            "stripes",
            "run time [s]",
            [
                Curve(
                    "model (625 s on all targets as published)",
                    list(map(float, stripes)),
                    predicted,
                ),
                Curve("published", [4.0, float(widest)], [FEW_S, RUN_S], published=True),
            ],
        ),
    )


def one_writer() -> Found:
    """Bandwidth of one process that writes 32 MB to each of 1 to 160 targets."""
    system = _system()
    system = replace(system, targets=replace(system.targets, count=160))
    stripes = [1, 2, 4, 8, 16, 32, 64, 128, 160]
    rates = []
    for number in stripes:
        pattern = Pattern(1, 1, number * 32e6, stripes=number)
        rates.append(pattern.bytes / cost(system, pattern).seconds / 1e6)
    return Found(
        rates[-1],
        f"The model gives {rates[0]:.0f} MB/s on one target and {max(rates):.0f} MB/s on two or "
        "more: the speed of one process is limited, so it cannot use many targets. The study "
        "shows a loss with more targets; in the model, 1 ms per target is too little to be "
        "visible.",
        [STORAGE, TIMES, "300 MB/s of one process"],
        Picture("targets", "bandwidth [MB/s]", [Curve("model", list(map(float, stripes)), rates)]),
    )


def aggregators() -> Found:
    """Strided file of 96 GB, 32 processes, 16 stripes: alignments of collective buffers."""
    system = _system()
    curves = []
    values: dict[float, list[float]] = {}
    for piece in (1e6, 1e4):
        size = 3220 * 32 * 1e6
        usual = Pattern(32, 8, size, "aggregated", writers=16, stripes=16, piece_bytes=piece)
        independent = replace(usual, strategy="shared")
        # 0: domains of writers end anywhere; 1: at stripes, whose owner changes with each of 3,220
        # calls; 2: each stripe has one owner.
        buffered = replace(usual, aligned=False)
        between = cost(system, usual).seconds + 3220 * system.locks.transfer_s
        values[piece] = [
            cost(system, independent).seconds,
            cost(system, buffered).seconds,
            between,
            cost(system, usual).seconds,
        ]
        curves.append(Curve(f"model, pieces of {piece:,.0f} B", [-1, 0, 1, 2], values[piece]))
    return Found(
        values[1e4][3],
        f"Pieces of 10,000 B take {values[1e4][0]:.0f} s if they are written independently, "
        f"{values[1e4][1]:.0f} s with alignment 0 and {values[1e4][3]:.0f} s with alignment 2. "
        f"Pieces of 1,000,000 B take {values[1e6][0]:.0f}, {values[1e6][1]:.0f} and "
        f"{values[1e6][3]:.0f} s. The study compares these cases without printed values.",
        [STORAGE, TIMES],
        Picture("alignment (-1: independent)", "seconds", curves, log_x=False, log_y=True),
    )


def hdf5_dump() -> Found:
    """A dump of 6.4 GiB from 8,000 processes without collective buffering."""
    size = 6.4 * 2**30
    pieces = Pattern(8000, PER_NODE, size, "shared", piece_bytes=10_000, stripes=4)
    slow = cost(_system(), pieces)
    fast = cost(_system(), replace(pieces, strategy="aggregated", writers=8, stripes=8))
    return Found(
        slow.seconds,
        f"The study gives more than 300 s. The model gives {slow.seconds:.0f} s for pieces of "
        f"10,000 B on 4 stripes ({slow.limit()} limit it), and {fast.seconds:.1f} s with 8 "
        "aggregators on 8 stripes. The size of the pieces is not published, so this is not a "
        "comparison. Data sieving, which the study disables, reads and writes more, and is not in "
        "the model.",
        [STORAGE, TIMES, "pieces of 10,000 B (of another figure of the same study), 4 stripes"],
    )
