# SPDX-License-Identifier: BSD-3-Clause
"""Counts what grouped reading asks of the file system, by the store's counters and by strace.

Usage: check_groups.py FOLDER RANKS COMMAND... (the command that runs read_program)
"""

import pathlib
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

READ = re.compile(r"^(?:\d+ +)?(?:pread64|preadv2?|read|readv)\(\d+<([^>]*)>.* = (\d+)$")
OPEN = re.compile(r'^(?:\d+ +)?openat\(.*"([^"]*)".* = \d+')


class Counts(NamedTuple):
    opens: int
    reads: int
    bytes: int


class Runs:
    """Starts read_program on one file, under strace where that works."""

    def __init__(self, folder: pathlib.Path, command: list[str]) -> None:
        self.file = folder / "index.h5"
        self.traces = folder / "traces"
        self.command = command
        self.own("make")
        self.strace = shutil.which("strace") is not None and self.try_strace()

    def start(self, words: list[str], prefix: list[str]) -> str:
        *launcher, program = self.command
        done = subprocess.run(
            [*launcher, *prefix, program, words[0], str(self.file), *words[1:]],
            capture_output=True, text=True, check=False, timeout=100,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def own(self, *words: str) -> Counts:
        """Return the store's own counters."""
        numbers = re.search(r"^(\d+) (\d+) (\d+)$", self.start(list(words), []), re.MULTILINE)
        return Counts(*map(int, numbers.groups())) if numbers else Counts(0, 0, 0)

    def try_strace(self) -> bool:
        done = subprocess.run(
            ["strace", "-o", "/dev/null", "true"], capture_output=True, check=False
        )
        return done.returncode == 0

    def traced(self, *words: str) -> Counts:
        """Return what strace sees of the file, of all ranks together."""
        shutil.rmtree(self.traces, ignore_errors=True)
        self.traces.mkdir()
        prefix = ["strace", "-ff", "-y", "-o", str(self.traces / "rank"), "-e"]
        self.start(list(words), [*prefix, "trace=openat,read,readv,pread64,preadv,preadv2"])
        opens = reads = count = 0
        for trace in self.traces.iterdir():
            for line in trace.read_text(errors="replace").splitlines():
                found = READ.match(line)
                if found and found[1] == str(self.file):
                    reads, count = reads + 1, count + int(found[2])
                found = OPEN.match(line)
                opens += 1 if found and found[1] == str(self.file) else 0
        return Counts(opens, reads, count)


def check_against_strace(runs: Runs, ranks: int) -> None:
    """The counters are what strace sees more than for opening the file alone."""
    for words in (["all", "2"], ["all", str(ranks)], ["part", "4"]):
        counted = runs.own(*words)
        alone, traced = runs.traced("open", words[1]), runs.traced(*words)
        seen = Counts(*(more - less for more, less in zip(traced, alone, strict=True)))
        assert counted == seen, (words, counted, seen)
        print(f"{' '.join(words)}: counters and strace agree: {seen}")


def main() -> int:
    folder, ranks, command = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    runs = Runs(folder.resolve(), command)
    for pattern in ("all", "part"):
        plain = runs.own(f"{pattern}_alone")
        print(f"{pattern}, every rank by itself: {plain}")
        for size in (2, 4, 8):
            groups = -(-ranks // size)
            grouped = runs.own(pattern, str(size))
            print(f"{pattern}, {groups} groups of {size}: {grouped}")
            assert grouped.opens <= groups
            assert grouped.bytes == 800003 * 8
            if pattern == "all":
                assert grouped.reads * groups <= plain.reads, (grouped, plain)
                assert grouped.bytes * groups <= plain.bytes, (grouped, plain)
            else:
                assert grouped.reads <= groups and grouped.bytes <= plain.bytes
    if runs.strace:
        check_against_strace(runs, ranks)
    else:
        print("strace is missing or not permitted here: counters not compared with it")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
