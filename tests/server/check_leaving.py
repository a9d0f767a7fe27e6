#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""All ways in which a rank leaves a kind of output, or does something else than the others.

Usage: check_leaving.py FOLDER KIND MPIEXEC FLAG_OF_RANKS PROGRAM

The job ends in every case: with a line that names the rank, by the launcher where a process has
died, or as planned after an error that all ranks have heard.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RANKS = 3
LIMIT_S = 60
AT_A_TIME = 2

# What must be printed where the job is to end. LAST is the rank that leaves.
ENDS = {
    "exception": "LAST, which has left it by an exception: the job ends",
    "finalize": "LAST, which has called MPI_Finalize: the job ends",
    "destroy": "LAST, which has destroyed it: the job ends",
    "exit": "",
    "_exit": "",
    "signal": "",
    "abort": "",
}
# What all ranks that compute hear, and then go on.
HEARS = {
    "finish": "the call must be the same on .*; it is write.* on ranks? 0.*, finish.* on LAST",
    "other_path": "the path must be the same on .*; it is b.* on ranks? 0.*, c.* on LAST",
    "other_layout": "the list of layouts must be the same on all ranks",
}
HEARS_OF_SESSION = {
    "close": "the call must be the same on .*; it is write.* on ranks? 0.*, close on LAST",
    "open": "the call must be the same on .*; it is write.* on ranks? 0.*, open.* on LAST",
    "other_format": r"the path must be the same on .*; it is b\..* on ranks? 0.*, b\..* on LAST",
}
STUCK = r"has waited .* s \(watchdog_s\) for LAST: the job ends"
LATE = "write.* has waited .* s for LAST"


def run(kind: str, way: str, folder: Path, command: list[str]) -> tuple[int, str]:
    """Return the exit status and all that was printed; -1 for a hang."""
    own = folder / way
    own.mkdir(parents=True, exist_ok=True)
    patience = {"TAILRACE_PATIENCE_S": "1", "TAILRACE_TUNE": "off"}
    try:
        done = subprocess.run(
            [*command, kind, way, str(own)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", check=False, timeout=LIMIT_S,
            env={**os.environ, **patience},
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        return -1, str(late.stdout)
    return done.returncode, done.stdout


def fault_of(kind: str, way: str, folder: Path, command: list[str]) -> str:
    """Return what is wrong about how a case ends, or ""."""
    status, text = run(kind, way, folder, command)
    if status == -1:
        return f"{kind} {way} hangs: {text}"
    computing = RANKS - (1 if kind == "1" else 0)
    last = f"rank {computing - 1}"
    went_on = len(re.findall("went on", text))
    if way in ENDS or way == "stuck":
        line = (STUCK if way == "stuck" else ENDS[way]).replace("LAST", last)
        right = status != 0 and went_on == 0 and re.search(line, text)
    elif way == "late":
        right = status == 0 and went_on == computing and re.search(LATE.replace("LAST", last), text)
    else:
        line = "heard: .*" + (HEARS | HEARS_OF_SESSION)[way].replace("LAST", last)
        right = status == 0 and went_on == computing == len(re.findall(line, text))
    return "" if right else f"{kind} {way} ended with status {status}:\n{text}"


def main() -> None:
    folder, kind, mpiexec, flag, program = sys.argv[1:]
    is_session = kind not in ("output", "sync")
    ways = [*ENDS, *HEARS, "late"] + ([*HEARS_OF_SESSION, "stuck"] if is_session else [])
    command = [mpiexec, flag, str(RANKS), program]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        ends = pool.map(lambda way: fault_of(kind, way, Path(folder), command), ways)
        faults = [fault for fault in ends if fault]
    print(*faults, f"{len(ways)} ways, {len(faults)} of them wrong", sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
