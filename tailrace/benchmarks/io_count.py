# SPDX-License-Identifier: BSD-3-Clause
"""What each variant asks of the file system, counted by strace: exact on a busy machine too.

Each variant runs once, alone, with its ranks under strace. Only calls on the files of the benchmark
count, from their opening to their closing; checking what was written does not take part.
"""

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tailrace.benchmarks.drivers import Command
from tailrace.benchmarks.rounds import run_once
from tailrace.errors import TailraceError

MARK = "tailrace_bench_io_"  # in the name of every file of the driver
TRACE = "{trace}"
WRITES = ("write", "pwrite64", "pwritev", "pwritev2", "writev")
READS = ("read", "pread64", "preadv", "preadv2", "readv")
FLUSHES = ("fsync", "fdatasync", "sync_file_range")
OPENS = ("open", "openat", "creat")
MARKS = ("access", "faccessat", "faccessat2")  # the driver marks where reading begins
OTHERS = ("fcntl", "io_uring_enter", *MARKS)
LINE = re.compile(
    r"(?P<time>\d+\.\d+) (?P<call>\w+)\((?P<words>.*)\)\s+= (?P<result>-?\d+)(?P<path><.*>)?"
)


def tracer() -> list[str]:
    """Return the words that run a program under strace; `TRACE` stands for its folder."""
    if shutil.which("strace") is None:
        raise TailraceError(
            "--count needs strace, which was not found (Debian: apt install strace)"
        )
    calls = ",".join(f"?{call}" for call in (*WRITES, *READS, *FLUSHES, *OPENS, *OTHERS))
    words = ["strace", "-ff", "-ttt", "-y", "-qq", "-s", "0", "--seccomp-bpf"]
    return [*words, "-e", "signal=none", "-e", f"trace={calls}", "-o", f"{TRACE}/calls"]


def run_counted(command: Command) -> list[dict[str, Any]]:
    """Run a driver under strace and add to its records what was counted."""
    with tempfile.TemporaryDirectory(prefix="tailrace-trace-") as folder:
        words = [word.replace(TRACE, folder) for word in command.words]
        records = run_once(Command(words, command.environment))
        calls = [call for path in Path(folder).glob("calls.*") for call in _calls(path)]
    boundary = max((at for at, name, _ in calls if name == "mark"), default=float("inf"))
    for record in records:
        if "failure" in record or "does_not_apply" in record:
            continue
        reading = record["problem"].endswith(", reading")
        record.update(_sums([c for c in calls if (c[0] > boundary) == reading]))
    return records


def _calls(path: Path) -> list[tuple[float, str, int]]:
    """Return time, kind and result (bytes, or 1) of each call on a file of the benchmark."""
    found = []
    for line in path.read_text(errors="replace").splitlines():
        match = LINE.match(line)
        if match is None:
            continue
        kind = _kind(match)
        if kind:
            result = int(match["result"]) if kind in ("write", "read", "uring") else 1
            found.append((float(match["time"]), kind, result))
    return found


def _kind(match: re.Match[str]) -> str:
    call, words, result = match["call"], match["words"], int(match["result"])
    ours = MARK in words or MARK in (match["path"] or "")
    kinds = {
        "uring": call == "io_uring_enter" and result > 0,
        "mark": ours and call in MARKS and ".reading" in words,
        "lock": ours and call == "fcntl" and "F_SETLK" in words and "F_UNLCK" not in words,
        "open": ours and call in OPENS and result >= 0 and "O_DIRECTORY" not in words,
        "flush": ours and call in FLUSHES and result >= 0,
        "write": ours and call in WRITES and result >= 0,
        "read": ours and call in READS and result >= 0,
    }
    return next((kind for kind, is_it in kinds.items() if is_it), "")


def _sums(calls: list[tuple[float, str, int]]) -> dict[str, float | None]:
    number = {kind: sum(1 for _, k, _ in calls if k == kind) for kind in ("write", "read")}
    amount = {k: sum(r for _, kind, r in calls if kind == k) for k in ("write", "read", "uring")}
    other = {k: sum(1 for _, kind, _ in calls if kind == k) for k in ("open", "flush", "lock")}
    return {
        "counted_writes": number["write"],
        "counted_mb_written": amount["write"] / 1e6,
        "counted_reads": number["read"],
        "counted_mb_read": amount["read"] / 1e6,
        "counted_opens": other["open"],
        "counted_flushes": other["flush"],
        "counted_locks": other["lock"],
        "counted_uring": amount["uring"] or None,
    }
