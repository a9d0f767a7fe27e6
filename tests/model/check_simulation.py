# SPDX-License-Identifier: BSD-3-Clause
"""The link-load model against SimGrid: all-to-alls in the rows and columns of 128 or 256 ranks.

    python check_simulation.py TAILRACE_PRICE

Both read the same text of a machine. Messages of 1 MiB, all under way at once, must take the same
time within 2 %, and so must messages of 8 MiB in rounds (there SimGrid has no barrier between
rounds, the model waits for the slowest message of each). Ends with status 77 where SimGrid is
missing.
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.studies import scale_run
from tailrace.errors import TailraceError
from tailrace.planning.machine import choose_nodes, find_machine, place_ranks

TOLERANCE = 0.02
Case = tuple[str, str, int, str, str]

# Machine, nodes of the job, ranks a node, their order, rows x columns. SimGrid's torus sends ties
# in + direction. Its dragonfly routes traffic inside a group rightly with one chassis only: it
# takes every router that a blade link leads to for one of chassis 0.
TORUS = "torus:8x8x4,bw=9.4:4.7:9.4,ties=plus,loopback=20"
SLABS = "torus:8x8x8,bw=9.4:4.7:9.4,ties=plus,loopback=20"
DRAGONFLY = "dragonfly:8x1x16x2,host=12.5,local=10,chassis=10,global=20,loopback=20"
AT_ONCE: list[Case] = [
    (TORUS, "all", 1, "blocks", "16x16"),
    (TORUS, "all", 1, "random", "16x16"),
    (TORUS, "64", 4, "blocks", "64x4"),
    (TORUS, "64", 4, "tiles:2x2", "16x16"),
    (SLABS, "2x8x8", 1, "blocks", "8x16"),
    (SLABS, "8x2x8", 1, "blocks", "16x8"),
    (SLABS, "8x2x8", 2, "round_robin", "16x16"),
    ("torus:16x15,bw=5:10,ties=plus,loopback=20", "all", 1, "blocks", "12x20"),
    ("torus:4x4x4x4,bw=5:6:7:8,ties=plus,loopback=20", "all", 1, "blocks", "16x16"),
    (DRAGONFLY, "all", 1, "blocks", "16x16"),
    (DRAGONFLY, "all", 1, "random", "16x16"),
    (DRAGONFLY, "64", 4, "blocks", "32x8"),
    (DRAGONFLY.replace("global=20", "global=5"), "scattered:128", 2, "blocks", "16x16"),
    ("fat_tree:16x16,up=1x8,bw=12.5,loopback=20", "all", 1, "blocks", "16x16"),
    ("fat_tree:16x16,up=1x8,bw=12.5,loopback=20", "all", 1, "random:1", "16x16"),
    ("fat_tree:4x8x8,up=1x4x2,bw=12.5,loopback=20", "all", 1, "blocks", "16x16"),
    ("fat_tree:4x8x8,up=1x4x4,bw=12.5,loopback=20", "scattered:64", 4, "blocks", "16x16"),
    ("fat_tree:8x16,up=1x2,cables=1x2,bw=12.5,loopback=20", "all", 2, "blocks", "16x16"),
]
ROUNDS: list[Case] = [
    (SLABS, "2x8x8", 1, "blocks", "1x128"),
    (SLABS, "8x2x8", 1, "blocks", "1x128"),
    (SLABS, "8x2x8", 1, "blocks", "8x16"),
    (DRAGONFLY, "all", 1, "blocks", "16x16"),
    ("fat_tree:16x16,up=1x8,bw=12.5,loopback=20", "all", 1, "blocks", "16x16"),
]


def simulate(case: Case, folder: Path, size: int, in_rounds: bool) -> list[float]:
    """Return the seconds of the exchanges in rows and in columns in the simulator."""
    machine, placement, per_node, order, grid = case
    asked = {"placement": placement, "per_node": str(per_node), "order": order, "grid": grid}
    asked |= {"alltoall": "mpi:ring" if in_rounds else "isend_all", "bytes": str(size)}
    answer = scale_run.run(machine, asked, folder).answer
    return [answer["row_s"], answer["column_s"]]


def price(case: Case, program: str, size: int, in_rounds: bool) -> list[float]:
    """Return the same by the model."""
    machine, placement, per_node, order, grid = case
    rows, columns = (int(word) for word in grid.split("x"))
    nodes = place_ranks(
        choose_nodes(find_machine(machine), placement), per_node, order, (rows, columns)
    )
    seconds = []
    for name, ranks in (("rows", columns), ("columns", rows)):
        if ranks == 1:
            seconds.append(0.0)
            continue
        total = size * rows * columns * ranks  # so that each pair exchanges `size`
        done = subprocess.run(
            [program, machine, grid, str(total), *(["rounds"] if in_rounds else [])],
            input=" ".join(map(str, nodes)),
            capture_output=True,
            text=True,
            check=True,
        )
        exchanges = {entry["name"]: entry for entry in json.loads(done.stdout)["exchanges"]}
        assert exchanges[name]["bytes_per_pair"] == size
        seconds.append(exchanges[name]["in_rounds" if in_rounds else "at_once"]["seconds"])
    return seconds


def main(program: str) -> int:
    """Compare all cases; 1 if one is too far off."""
    try:
        folder = scale_run.build()
    except TailraceError as error:
        print(error)
        return error.status
    failures = 0
    cases = [(case, 1 << 20, False) for case in AT_ONCE] + [
        (case, 8 << 20, True) for case in ROUNDS
    ]
    for case, size, in_rounds in cases:
        simulated = simulate(case, folder, size, in_rounds)
        priced = price(case, program, size, in_rounds)
        for name, one, other in zip(("rows", "columns"), simulated, priced, strict=True):
            apart = one / other - 1 if other > 0 else one
            failures += abs(apart) > TOLERANCE
            how = "in rounds" if in_rounds else "at once"
            print(
                f"{apart:+7.2%}  simulated {one:.6f} s, model {other:.6f} s, {name} {how}: {case}"
            )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
