#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs each case of the sweep of the Fortran face that ends the job; each must, with a clear text.

Usage: run_stops.py MPIEXEC FLAG_OF_RANKS PROGRAM FOLDER

On two ranks the last one is wrong while the other waits for it, so a hang would show.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LIMIT_S = 60
AT_A_TIME = 2


def fault_of(number: int, command: list[str], folder: Path) -> str:
    """Return what is wrong about how a case ends, or ""."""
    own = folder / str(number)
    own.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            [*command, str(own), str(number)], capture_output=True, text=True, check=False,
            timeout=LIMIT_S, env={**os.environ, "TAILRACE_PATIENCE_S": "0.3"},
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        return f"case {number} hangs: {late.stderr}"
    name = done.stderr.partition("case: ")[2].partition("\n")[0]
    texts = [line for line in done.stderr.splitlines() if line.startswith("tailrace: ")]
    if not name:
        return f"case {number} did not begin: {done.stderr}"
    if done.returncode == 0 or "went on" in done.stdout:
        return f"{name}: the job went on"
    if not texts or len(texts[0]) < 30:
        return f"{name}: ended without a clear text: {done.stderr}"
    if "SIGSEGV" in done.stderr or "signal" in done.stderr:
        return f"{name}: crashed: {done.stderr}"
    return ""


def main() -> None:
    mpiexec, flag, program, folder = sys.argv[1:]
    count = int(subprocess.check_output([program, folder, "count"], text=True))
    assert count > 40, count
    command = [mpiexec, flag, "2", program]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        ends = pool.map(lambda n: fault_of(n, command, Path(folder)), range(count))
        faults = [fault for fault in ends if fault]
    print(*faults, f"{count} cases, {len(faults)} of them wrong", sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
