# SPDX-License-Identifier: BSD-3-Clause
"""Runs the program `tailrace-turbulence` for the tests, as its users run it.

The program is `$TAILRACE_TURBULENCE`, or that of the build folder `$TAILRACE_BIN_DIR`, or that
of the release build.
"""

from __future__ import annotations

import csv
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TAILRACE_BIN_DIR", ROOT / "build/release"))
PROGRAM = Path(os.environ.get("TAILRACE_TURBULENCE", BUILD / "apps/turbulence/tailrace-turbulence"))
CASES = ROOT / "apps/turbulence/cases"
# Ends a run that breaks MPI's rules of threads, where the tests in C++ are built (tests/watch).
WATCH = BUILD / "tests/libmpi_threads_watch.so"
ENVIRONMENT = {
    **os.environ,
    "TAILRACE_TUNE": "off",  # no measuring of methods, and the same ones in each run
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMP_NUM_THREADS": "1",
}

# Where a build folder is named, as `make test` does, a missing program fails the tests.
needs_program = pytest.mark.skipif(
    not PROGRAM.exists() and "TAILRACE_BIN_DIR" not in os.environ, reason=f"{PROGRAM} is not built"
)


def words(case: Path | str, run: Path, *settings: str) -> list[str]:
    """What each rank runs: the program, watched, with `settings` on top of the case."""
    watched = ["env", f"LD_PRELOAD={WATCH}"] if WATCH.exists() else []
    line = [*watched, str(PROGRAM), str(case), "--run-dir", str(run)]
    for setting in settings:
        line += ["--set", setting]
    return line


def command(ranks: int, case: Path | str, run: Path, *settings: str) -> list[str]:
    """The command line of a run."""
    return ["mpirun", "-n", str(ranks), *words(case, run, *settings)]


def start(
    ranks: int, case: Path | str, run: Path, *settings: str
) -> subprocess.CompletedProcess[str]:
    """Runs the program to its end."""
    return subprocess.run(
        command(ranks, case, run, *settings),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def succeed(ranks: int, case: Path | str, run: Path, *settings: str) -> list[dict[str, float]]:
    """Runs the program, which must succeed, and returns the lines of its statistics."""
    done = start(ranks, case, run, *settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return statistics(run)


def statistics(run: Path) -> list[dict[str, float]]:
    """The lines of RUN/statistics.csv."""
    with (run / "statistics.csv").open() as file:
        return [{k: float(v) for k, v in line.items()} for line in csv.DictReader(file)]


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one error message of a run that must have failed."""
    assert done.returncode not in (0, 124), done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if "tailrace-turbulence: error" in line]
    assert len(lines) == 1, done.stderr
    assert "alone" not in lines[0]  # the ranks agreed on the error
    return lines[0]


def program_processes(run: Path) -> list[int]:
    """Process numbers of the ranks that compute `run`."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # not a process, or gone
            continue
        if words[0] == str(PROGRAM).encode() and str(run).encode() in words:
            found.append(int(folder.name))
    return found


TINY = (
    "grid.n=16",
    "time.step=0.02",
    "time.end=0.2",
    "statistics.every=1",
    "output.every=4",
    "flow.viscosity=0.05",
)
