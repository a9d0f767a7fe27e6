# SPDX-License-Identifier: BSD-3-Clause
"""Field files in PFLOTRAN's layout (`output.layout`), beside a file that PFLOTRAN wrote."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from groundwater_program import CASES, needs_program, refused, start, succeed

# What h5py lists of calcite-001.h5, less the group Provenance, by PFLOTRAN of May 2023 (commit
# 083857c4d): its test regression_tests/shortcourse/1D_Calcite/calcite_flow_and_tran.in with
# NXYZ 4 3 2, FINAL_TIME 2 y, TIMES y 1. and FORMAT HDF5 MULTIPLE_FILES.
TIME = "Time:  1.00000E+00 y"
COORDINATES = {"X [m]": (5,), "Y [m]": (4,), "Z [m]": (3,)}
FLOATS = [
    "Calcite_Rate [mol_m^3_sec]",
    "Calcite_VF [m^3 mnrl_m^3 bulk]",
    "Free_Ca++ [M]",
    "Free_H+ [M]",
    "Free_HCO3- [M]",
    "Liquid X-Velocity [m_per_y]",
    "Liquid Y-Velocity [m_per_y]",
    "Liquid Z-Velocity [m_per_y]",
    "Liquid_Pressure [Pa]",
    "Liquid_Saturation",
    "Total_Ca++ [M]",
    "Total_H+ [M]",
    "Total_HCO3- [M]",
    "pH",
]
RECORDED = (
    {f"Coordinates/{name}": (shape, "float64") for name, shape in COORDINATES.items()}
    | {f"{TIME}/{name}": ((4, 3, 2), "float64") for name in FLOATS}
    | {f"{TIME}/Material_ID": ((4, 3, 2), "int32")}
)
RECORDED_ATTRIBUTES = {f"{TIME}@Time (s)": ((1,), "float64")}
# Rates and free concentrations are no fields of ours.
LEFT_OUT = ("Calcite_Rate", "Free_")

YEAR = 365 * 86400
SETTINGS = (
    "grid.nx=4",
    "grid.ny=3",
    "grid.nz=2",
    "grid.ly=3.0",
    "grid.lz=2.0",
    f"time.step={YEAR / 10}",
    f"time.max_step={YEAR / 10}",
    f"time.end={2 * YEAR}",
    "output.every=11",  # the first step is the steady flow
    'output.fields=["pressure_head", "saturation", "flux", "material"]',
)
PFLOTRAN = (*SETTINGS, "output.layout=pflotran")


def structure(path: Path) -> tuple[dict[str, object], dict[str, object]]:
    """Return shapes and types of the datasets and of the attributes below the root."""
    datasets: dict[str, object] = {}
    attributes: dict[str, object] = {}

    def note(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if name.startswith("tailrace"):
            return
        if isinstance(item, h5py.Dataset):
            datasets[name] = (item.shape, item.dtype.name)
        for key, value in item.attrs.items():
            attributes[f"{name}@{key}"] = (np.shape(value), np.asarray(value).dtype.name)

    with h5py.File(path) as file:
        file.visititems(note)
    return datasets, attributes


def files(run: Path) -> list[Path]:
    return sorted((run / "fields").glob("*.h5"))


def expected(path: Path) -> dict[str, np.ndarray]:
    """What PFLOTRAN's names stand for, of a file of the other layout; axes (x, y, z)."""
    with h5py.File(path) as file:
        ours = {k: v[()].transpose() for k, v in file.items() if getattr(v, "ndim", 0) == 3}
    found = {f"Liquid {a.upper()}-Velocity [m_per_y]": ours[f"flux_{a}"] * YEAR for a in "xyz"}
    found |= {f"Total_{s} [M]": ours[f"total_{s}"] for s in ("H+", "HCO3-", "Ca++")}
    return found | {
        "Liquid_Pressure [Pa]": 101325 + 997.16 * 9.8068 * ours["pressure_head"],
        "Liquid_Saturation": ours["saturation"],
        "Material_ID": ours["material"].astype("int32"),
        "pH": ours["pH"],
        "Calcite_VF [m^3 mnrl_m^3 bulk]": ours["Calcite_volume_fraction"],
    }


