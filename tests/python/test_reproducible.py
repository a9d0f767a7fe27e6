# SPDX-License-Identifier: BSD-3-Clause
"""With TAILRACE_REPRODUCIBLE=1 runs of all applications repeat each other bit for bit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TAILRACE_BIN_DIR", ROOT / "build/release"))
RUNS = {
    "turbulence": (
        "taylor_green",
        *("grid.n=16", "time.step=0.02", "time.end=0.2", "output.every=4", "flow.viscosity=0.05"),
    ),
    "groundwater": ("heterogeneous", "grid.nx=24", "grid.ny=24", "grid.nz=24"),
    "helium": (
        "photon",
        *("grid.points=36", "grid.step=0.3", "pulse.cycles=[2]", "pulse.intensity=[1e15]"),
        *("time.step=0.2", "observables.every=5", "observables.radius=5", "output.every=10"),
    ),
}


def _run(app: str, folder: Path, memory: Path, reproducible: str) -> dict[str, np.ndarray]:
    """Run on 3 ranks, and return all data sets of the run's HDF5 files."""
    program = BUILD / "apps" / app / f"tailrace-{app}"
    if not program.exists() and "TAILRACE_BIN_DIR" not in os.environ:
        pytest.skip(f"{program} is not built")
    case, *settings = RUNS[app]
    line = ["mpirun", "-n", "3", str(program), str(ROOT / f"apps/{app}/cases/{case}.toml")]
    line += ["--run-dir", str(folder)]
    for setting in settings:
        line += ["--set", setting]
    environment = {
        **os.environ,
        "TAILRACE_REPRODUCIBLE": reproducible,
        "TAILRACE_TUNE": "first_use",
        "TAILRACE_TUNE_FILE": str(memory),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        line, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, np.ndarray] = {}
    for path in sorted(folder.rglob("*.h5")):
        with h5py.File(path) as file:
            where = path.relative_to(folder)

            def keep(name: str, item: object, where: Path = where) -> None:
                if isinstance(item, h5py.Dataset) and not name.startswith("tailrace"):
                    found[f"{where}:{name}"] = item[()]

            file.visititems(keep)
    return found


@pytest.mark.parametrize("app", RUNS)
def test_runs_repeat_each_other(app: str, tmp_path: Path) -> None:
    """Nothing is timed or remembered, and all data sets have the same bits."""
    memory = tmp_path / "tune.json"
    first = _run(app, tmp_path / "first", memory, "1")
    second = _run(app, tmp_path / "second", memory, "1")
    assert not memory.exists()
    assert first and first.keys() == second.keys()
    for name, values in first.items():
        assert values.tobytes() == second[name].tobytes(), name


def test_without_it_methods_are_timed(tmp_path: Path) -> None:
    """The switch is what keeps the tuner from measuring."""
    memory = tmp_path / "tune.json"
    _run("turbulence", tmp_path / "run", memory, "0")
    assert memory.exists()


def test_other_values_are_refused(tmp_path: Path) -> None:
    """The error names the variable and what would be right."""
    with pytest.raises(AssertionError, match=r'TAILRACE_REPRODUCIBLE="yes": expected 0 or 1'):
        _run("turbulence", tmp_path / "run", tmp_path / "tune.json", "yes")
