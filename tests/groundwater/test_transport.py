# SPDX-License-Identifier: BSD-3-Clause
"""Transport and reactions: G5, G10 to G12 of docs/applications.md, ranks, restart, bad input."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import h5py
import numpy as np
import pytest
from groundwater_program import CASES, last_fields, needs_program, refused, start, succeed

from tailrace.apps.groundwater.report import shown_names, title
from tailrace.report.page import render
from tailrace.runs.folder import load_run

pytestmark = needs_program


def ogata_banks(x: float, t: float, v: float, d: float) -> float:
    """C / C0 of a front that enters at x = 0."""
    root = 2 * math.sqrt(d * t)
    return 0.5 * (
        math.erfc((x - v * t) / root) + math.exp(v * x / d) * math.erfc((x + v * t) / root)
    )


def test_g5_ogata_banks(run: Path) -> None:
    """Within 0.4 % of the solution with the scheme's own dispersion, v dx / 2 + v^2 dt / 2."""
    assert ogata_banks(1, 1.4, 1, 0.1) == pytest.approx(0.8384219513, abs=1e-10)
    summary = succeed(2, CASES / "ogata_banks.toml", run, "grid.nx=400", "time.step=0.005")
    fields = last_fields(run)
    found = float(np.interp(1.0, fields["x"], fields["total_Tracer"].ravel()))
    assert found == pytest.approx(ogata_banks(1, 1.4, 1, 0.1 + 0.005 + 0.0025), rel=4e-3)
    assert found == pytest.approx(0.8384219513, rel=1e-2)
    assert summary["worst_relative_species_balance"] < 1e-11


OBSERVED = (
    "grid.nx=400",
    "time.step=0.005",
    '[{name = "near", from = [0.5, 0, 0], to = [0.52, 1, 1]}, '
    '{name = "far", from = [1.0, 0, 0], to = [1.02, 1, 1]}]',
)


def breakthrough(path: Path) -> dict[str, np.ndarray]:
    """Return rows (time, concentration) by region."""
    curves: dict[str, list[tuple[float, float]]] = {}
    with path.open() as file:
        for line in csv.DictReader(file):
            assert line["species"] == "Tracer"
            row = (float(line["time"]), float(line["concentration"]))
            curves.setdefault(line["region"], []).append(row)
    return {region: np.array(rows) for region, rows in curves.items()}


def test_breakthrough_curves(tmp_path: Path) -> None:
    """They follow Ogata and Banks, agree on any ranks and after a restart, and end at the field."""
    cells, step, regions = OBSERVED
    settings = (cells, step, f"grid.regions={regions}", 'transport.observe=["near", "far"]')
    case, one, three = CASES / "ogata_banks.toml", tmp_path / "one", tmp_path / "three"
    succeed(1, case, one, *settings)
    succeed(3, case, three, *settings, "time.max_steps=60", "checkpoint.at_end=true")
    succeed(3, case, three, *settings, "restart.file=latest")
    curves, others = (breakthrough(run / "breakthrough.csv") for run in (one, three))
    assert list(curves) == ["near", "far"]
    tracer = last_fields(one)["total_Tracer"].ravel()
    for region, first in (("near", 50), ("far", 100)):
        curve = curves[region]
        np.testing.assert_allclose(others[region], curve, rtol=0, atol=1e-9)
        assert curve[-1] == pytest.approx([1.4, tracer[first : first + 2].mean()], rel=1e-12)
        at = 0.01 * (first + 1)
        exact = [ogata_banks(at, t, 1, 0.1 + 0.005 + 0.0025) for t in curve[:, 0]]
        np.testing.assert_allclose(curve[:, 1], exact, rtol=0, atol=0.01)
    page = render(load_run(one))
    assert "Breakthrough of Tracer" in page


