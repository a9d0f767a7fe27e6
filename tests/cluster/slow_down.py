# SPDX-License-Identifier: BSD-3-Clause
"""Make programs of this node slow, until a file appears: slow_down.py PATTERN RUN_S STOP_S FILE.

Processes whose command line contains PATTERN run for RUN_S seconds and are stopped for STOP_S, in
turn.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path


def found(pattern: str) -> list[int]:
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if pattern in path.read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                pids.append(int(path.parent.name))
    return [pid for pid in pids if pid != os.getpid()]


def send(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def main(pattern: str, run_s: float, stop_s: float, end: Path) -> None:
    rounds = 0
    while not end.exists():
        pids = found(pattern)
        send(pids, signal.SIGSTOP)
        time.sleep(stop_s)
        send(pids, signal.SIGCONT)
        time.sleep(run_s)
        rounds += bool(pids)
    print(rounds)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
