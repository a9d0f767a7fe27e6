# SPDX-License-Identifier: BSD-3-Clause
"""Compares the library's counts of system calls with those of strace.

Usage: check_counts.py FOLDER COMMAND... (the command that runs counts_program)
Exit status 77 (skipped) if strace is not installed or not allowed here.
"""

import pathlib
import re
import shutil
import subprocess
import sys

CALLS = "openat,pwrite64,pwritev,pread64,preadv,fcntl"
LINE = re.compile(r"(openat|pwrite64|pwritev|pread64|preadv|fcntl)\((.*)\)\s+= (-?\d+)")


def count(trace: pathlib.Path, path: pathlib.Path) -> dict[str, int]:
    """The calls on `path` that strace saw."""
    seen = dict.fromkeys(
        ("writes", "bytes_written", "reads", "bytes_read", "locks", "opens", "direct"), 0
    )
    for line in trace.read_text(errors="replace").splitlines():
        match = LINE.search(line)
        if match is None or str(path) not in match[2]:
            continue
        name, arguments, result = match[1], match[2], int(match[3])
        if name.startswith("pwrite"):
            seen["writes"] += 1
            seen["bytes_written"] += result
        elif name.startswith("pread"):
            seen["reads"] += 1
            seen["bytes_read"] += result
        elif name == "fcntl" and "F_OFD_SETLKW" in arguments:
            seen["locks"] += 1
        elif name == "openat" and "O_DIRECT" in arguments:
            seen["direct"] += 1
        elif name == "openat" and "O_TRUNC" not in arguments:
            seen["opens"] += 1
    return seen


def main() -> int:
    folder, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    strace = shutil.which("strace")
    if strace is None:
        print("skipped: strace is not installed")
        return 77
    folder.mkdir(parents=True, exist_ok=True)
    allowed = subprocess.run([strace, "-o", "/dev/null", "true"], check=False, capture_output=True)
    if allowed.returncode != 0:
        print("skipped: strace is not allowed here")
        return 77
    path, trace = folder.resolve() / "data", folder.resolve() / "trace"
    # -y shows the path of every descriptor; mpiexec runs the program under strace.
    traced = [strace, "-f", "-y", "-e", f"trace={CALLS}", "-o", str(trace)]
    run = subprocess.run(
        [*command[:-1], *traced, command[-1], str(path)],
        check=False,
        capture_output=True,
        text=True,
    )
    if run.returncode != 0:
        print(run.stdout, run.stderr)
        return 1
    words = run.stdout.split()
    told = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    seen = count(trace, path)
    print("library:", told)
    print("strace: ", seen)
    direct = seen.pop("direct")
    shutil.rmtree(folder)
    assert direct <= 2, "opened for O_DIRECT more than once a file"
    assert told["writes"] > 700 and told["locks"] > 0
    assert told == seen, "the counts differ"
    return 0


if __name__ == "__main__":
    sys.exit(main())