@pytest.mark.parametrize(
    ("names", "regions", "message"),
    [
        ('["fra"]', OBSERVED[2], "transport.observe: `fra` is not a region; did you mean `far`?"),
        ('["a"]', '[{name = "a", from = [1, 0, 0], to = [1, 0.1, 1]}]', "region `a` has no cell"),
        ('[""]', OBSERVED[2], "transport.observe: a region needs a name"),
    ],
)
def test_bad_observation_points(run: Path, names: str, regions: str, message: str) -> None:
    """The region and the key are named."""
    settings = (f"grid.regions={regions}", f"transport.observe={names}")
    assert message in refused(start(2, CASES / "ogata_banks.toml", run, *settings))


PATCHY = (
    "grid.nx=40",
    "grid.ny=12",
    "heterogeneity.kind=lognormal",
    "heterogeneity.correlation=[0.4, 0.2, 1.0]",
    "transport.dispersivity=0",
    "time.step=0.05",
    "time.end=1.0",
)


def test_limited_advection_in_patchy_ground(tmp_path: Path) -> None:
    """Within the waters' range, balanced, a narrower front than upwind, the same on 3 ranks."""
    fields = {}
    for scheme, ranks in (("upwind", 1), ("limited", 1), ("limited", 3)):
        run = tmp_path / f"{scheme}{ranks}"
        settings = (*PATCHY, f"transport.advection={scheme}")
        summary = succeed(ranks, CASES / "ogata_banks.toml", run, *settings)
        assert summary["worst_relative_species_balance"] < 1e-11
        assert summary["steps"] == 21  # with the steady flow; none had to be cut
        fields[run.name] = last_fields(run)["total_Tracer"]
    limited = fields["limited1"]
    assert limited.min() >= 0
    assert limited.max() <= 1 + 1e-12
    np.testing.assert_allclose(fields["limited3"], limited, rtol=0, atol=1e-8)
    width = {name: np.mean((c > 0.05) & (c < 0.95)) for name, c in fields.items()}
    assert width["limited1"] < 0.8 * width["upwind1"]


def test_limited_advection_needs_species(run: Path) -> None:
    """Without them the key would do nothing."""
    done = start(2, CASES / "theis.toml", run, "transport.advection=limited")
    assert 'transport.advection = "limited" needs species' in refused(done)


def titles_of(run: Path) -> list[str]:
    """What the pictures of the last field file show, in their order."""
    with h5py.File(sorted((run / "fields").glob("*.h5"))[-1]) as file:
        return [title(file[name]) for name in shown_names(file)]


def test_g11_dissolution_front(run: Path) -> None:
    """The calcite is gone up to 45.72 m after 25 years, the water behind is saturated (G10)."""
    summary = succeed(2, CASES / "calcite.toml", run)
    fields = last_fields(run)
    calcite = fields["Calcite_volume_fraction"].ravel()
    assert 100 * np.mean(calcite < 0.5e-5) == pytest.approx(45.72, abs=1.0)
    assert fields["total_Ca++"].ravel()[48] == pytest.approx(9.2918e-4, rel=1e-3)
    assert calcite.min() == 0
    assert '<section id="ground">' in render(load_run(run))  # profiles along the one axis
    # Rounding of 1e-13 in each linear solve.
    assert summary["worst_relative_species_balance"] < 1e-11


def test_plume_in_heterogeneous_ground(run: Path) -> None:
    """Acid water takes the calcite from where it flows, and nothing gets lost."""
    summary = succeed(2, CASES / "plume.toml", run, "grid.nx=32", "grid.nz=16", "time.end=1e8")
    fields = last_fields(run)
    gone = fields["Calcite_volume_fraction"][:, 0, :] < 1e-7
    assert gone[6:10, 0].any()  # z from 9 to 15 m
    assert not gone[:5].any()
    assert not gone[11:].any()
    assert summary["worst_relative_species_balance"] < 1e-11
    page = render(load_run(run))
    assert '<section id="ground">' in page
    for shown in ("conductivity [m/s]", "pH", "Calcite volume fraction"):
        assert shown in titles_of(run)
    assert "worst balance of species" in page


def benchmark_case(folder: Path) -> Path:
    """The 20-cell column of the ASCEM benchmark 1d-calcite."""
    text = (CASES / "calcite.toml").read_text()
    text = text.replace("3.168808781402895e-8", "7.927448e-9")
    text = text.replace("../chemistry", str(CASES.parent / "chemistry"))
    path = folder / "benchmark.toml"
    path.write_text(text)
    return path