def compare(run: Path, beside: Path) -> None:
    """Times, values to round-off, and what `tailrace verify` says."""
    assert [path.name for path in files(run)] == [path.name for path in files(beside)]
    for path, other in zip(files(run), files(beside), strict=True):
        with h5py.File(path) as file:
            (time,) = (name for name in file if name.startswith("Time:"))
            fields = {name: item[()] for name, item in file[time].items()}
            seconds = file[time].attrs["Time (s)"]
        with h5py.File(other) as file:
            assert seconds == [file.attrs["time"]]
        assert time == f"Time:  {seconds[0] / YEAR:.5E} y"
        wanted = expected(other)
        assert set(fields) == set(wanted)
        for name, field in fields.items():
            np.testing.assert_allclose(field, wanted[name], rtol=1e-13, atol=0, err_msg=name)
    command = [sys.executable, "-m", "tailrace", "verify", *map(str, files(run))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_program
def test_structure_of_a_file_of_pflotran(tmp_path: Path) -> None:
    """Names, shapes, types and attributes are PFLOTRAN's; the walls lie where they should."""
    succeed(2, CASES / "calcite.toml", tmp_path, *PFLOTRAN)
    first, _ = files(tmp_path)
    datasets, attributes = structure(first)
    left_out = {name for name in RECORDED if name.split("/")[1].startswith(LEFT_OUT)}
    assert len(left_out) == 4
    assert datasets == {name: what for name, what in RECORDED.items() if name not in left_out}
    assert attributes == RECORDED_ATTRIBUTES
    with h5py.File(first) as file:
        for axis, walls in (("X", [0, 25, 50, 75, 100]), ("Y", [0, 1, 2, 3]), ("Z", [0, 1, 2])):
            assert file[f"Coordinates/{axis} [m]"][()] == pytest.approx(walls)


@needs_program
def test_each_way_of_writing_gives_the_same(tmp_path: Path) -> None:
    """The fields of the other layout, by strategies and servers, on 1 to 4 ranks."""
    plain = tmp_path / "plain"
    succeed(2, CASES / "calcite.toml", plain, *SETTINGS)
    ways = (
        (1, "output.servers=none"),
        (3, "output.servers=hidden", "output.strategy=file_per_rank"),
        (2, "output.servers=none", "output.strategy=spokesperson"),
        (2, "output.servers=thread"),
        (2, "output.servers=process"),
        (4, "output.servers=2"),
    )
    for number, (ranks, *settings) in enumerate(ways):
        run = tmp_path / str(number)
        clients = 2 if settings == ["output.servers=2"] else ranks
        if clients != 2:  # others sum in another order
            succeed(clients, CASES / "calcite.toml", tmp_path / f"p{number}", *SETTINGS)
        succeed(ranks, CASES / "calcite.toml", run, *PFLOTRAN, *settings)
        compare(run, plain if clients == 2 else tmp_path / f"p{number}")


@needs_program
def test_products_have_their_names_in_both_layouts(tmp_path: Path) -> None:
    """Products are made of our fields, whether or not the whole fields are written, too."""
    product = '[{name = "p", variables = ["total_Ca++"], stages = ["mean"], path = "p.csv"}]'
    lines = {}
    for layout, whole in (("cf", "true"), ("pflotran", "true"), ("pflotran", "false")):
        run = tmp_path / (layout + whole)
        more = (f"output.products={product}", f"output.layout={layout}", "output.servers=thread")
        succeed(2, CASES / "calcite.toml", run, *SETTINGS, *more, f"output.whole_fields={whole}")
        with (run / "p.csv").open() as file:
            lines[run.name] = list(csv.reader(file))
        assert len(files(run)) == (2 if whole == "true" else 0)
    assert len(lines["cftrue"]) == 3
    assert lines["cftrue"] == lines["pflotrantrue"] == lines["pflotranfalse"]


@needs_program
def test_other_units_and_names(tmp_path: Path) -> None:
    """Times and velocities in days; permeability; what PFLOTRAN has no name for."""
    fields = 'output.fields=["head", "flux", "conductivity", "water"]'
    succeed(1, CASES / "calcite.toml", tmp_path, *PFLOTRAN, "output.time_unit=d", fields)
    with h5py.File(files(tmp_path)[0]) as file:
        group = file["Time:  3.65000E+02 d"]
        assert group["Permeability_X [m^2]"][()] == pytest.approx(1e-5 / 1.098e7)
        velocity = group["Liquid X-Velocity [m_per_d]"][()]
        assert velocity == pytest.approx(86400 * 3.168808781402895e-8, rel=1e-6)
        assert group["water [m^3]"][()] == pytest.approx(0.25 * 25)
        assert "head [m]" in group


@needs_program
def test_an_unknown_layout(tmp_path: Path) -> None:
    done = start(1, CASES / "calcite.toml", tmp_path, "output.layout=tecplot")
    assert "output.layout" in refused(done)


def gather(run: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tailrace.apps.groundwater.pflotran_file", str(run)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_program
def test_all_times_in_one_file(tmp_path: Path) -> None:
    succeed(2, CASES / "calcite.toml", tmp_path, *PFLOTRAN, "output.every=7")
    done = gather(tmp_path)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "calcite_pflotran.h5"
    assert done.stdout.strip() == str(path)
    whole, attributes = structure(path)
    parts = [structure(file) for file in files(tmp_path)]
    assert len(parts) == 3
    assert whole == parts[0][0] | parts[1][0] | parts[2][0]
    assert attributes == parts[0][1] | parts[1][1] | parts[2][1]
    with h5py.File(path) as file, h5py.File(files(tmp_path)[1]) as one:
        name = next(name for name in one if name.startswith("Time:"))
        assert np.array_equal(file[name]["pH"][()], one[name]["pH"][()])


@pytest.mark.parametrize("layout", ["", '[output]\nlayout = "cf"\n'])
def test_runs_of_another_layout_are_refused(tmp_path: Path, layout: str) -> None:
    (tmp_path / "case.toml").write_text('[case]\nname = "none"\n' + layout)
    (tmp_path / "summary.json").write_text('{"steps": 1}')
    (tmp_path / "fields").mkdir()
    h5py.File(tmp_path / "fields" / "none_000001.h5", "w").close()
    done = gather(tmp_path)
    assert done.returncode == 1
    assert 'has no fields of output.layout = "pflotran"' in done.stderr
    assert not list(tmp_path.glob("*_pflotran.h5*"))
