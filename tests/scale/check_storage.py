# SPDX-License-Identifier: BSD-3-Clause
"""Output and reading through `File` on simulated storage: times by hand, extents, and the model.

Ends with status 77 where SimGrid is missing.
"""

import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.studies.scale_run import build, read_bytes, run
from tailrace.errors import TailraceError
from tailrace.planning.file_system import find_file_system

MIB = 1 << 20
STRATEGIES = ("file_per_process", "shared", "aggregated")
# Two targets of 100 MB/s, a request 1 ms and a lock transfer 2 ms.
BY_HAND = """
[targets]
count = 2
bytes_per_s = 100e6
request_s = 1e-3
request_bytes = 1000000
stripe_bytes = 1000000
[metadata]
creates_per_s = 100
opens_per_s = 50
stats_per_s = 1000
object_s = 1e-3
[locks]
transfer_s = 2e-3
"""


def check_near(what: str, found: float, expected: float, tolerance: float = 1e-3) -> None:
    """Messages of the ranks add microseconds to what is computed by hand."""
    if not math.isclose(found, expected, rel_tol=tolerance):
        raise SystemExit(f"{what}: {found!r}, expected {expected!r}")


def check_equal(what: str, found: object, expected: object) -> None:
    """Stop unless both are the same."""
    if found != expected:
        raise SystemExit(f"{what}: {found!r}, expected {expected!r}")


def simulate(
    folder: Path, storage: str, machine: str = "torus:4x4,bw=6,loopback=20", **asked: str
) -> dict[str, Any]:
    """Return the answer of an output of all ranks."""
    return run(machine, {"driver": "output", "storage": storage} | asked, folder).answer


