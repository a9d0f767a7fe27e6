# SPDX-License-Identifier: BSD-3-Clause
"""Fields in PFLOTRAN's layout: `tailrace.pflotran_file`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from groundwater_program import CASES, last_fields, needs_program, succeed

from tailrace.pflotran_file import walls

SETTINGS = (
    "grid.nx=8",
    "grid.ny=3",
    "grid.nz=2",
    "time.max_steps=4",
    "output.every=2",
    'output.fields=["pressure_head", "saturation", "flux", "water"]',
)


def convert(run: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tailrace.pflotran_file", str(run), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_program
def test_each_time_is_a_group_of_named_datasets(tmp_path: Path) -> None:
    succeed(2, CASES / "calcite.toml", tmp_path, *SETTINGS)
    done = convert(tmp_path, "--time-unit", "d")
    assert done.returncode == 0, done.stderr
    path = tmp_path / "calcite_pflotran.h5"
    assert done.stdout.strip() == str(path)
    fields = last_fields(tmp_path)
    with h5py.File(max((tmp_path / "fields").glob("*.h5"))) as file:
        time = float(file.attrs["time"]) / 86400
    with h5py.File(path) as file:
        times = [name for name in file if name.startswith("Time:")]
        assert len(times) == len(list((tmp_path / "fields").glob("*.h5"))) == 2
        group = file[f"Time:  {time:.5E} d"]
        for axis, cells in (("X", 8), ("Y", 3), ("Z", 2)):
            assert file[f"Coordinates/{axis} [m]"].shape == (cells + 1,)
        found = {name: item[()] for name, item in group.items()}
    pressure = found["Liquid_Pressure [Pa]"]
    assert pressure.shape == (8, 3, 2)
    expected = 101325 + 997.16 * 9.8068 * fields["pressure_head"]
    assert pressure == pytest.approx(expected.transpose(2, 1, 0), rel=1e-12)
    assert np.array_equal(found["Liquid_Saturation"], fields["saturation"].T)
    flux = fields["flux_x"].T * 86400
    assert found["Liquid X-Velocity [m_per_d]"] == pytest.approx(flux, rel=1e-12)
    assert np.array_equal(found["Total_Ca++ [M]"], fields["total_Ca++"].T)
    assert np.array_equal(found["pH"], fields["pH"].T)
    assert np.array_equal(found["Calcite_VF"], fields["Calcite_volume_fraction"].T)
    assert np.array_equal(found["water [m^3]"], fields["water"].T)


def test_walls_of_even_and_uneven_cells() -> None:
    assert walls([], 4, 2.0) == pytest.approx([0, 0.5, 1, 1.5, 2])
    assert walls([1.0, 3.0], 9, 2.0) == pytest.approx([0, 1, 4])


def test_a_run_without_fields_is_refused(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text('[case]\nname = "none"\n')
    (tmp_path / "summary.json").write_text('{"steps": 0}')
    done = convert(tmp_path)
    assert done.returncode == 1
    assert "holds no fields of a groundwater run" in done.stderr


def test_a_run_of_another_application_is_refused(tmp_path: Path) -> None:
    grid = "[grid]\nnx = 2\nny = 2\nnz = 2\nlx = 1.0\nly = 1.0\nlz = 1.0\n"
    case = '[case]\nname = "flow"\napplication = "turbulence"\n'
    (tmp_path / "case.toml").write_text(case + grid)
    (tmp_path / "summary.json").write_text('{"steps": 1}')
    (tmp_path / "fields").mkdir()
    with h5py.File(tmp_path / "fields" / "flow_000001.h5", "w") as file:
        file.attrs["time"] = 1.0
        file["u"] = np.zeros((2, 2, 2))
    done = convert(tmp_path)
    assert done.returncode == 1
    assert "holds no fields of a groundwater run" in done.stderr
    assert not list(tmp_path.glob("*_pflotran.h5*"))
