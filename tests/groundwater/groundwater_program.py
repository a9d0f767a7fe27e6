# SPDX-License-Identifier: BSD-3-Clause
"""Runs the program `tailrace-groundwater` for the tests, as its users run it.

The program is `$TAILRACE_GROUNDWATER`, or that of the build folder `$TAILRACE_BIN_DIR`, or that
of the release build.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TAILRACE_BIN_DIR", ROOT / "build/release"))
PROGRAM = Path(
    os.environ.get("TAILRACE_GROUNDWATER", BUILD / "apps/groundwater/tailrace-groundwater")
)
CASES = ROOT / "apps/groundwater/cases"
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


def command(ranks: int, case: Path | str, run: Path, *settings: str) -> list[str]:
    """Return the command of a run, with `settings` on top of the case."""
    line = ["mpirun", "-n", str(ranks), str(PROGRAM), str(case), "--run-dir", str(run)]
    for setting in settings:
        line += ["--set", setting]
    return line


def start(
    ranks: int, case: Path | str, run: Path, *settings: str
) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    line = command(ranks, case, run, *settings)
    return subprocess.run(
        line, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False
    )


def program_processes(run: Path) -> list[int]:
    """Return the process numbers of the ranks that compute `run`."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # not a process, or gone
            continue
        if words[0] == str(PROGRAM).encode() and str(run).encode() in words:
            found.append(int(folder.name))
    return found


def succeed(ranks: int, case: Path | str, run: Path, *settings: str) -> dict[str, Any]:
    """Run the program, which must succeed, and return its summary."""
    done = start(ranks, case, run, *settings)
    assert done.returncode == 0, done.stdout + done.stderr
    summary: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return summary


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one error message of a run that must have failed."""
    assert done.returncode not in (0, 124), done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if "tailrace-groundwater: error" in line]
    assert len(lines) == 1, done.stderr
    assert "alone" not in lines[0]  # the ranks agreed on the error
    return lines[0]


def balance(run: Path) -> list[dict[str, float]]:
    """Return the lines of RUN/balance.csv."""
    with (run / "balance.csv").open() as file:
        return [{k: float(v) for k, v in line.items()} for line in csv.DictReader(file)]


def last_fields(run: Path) -> dict[str, np.ndarray]:
    """Return the datasets of the last field file, axes (z, y, x)."""
    path = max((run / "fields").glob("*.h5"))
    with h5py.File(path) as file:
        arrays = {k: np.array(v) for k, v in file.items() if isinstance(v, h5py.Dataset)}
    return {name: array for name, array in arrays.items() if array.dtype.kind == "f"}