def test_g12_benchmark_column(tmp_path: Path) -> None:
    """After 50 years within 2 % of published cells, whose steps are others."""
    settings = ("grid.nx=20", "time.end=1.57788e9", "time.max_step=3.1e6")
    succeed(1, benchmark_case(tmp_path), tmp_path / "run", *settings)
    fields = last_fields(tmp_path / "run")
    ph = fields["pH"].ravel()[[0, 5, 10, 15]]
    np.testing.assert_allclose(ph, [5.00319904, 7.76448069, 7.88795659, 8.00027830], rtol=3e-3)
    assert fields["total_Ca++"].ravel()[5] == pytest.approx(9.00809623e-4, rel=2e-2)


SHORT = ("grid.nx=25", "time.end=8e7", "output.servers=none")


def test_ranks_agree(tmp_path: Path) -> None:
    """The same species on 1 to 4 ranks."""
    succeed(1, CASES / "calcite.toml", tmp_path / "run1", *SHORT)
    one = last_fields(tmp_path / "run1")
    for ranks in (2, 3, 4):
        run = tmp_path / f"run{ranks}"
        succeed(ranks, CASES / "calcite.toml", run, *SHORT)
        for name, field in last_fields(run).items():
            np.testing.assert_allclose(field, one[name], rtol=1e-8, atol=1e-14, err_msg=name)


def test_restart_goes_on(tmp_path: Path) -> None:
    """In two parts on 2 and 3 ranks as in one."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    case = CASES / "calcite.toml"
    succeed(2, case, whole, *SHORT)
    succeed(2, case, parts, *SHORT, "time.max_steps=12", "checkpoint.at_end=true")
    succeed(3, case, parts, *SHORT, "restart.file=latest")
    assert start(1, whole / "case.toml", tmp_path / "again", "time.max_steps=1").returncode == 0
    expected = last_fields(whole)
    for name, field in last_fields(parts).items():
        np.testing.assert_allclose(field, expected[name], rtol=1e-7, atol=1e-14, err_msg=name)


MARKED = """
[chemistry]
file = "{chemistry}"
initial = "marked"
[[chemistry.waters]]
name = "marked"
conditions = ["Tracer total 1e-3"]
"""


def test_a_constant_stays_constant(tmp_path: Path) -> None:
    """Flow and transport agree on the water: in a column that fills nothing is made or lost."""
    case = tmp_path / "column.toml"
    chemistry = CASES.parent / "chemistry/tracer.toml"
    case.write_text((CASES / "celia.toml").read_text() + MARKED.format(chemistry=chemistry))
    succeed(2, case, tmp_path / "run", "grid.nz=50", "time.end=7200", "time.max_step=600")
    tracer = last_fields(tmp_path / "run")["total_Tracer"]
    np.testing.assert_allclose(tracer, 1e-3, rtol=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Ca++ charge", "Ca+ charge", "`Ca+` is not a primary species; did you mean `Ca++`?"),
        ('"H+ pH 5", ', "", "there is no condition for `H+`"),
        ('water = "inlet"', 'water = "inlett"', "`inlett` is not a water; did you mean `inlet`?"),
        (
            'name = "Calcite"',
            'name = "Calcit"',
            "`Calcit` is not a mineral; did you mean `Calcite`?",
        ),
        ("total 1e-3", "totl 1e-3", "second word must be pH, total, free, charge, mineral or gas"),
        ("../chemistry/calcite.toml", "missing.toml", "missing.toml"),
    ],
)
def test_bad_chemistry_is_one_clear_message(
    tmp_path: Path, run: Path, old: str, new: str, message: str
) -> None:
    """One line that names the input and what would be right."""
    text = (CASES / "calcite.toml").read_text()
    assert old in text
    text = text.replace(old, new).replace("../chemistry", str(CASES.parent / "chemistry"))
    case = tmp_path / "bad.toml"
    case.write_text(text)
    assert message in refused(start(2, case, run))
