# SPDX-License-Identifier: BSD-3-Clause
"""Decays, one implicit system of transport and reactions, and solvers of PETSc."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from groundwater_program import CASES, last_fields, needs_program, refused, start, succeed

pytestmark = needs_program


def case_of(folder: Path, chemistry: str, waters: str, initial: str) -> Path:
    """The column of Ogata and Banks with another chemistry; 1 m/s, 4 m."""
    (folder / "chemistry.toml").write_text(chemistry)
    text = (CASES / "ogata_banks.toml").read_text()
    text = text[: text.index("[[chemistry.waters]]")] + waters + text[text.index("[time]") :]
    text = text.replace("../chemistry/tracer.toml", "chemistry.toml")
    text = text.replace('initial = "clean"', f'initial = "{initial}"')
    path = folder / "case.toml"
    path.write_text(text)
    return path


CHAIN = """
[chemistry]
activities = false
water_density = 1.0
[[chemistry.primary]]
name = "A"
[[chemistry.primary]]
name = "B"
[[chemistry.primary]]
name = "C"
[[chemistry.decay]]
species = "A"
rate = 0.8
products = "B"
[[chemistry.decay]]
species = "B"
half_life = 1.3862943611198906  # a rate of 0.5
products = "C"
"""
CHAIN_WATERS = """
[[chemistry.waters]]
name = "clean"
conditions = ["A total 1e-12", "B total 1e-12", "C total 1e-12"]
[[chemistry.waters]]
name = "marked"
conditions = ["A total 1e-3", "B total 1e-12", "C total 1e-12"]
"""


@pytest.mark.parametrize("coupling", ["split", "implicit"])
def test_g6_decay_chain_in_uniform_flow(tmp_path: Path, coupling: str) -> None:
    """What flows on follows Bateman's equations, to first order in step and width."""
    case = case_of(tmp_path, CHAIN, CHAIN_WATERS, "clean")
    errors = []
    for cells in (50, 100):
        run = tmp_path / f"run{cells}"
        settings = (
            f"grid.nx={cells}",
            f"time.step={2 / cells}",
            "time.end=12",
            "transport.dispersivity=0",
            f"transport.coupling={coupling}",
        )
        summary = succeed(2, case, run, *settings)
        assert summary["worst_relative_species_balance"] < 1e-10
        fields = last_fields(run)
        t = fields["x"] / 1.0
        a = 1e-3 * np.exp(-0.8 * t)
        b = 1e-3 * 0.8 / (0.5 - 0.8) * (np.exp(-0.8 * t) - np.exp(-0.5 * t))
        exact = {"A": a, "B": b, "C": 1e-3 - a - b}
        found = {name: fields[f"total_{name}"].ravel() for name in exact}
        np.testing.assert_allclose(sum(found.values()), 1e-3, rtol=1e-7)
        errors.append(max(np.abs(found[name] - exact[name]).max() for name in exact))
    assert errors[1] < 4e-5
    assert errors[0] / errors[1] == pytest.approx(2, abs=0.25)


SORBED = """
[chemistry]
activities = false
water_density = 1.0
[[chemistry.primary]]
name = "Tracer"
[[chemistry.decay]]
species = "Tracer"
rate = 0.16
[[chemistry.site]]
name = "X"
density = 1e6
[[chemistry.surface]]
name = "XTracer"
site = "X"
formula = "Tracer"
log_k = 3.9030899869919435  # bound = density / K m: as 0.25 of what is in the water
"""
SORBED_WATERS = """
[[chemistry.waters]]
name = "clean"
conditions = ["Tracer total 1e-15"]
[[chemistry.waters]]
name = "marked"
conditions = ["Tracer total 1e-3"]
"""


@pytest.mark.parametrize("coupling", ["split", "implicit"])
def test_g5_with_sorption_and_decay(tmp_path: Path, coupling: str) -> None:
    """R = 1.25 and a decay of 0.16/s, of what is bound, too: 0.58697 at x = 1 m, t = 1.4 s."""
    r, rate, v, d, t = 1.25, 0.16, 1.0, 0.1, 1.4
    b = math.sqrt((v / r) ** 2 + 4 * rate * d / r)
    root = 2 * math.sqrt(d * t / r)
    exact = 0.5 * (
        math.exp((v / r - b) * r / (2 * d)) * math.erfc((1 - b * t) / root)
        + math.exp((v / r + b) * r / (2 * d)) * math.erfc((1 + b * t) / root)
    )
    assert exact == pytest.approx(0.5869728200, abs=1e-9)
    case = case_of(tmp_path, SORBED, SORBED_WATERS, "clean")
    found = []
    for cells in (200, 400):
        run = tmp_path / f"run{cells}"
        settings = (f"grid.nx={cells}", f"time.step={2 / cells}", f"transport.coupling={coupling}")
        assert succeed(2, case, run, *settings)["worst_relative_species_balance"] < 1e-10
        fields = last_fields(run)
        found.append(float(np.interp(1.0, fields["x"], fields["total_Tracer"].ravel())) / 1e-3)
    assert 2 * found[1] - found[0] == pytest.approx(exact, rel=2e-3)  # of first order


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('species = "A"', 'species = "D"', "decay of `D`: `D` is not a primary species"),
        ("rate = 0.8", "", "decay of `A`: give either rate or half_life"),
        (
            'products = "B"',
            'products = "Bb"',
            "decay of `A`: `Bb` is not a species; did you mean `B`",
        ),
    ],
)
def test_bad_decays(tmp_path: Path, old: str, new: str, message: str) -> None:
    """The decay is named."""
    case = case_of(tmp_path, CHAIN.replace(old, new), CHAIN_WATERS, "clean")
    assert message in refused(start(2, case, tmp_path / "run"))


