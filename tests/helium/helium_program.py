# SPDX-License-Identifier: BSD-3-Clause
"""Runs the program `tailrace-helium` for the tests, as its users run it.

The program is that of the build folder `$TAILRACE_BIN_DIR`, or that of the release build.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TAILRACE_BIN_DIR", ROOT / "build/release"))
PROGRAM = BUILD / "apps/helium/tailrace-helium"
CASE = ROOT / "apps/helium/cases/photon.toml"
ENVIRONMENT = {
    **os.environ,
    "TAILRACE_TUNE": "off",  # no measuring of methods, and the same ones in each run
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}

# The program needs LAPACK, so it may be left out of a build.
needs_program = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")

TINY = (
    "grid.points=36",
    "grid.step=0.3",
    "pulse.cycles=[2]",
    "pulse.intensity=[1e15]",
    "time.step=0.2",
    "observables.every=5",
    "observables.radius=5",
    "output.every=10",
)


def start(ranks: int, run: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    """Runs the small case to its end, with `settings` on top."""
    line = ["mpirun", "-n", str(ranks), str(PROGRAM), str(CASE), "--run-dir", str(run)]
    for setting in (*TINY, *settings):
        line += ["--set", setting]
    return subprocess.run(
        line, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False
    )


def succeed(ranks: int, run: Path, *settings: str) -> dict[str, Any]:
    """Runs the program, which must succeed, and returns its summary."""
    done = start(ranks, run, *settings)
    assert done.returncode == 0, done.stdout + done.stderr
    summary: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return summary


def observables(run: Path) -> list[dict[str, float]]:
    """The lines of RUN/observables.csv."""
    with (run / "observables.csv").open() as file:
        return [{k: float(v) for k, v in line.items()} for line in csv.DictReader(file)]


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one error message of a run that must have failed."""
    assert done.returncode not in (0, 124), done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if "tailrace-helium: error" in line]
    assert len(lines) == 1, done.stderr
    assert "alone" not in lines[0]  # the ranks agreed on the error
    return lines[0]