def written(text: str) -> str:
    """Write a description of a file system, which lasts as long as this program."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False) as file:
        file.write(text)
    return file.name


def check_by_hand(folder: Path) -> None:
    """System calls of two nodes that write to one object in turn."""
    asked = {"driver": "storage_check", "storage": written(BY_HAND), "placement": "2"}
    found = run("torus:4,bw=1", asked | {"bytes": "1000000"}, folder).answer
    check_equal("files that are absent, layouts", (found["absent"], found["layout"]), (True, True))
    check_near("create", found["create_s"], 1 / 100)
    check_near("open", found["open_s"], 1 / 50 + 1e-3)
    check_equal("lock transfers", found["transfers"], 7)
    check_near("8 pieces", found["pieces_s"], 8 * (10e-3 + 1e-3) + 7 * 2e-3)
    # missing, twice, beyond the end, ranks, stripes of several ranks
    check_equal("a whole file", found["whole"], [0, 0, 0, 2, 0])
    check_equal("a torn file", found["torn"], [3, 5, 2, 2, 1])


def check_limits(folder: Path) -> None:
    """What limits 20 MiB of two ranks of one node, written and read, on four targets."""
    size = 20 * MIB
    targets = "[targets]\ncount = 4\n"
    slow = targets + "bytes_per_s = 1e8\n"
    limits = {
        "targets": (slow, "1000", size / 4e8),
        "targets, half of them others'": (slow + "[load]\nmean = 0.5\n", "1000", size / 2e8),
        "processes": (targets + "[clients]\nprocess_bytes_per_s = 1e8\n", "1000", size / 2e8),
        "node": (targets + "[clients]\nnode_bytes_per_s = 1e8\n", "1000", size / 1e8),
        "router": (
            targets + "[network]\nrouters = 1\nrouter_bytes_per_s = 1e8\n",
            "1000",
            size / 1e8,
        ),
        "node before the router": (
            targets + "[clients]\nnode_bytes_per_s = 1e8\n[network]\nrouters = 1\n",
            "1000",
            size / 1e8,
        ),
        "link": (targets + "[network]\nrouters = 1\n", "0.05", size / 0.05e9),
    }
    for what, (text, bandwidth, seconds) in limits.items():
        storage = written(text)
        for direction in ("write", "read"):
            found = simulate(
                folder,
                storage,
                f"torus:4x2,bw={bandwidth},latency=1e-7",
                placement="1x1@1,0",  # the router is at node 0: a link lies between
                per_node="2",
                bytes="10M",
                direction=direction,
            )
            check_near(f"{what}, {direction}", found["seconds"], seconds, 0.02)


def check_extents(folder: Path) -> None:
    """Who wrote what, and the contents, with every strategy: 64 ranks on 16 nodes."""
    asked = {"per_node": "4", "bytes": "1200k", "piece": "40k", "payload": "real"}
    writers = {
        "file_per_process": 64,
        "shared": 64,
        "aggregated": 64,
        "spokesperson": 1,
        "grouped": 16,
        "by_length": 16,
        "collective": 16,
    }
    for strategy, expected in writers.items():
        found = simulate(folder, "hopper", strategy=strategy, **asked)
        bad = (found["missing"], found["twice"], found["wrong"])
        check_equal(f"{strategy}: missing, twice, wrong", bad, (0, 0, 0))
        check_equal(f"{strategy}: ranks that wrote", found["writers"], expected)
        own = strategy == "file_per_process"
        check_equal(f"{strategy}: creates", found["creates"], 64 if own else 1)
        check_equal(f"{strategy}: opens", found["opens"], expected)
        if strategy in ("file_per_process", "aggregated", "collective"):
            check_equal(f"{strategy}: stripes of several", found["shared_stripes"], 0)
        if strategy in ("shared", "grouped") and found["lock_transfers"] == 0:
            raise SystemExit(f"{strategy}: no lock was transferred")


def check_reading(folder: Path) -> None:
    """Ranks in groups open and ask less, and read pieces of others sooner than alone."""
    asked = {"per_node": "4", "bytes": "1200k", "piece": "40k", "direction": "read"}
    alone = simulate(folder, "hopper", strategy="shared", **asked)
    grouped = simulate(folder, "hopper", strategy="grouped", **asked)
    one = simulate(folder, "hopper", strategy="grouped", group="64", **asked)
    check_equal("opens", [found["opens"] for found in (alone, grouped, one)], [64, 16, 1])
    if not one["requests"] < grouped["requests"] < alone["requests"]:
        raise SystemExit(f"requests: {alone}, {grouped}, {one}")
    check_equal("lock transfers", alone["lock_transfers"], 0)


def check_model(folder: Path) -> None:
    """The winner and times of `tailrace plan --storage`, pieces of 128 KiB and 16 MiB."""
    for storage in ("hopper", "blue_waters"):
        system = find_file_system(storage)
        for ranks, per_node in ((64, 16), (256, 32)):
            for size, piece in (("16M", "128k"), ("16M", "0")):
                compare(folder, system.name, ranks, per_node, (size, piece))


def compare(folder: Path, storage: str, ranks: int, per_node: int, sizes: tuple[str, str]) -> None:
    """Compare an output of each strategy with the model."""
    # It needs numpy; where SimGrid is missing, the test is skipped before.
    from tailrace.planning.writing import Pattern, cost  # noqa: PLC0415

    size, piece = sizes
    nodes = ranks // per_node
    simulated, model = {}, {}
    for strategy in STRATEGIES:
        found = simulate(
            folder,
            storage,
            f"fat_tree:{nodes},bw=6,loopback=20",
            strategy=strategy,
            per_node=str(per_node),
            bytes=size,
            piece=piece,
        )
        pattern = Pattern(
            ranks, per_node, ranks * read_bytes(size), strategy, piece_bytes=read_bytes(piece)
        )
        simulated[strategy] = found["seconds"]
        model[strategy] = cost(find_file_system(storage), pattern).seconds
        ratio = simulated[strategy] / model[strategy]
        what = f"{storage}, {ranks} ranks, {size} in pieces of {piece}, {strategy}"
        print(f"{what}: {simulated[strategy]:.3f} s, model {model[strategy]:.3f} s")
        if not 0.8 < ratio < 1.2:
            raise SystemExit(f"{what}: {ratio:.2f} times the model's time")
    winners = {min(times, key=lambda name: times[name]) for times in (simulated, model)}
    check_equal("winners", len(winners), 1)


def check_no_shared_variables(folder: Path) -> None:
    """Ranks share the storage, but no variable of the library."""
    symbols = subprocess.run(
        ["nm", "-CD", str(folder / "scale_output")], capture_output=True, text=True, check=True
    ).stdout
    shared = [line for line in symbols.splitlines() if " u " in line]
    if shared or " T " not in symbols:
        raise SystemExit(f"scale_output has variables that ranks share: {shared[:3]}")


def main() -> int:
    """Run all checks."""
    try:
        folder = build()
        check_no_shared_variables(folder)
        check_by_hand(folder)
        check_limits(folder)
        check_extents(folder)
        check_reading(folder)
        check_model(folder)
    except TailraceError as error:
        print(error, file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