CALCITE = ("grid.nx=50", "time.end=2e8", "output.servers=none")


def test_implicit_calcite(tmp_path: Path) -> None:
    """The plateau and the front of the split steps, on 1 to 3 ranks and in parts the same."""
    case = CASES / "calcite.toml"
    runs = {}
    for ranks in (1, 2, 3):
        run = tmp_path / f"run{ranks}"
        summary = succeed(ranks, case, run, *CALCITE, "transport.coupling=implicit")
        assert summary["worst_relative_species_balance"] < 1e-10
        assert summary["species"]["failed_steps"] == 0
        assert summary["species"]["newton"] >= summary["steps"] - 1
        runs[ranks] = last_fields(run)
    for ranks in (2, 3):
        for name, field in runs[ranks].items():
            np.testing.assert_allclose(field, runs[1][name], rtol=1e-7, atol=1e-13, err_msg=name)
    succeed(1, case, tmp_path / "split", *CALCITE)
    split = last_fields(tmp_path / "split")
    calcium = [fields["total_Ca++"].ravel() for fields in (runs[1], split)]
    assert calcium[0].max() == pytest.approx(9.2918e-4, rel=2e-2)
    np.testing.assert_allclose(calcium[0][8:], calcium[1][8:], rtol=1e-3)  # past the front
    gone = [np.mean(f["Calcite_volume_fraction"] < 0.5e-5) for f in (runs[1], split)]
    assert gone[0] == pytest.approx(gone[1], abs=0.02)
    parts = tmp_path / "parts"
    settings = (*CALCITE, "transport.coupling=implicit")
    succeed(2, case, parts, *settings, "time.max_steps=12", "checkpoint.at_end=true")
    succeed(3, case, parts, *settings, "restart.file=latest")
    for name, field in last_fields(parts).items():
        np.testing.assert_allclose(field, runs[1][name], rtol=1e-6, atol=1e-12, err_msg=name)


def test_implicit_uranium(tmp_path: Path) -> None:
    """With 15 species and sites of 50 rates: balanced; shorter steps bring both ways together."""
    apart = []
    for step in ("6e5", "1.5e5"):
        small = ("grid.nx=12", "grid.nz=8", "time.end=3e6", f"time.max_step={step}")
        fields = {}
        for coupling in ("split", "implicit"):
            run = tmp_path / f"{coupling}{step}"
            summary = succeed(
                2, CASES / "uranium.toml", run, *small, f"transport.coupling={coupling}"
            )
            assert summary["worst_relative_species_balance"] < 1e-9
            fields[coupling] = last_fields(run)
        uranium = [fields[coupling]["total_UO2++"] for coupling in ("split", "implicit")]
        apart.append(np.abs(uranium[1] - uranium[0]).max() / uranium[1].max())
        np.testing.assert_allclose(fields["implicit"]["pH"], fields["split"]["pH"], atol=0.05)
    assert apart[1] < 0.5 * apart[0]


@pytest.mark.parametrize(
    ("case", "setting", "message"),
    [
        ("theis", "transport.coupling=implicit", 'coupling = "implicit" needs species'),
        ("calcite", "linear.petsc=-ksp_type cg", "`linear.petsc` needs linear.library"),
    ],
)
def test_settings_that_do_not_go(run: Path, case: str, setting: str, message: str) -> None:
    """The key is named."""
    assert message in refused(start(2, CASES / f"{case}.toml", run, setting))


def test_limited_advection_is_not_implicit(run: Path) -> None:
    settings = ("transport.coupling=implicit", "transport.advection=limited")
    done = start(2, CASES / "calcite.toml", run, *settings)
    assert 'needs transport.advection = "upwind"' in refused(done)


@pytest.mark.parametrize(
    ("case", "settings"),
    [
        ("heterogeneous", ("grid.nx=16", "grid.ny=16", "grid.nz=16", "linear.tolerance=1e-10")),
        ("calcite", ("grid.nx=25", "time.end=8e7")),
        ("calcite", ("grid.nx=25", "time.end=8e7", "transport.coupling=implicit")),
    ],
)
def test_petsc_gives_the_same(tmp_path: Path, case: str, settings: tuple[str, ...]) -> None:
    """Of programs that have PETSc; the others say that they have not."""
    path = CASES / f"{case}.toml"
    run = tmp_path / "petsc"
    done = start(2, path, run, *settings, "linear.library=petsc")
    if done.returncode != 0 and "was built without PETSc" in done.stderr:
        assert 'linear.library = "petsc"' in refused(done)
        return
    assert done.returncode == 0, done.stderr
    succeed(2, path, tmp_path / "own", *settings)
    expected = last_fields(tmp_path / "own")
    for name, field in last_fields(run).items():
        np.testing.assert_allclose(field, expected[name], rtol=1e-6, atol=1e-12, err_msg=name)
