# SPDX-License-Identifier: BSD-3-Clause
"""The code of `move` in SimGrid: data arrive, times are exact, ranks share no variables.

Ends with status 77 where SimGrid is missing.
"""

import math
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.studies.scale_run import build, run
from tailrace.errors import TailraceError

LINE = "torus:4,bw=1,latency=1e-6"
GRID = {"grid": "8x8", "per_node": "4", "bytes": "100000"}
# Of SimGrid's own sharing of links: (machine, method) -> simulated seconds of rows and columns.
EXACT = {
    "3.32": {
        ("torus:4x4,bw=10:5,latency=1e-7,loopback=20", "mpi:ring"): (
            0.00017072720000000036,
            0.0008019279999999982,
        ),
        ("dragonfly:4x1x4x1,host=12,local=10,global=20", "alltoallv"): (
            0.0001630256,
            0.0002523997761846343,
        ),
        ("fat_tree:4x4,up=1x2,bw=12", "pairwise:in_flight=2"): (
            0.0001394064777712593,
            0.0004277333333333332,
        ),
    }
}


def check_equal(what: str, found: float, expected: float, tolerance: float = 1e-9) -> None:
    """Times are sums of doubles: the last digits may differ between compilers."""
    if not math.isclose(found, expected, rel_tol=tolerance):
        raise SystemExit(f"{what}: {found!r} s, expected {expected!r} s")


def check_by_hand(folder: Path) -> None:
    """Bytes / bandwidth on a ring of four, and a microsecond for each link on the way."""
    # Two neighbours: a message each way. Four ranks in rounds: those at distance 2 take two links,
    # and share each with one other; the neighbours' messages have the links for themselves.
    expected = {(2, "isend_all"): 1e-3 + 1e-6, (4, "mpi:ring"): 4e-3 + 4e-6}
    for (ranks, method), seconds in expected.items():
        asked = {"alltoall": method, "placement": str(ranks), "bytes": "1000000"}
        check_equal(method, run(LINE, asked, folder).answer["row_s"], seconds, 1e-4)


def check_exact(folder: Path) -> None:
    """The same times with real and folded payload, and those of this version of SimGrid."""
    text = subprocess.run(["smpirun", "-version"], capture_output=True, text=True, check=False)
    version = re.search(r"\d+\.\d+", text.stdout + text.stderr)
    known = EXACT.get(version[0] if version else "")
    for (machine, method), expected in (known or EXACT["3.32"]).items():
        times = []
        for payload in ("real", "folded"):
            asked = GRID | {"alltoall": method, "payload": payload}
            answer = run(machine, asked, folder).answer
            times.append((answer["row_s"], answer["column_s"]))
        print(machine, method, times[0])
        for folded, real, exact in zip(times[1], times[0], expected, strict=True):
            check_equal(f"{machine} {method} folded", folded, real)
            if known:
                check_equal(f"{machine} {method}", real, exact)


def check_pull(folder: Path) -> None:
    """One-sided reads from folded windows take as long; their order, by chance, is another."""
    asked = GRID | {"alltoall": "pull:chunk=64k,depth=4"}
    machine = "fat_tree:4x4,up=1x2,bw=12"
    real, folded = (
        run(machine, asked | {"payload": payload}, folder).answer["column_s"]
        for payload in ("real", "folded")
    )
    check_equal("pull, folded", folded, real, 0.15)


def check_data(folder: Path) -> None:
    """64 ranks on 16 nodes, every way, item by item."""
    asked = {"driver": "check", "grid": "16x4", "per_node": "4", "payload": "real"}
    run("torus:4x4,bw=10,latency=1e-7,loopback=20", asked, folder)


def check_no_shared_variables(folder: Path) -> None:
    """Unique symbols would be shared by all ranks, as they are in one process."""
    for driver in ("scale_exchange", "scale_check"):
        symbols = subprocess.run(
            ["nm", "-CD", str(folder / driver)], capture_output=True, text=True, check=True
        ).stdout
        shared = [line for line in symbols.splitlines() if " u " in line]
        if shared or " T " not in symbols:
            raise SystemExit(f"{driver} has variables that ranks share: {shared[:3]}")


def main() -> int:
    """Run all checks."""
    try:
        folder = build()
        check_no_shared_variables(folder)
        check_by_hand(folder)
        check_exact(folder)
        check_pull(folder)
        check_data(folder)
    except TailraceError as error:
        print(error, file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
