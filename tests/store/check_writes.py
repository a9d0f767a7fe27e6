# SPDX-License-Identifier: BSD-3-Clause
"""Counts the system calls of every strategy with strace: who opens, who writes which bytes.

Usage: check_writes.py FOLDER RANKS COMMAND... (the command that runs store_program)
Exit status 77 (skipped) if strace is missing or may not trace.
"""

import collections
import dataclasses
import itertools
import pathlib
import re
import shutil
import subprocess
import sys

STRIPE = 65536
DATA_BYTES = 32 * 64 * 65 * (8 + 4)
CALL = re.compile(r"pwrite(?:64|v)\(\d+<([^>]*)>, .*, (\d+), (\d+)\)\s+= (\d+)")


@dataclasses.dataclass
class Write:
    rank: int
    file: str
    start: int
    end: int


def traced(folder: pathlib.Path, ranks: int, command: list[str], hints: list[str]):
    """Runs one output; its writes, who opened the file, and what the store counted itself."""
    logs = folder / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    rank = "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"
    trace = f"exec strace -f -y -s 0 -e trace=pwrite64,pwritev,openat -o {logs}/{rank} " + '"$@"'
    program = command[-1]
    run = subprocess.run(
        [*command[:-1], "sh", "-c", trace, "strace", program, "one", str(folder / "a.h5"), *hints],
        check=True,
        capture_output=True,
        text=True,
    )
    words = run.stdout.split()
    counted = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    writes, opens = [], collections.Counter()
    for log in sorted(logs.iterdir()):
        # A call during which another thread is traced stands on two lines.
        begun: dict[str, str] = {}
        for line in log.read_text().splitlines():
            thread, _, rest = line.partition(" ")
            if rest.endswith("<unfinished ...>"):
                begun[thread] = rest.removesuffix("<unfinished ...>")
                continue
            if "resumed>" in rest and thread in begun:
                rest = begun.pop(thread) + rest.split("resumed>", 1)[1]
            if rest.lstrip().startswith("openat(") and "a.h5" in rest and " = -1" not in rest:
                opens[int(log.name)] += 1
            call = CALL.search(rest)
            if call and "a.h5" in call[1]:
                start, done = int(call[3]), int(call[4])
                writes.append(Write(int(log.name), call[1], start, start + done))
    return writes, opens, counted


def owners(writes: list[Write]) -> dict[int, set[int]]:
    """The ranks that wrote into each stripe."""
    found: dict[int, set[int]] = collections.defaultdict(set)
    for write in writes:
        for stripe in range(write.start // STRIPE, (write.end - 1) // STRIPE + 1):
            found[stripe].add(write.rank)
    return found


def check_common(writes: list[Write], counted: dict[str, int]) -> None:
    assert counted["writes"] == len(writes), (counted, len(writes))
    assert counted["bytes"] == DATA_BYTES
    for file in {write.file for write in writes}:
        mine = sorted((w.start, w.end) for w in writes if w.file == file)
        for (_, end), (start, _) in itertools.pairwise(mine):
            assert end <= start, f"{file}: bytes {start} to {end} were written twice"
    total = sum(write.end - write.start for write in writes)
    assert DATA_BYTES <= total < DATA_BYTES + 65536, "headers and tables are a few kB"


def main() -> int:
    folder, ranks, command = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    if shutil.which("strace") is None:
        print("skipped: strace is not installed")
        return 77
    if subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode != 0:
        print("skipped: strace may not trace here")
        return 77
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    def run(*hints: str):
        writes, opens, counted = traced(folder, ranks, command, list(hints))
        check_common(writes, counted)
        return writes, opens

    everyone = set(range(ranks))
    writes, opens = run("strategy=spokesperson")
    assert set(opens) == {0}, "who writes, opens"
    headers = len(writes) - 4  # for each variable one long write, and one for its checksums

    writes, opens = run(f"cb_nodes={ranks}", "cb_align=1")
    assert set(opens) == everyone
    assert len(writes) == headers + 4 * ranks
    data = [w for w in writes if w.end - w.start >= STRIPE]
    by_rank = collections.defaultdict(list)
    for write in data:
        by_rank[write.rank].append(write)
    assert all(write.start % STRIPE == 0 for write in data), "a boundary inside a stripe"
    assert all(len(found) == 1 for found in owners(data).values())

    if ranks > 1:
        writes, opens = run("cb_nodes=1")
        assert set(opens) == {0}, "who writes, opens"

    writes, opens = run(f"cb_nodes={ranks}", "cb_align=2")
    stripes = [-(-count // STRIPE) for count in (DATA_BYTES * 2 // 3, DATA_BYTES // 3)]
    assert len(writes) == headers + (sum(stripes) if ranks > 1 else 2) + 1
    stripes_of = owners(writes)
    assert stripes_of.pop(max(stripes_of)) == {0}, "the seal has a stripe of its own"
    for stripe, found in stripes_of.items():
        assert len(found) == 1, f"stripe {stripe} was written by ranks {found}"
        assert found == {stripe % ranks}, f"stripe {stripe} by rank {found}"

    writes, opens = run("strategy=shared_independent")
    assert set(opens) == everyone
    if ranks > 1:
        writes, opens = run("strategy=grouped", "group_size=2")
        assert set(opens) == set(range(0, ranks, 2))
    writes, opens = run("strategy=file_per_rank")
    pieces = {w.file: w.rank for w in writes if ".pieces/" in w.file}
    assert len(pieces) == ranks and set(pieces.values()) == everyone
    assert all(w.rank == 0 or ".pieces/" in w.file for w in writes)
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
