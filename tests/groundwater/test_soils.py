# SPDX-License-Identifier: BSD-3-Clause
"""Ten soils under five conditions, with steps from a second to a month.

A column of 1 m. Each run must end, in a bounded number of steps, with its water balance closed:
as the program reports it, and as the pressure heads written give it. Where a solution in closed
form exists, the run ends in it.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from groundwater_program import ENVIRONMENT, PROGRAM, balance, last_fields, needs_program, succeed

pytestmark = needs_program

NZ = 40
MONTH = 2592000.0


@dataclass(frozen=True)
class Soil:
    """Numbers of van Genuchten's curves: lengths in m, times in s."""

    residual: float  # water content
    porosity: float
    alpha: float
    n: float
    conductivity: float

    def contents(self, h: np.ndarray) -> np.ndarray:
        """Water content at pressure heads, without smoothing."""
        full = (1 + (self.alpha * np.maximum(-h, 0)) ** self.n) ** (1 / self.n - 1)
        return np.asarray(self.residual + (self.porosity - self.residual) * full)

    def mobility(self, h: np.ndarray) -> np.ndarray:
        """Conductivity as a part of the saturated one, without smoothing."""
        m = 1 - 1 / self.n
        x = (self.alpha * np.maximum(-h, 1e-300)) ** self.n
        return np.asarray((1 + x) ** (-m / 2) * (1 - (x / (1 + x)) ** m) ** 2)


def of_class(residual: float, porosity: float, alpha: float, n: float, k: float) -> Soil:
    """Return the soil of a line of the table, with alpha in 1/cm and k in cm/d."""
    return Soil(residual, porosity, 100 * alpha, n, k / 100 / 86400)


# Carsel and Parrish, Water Resources Research 24 (1988), the averages of each texture.
SOILS = {
    "sand": of_class(0.045, 0.43, 0.145, 2.68, 712.8),
    "loamy sand": of_class(0.057, 0.41, 0.124, 2.28, 350.2),
    "sandy loam": of_class(0.065, 0.41, 0.075, 1.89, 106.1),
    "loam": of_class(0.078, 0.43, 0.036, 1.56, 24.96),
    "silt": of_class(0.034, 0.46, 0.016, 1.37, 6.0),
    "sandy clay loam": of_class(0.1, 0.39, 0.059, 1.48, 31.44),
    "clay loam": of_class(0.095, 0.41, 0.019, 1.31, 6.24),
    "silty clay loam": of_class(0.089, 0.43, 0.010, 1.23, 1.68),
    "silty clay": of_class(0.07, 0.36, 0.005, 1.09, 0.48),
    "clay": of_class(0.068, 0.38, 0.008, 1.09, 4.8),
}


def boundary(name: str, face: str, kind: str, value: float | None = None) -> str:
    """Return a table of a case file."""
    values = "" if value is None else f"values = [{value!r}]\n"
    return f'[[flow.boundaries]]\nname = "{name}"\nface = "{face}"\ntype = "{kind}"\n{values}'


DRAIN = boundary("below", "z_min", "free_drainage")


def rain(part: float) -> Any:
    """Return what makes the boundaries of rain of a part of the saturated conductivity."""
    return lambda soil: boundary("rain", "z_max", "flux", part * soil.conductivity) + DRAIN


def rain_runs_off(soil: Soil) -> str:
    """Ten times the rain that the ground takes up, and a face on which it runs off."""
    return rain(10)(soil) + boundary("runoff", "z_max", "seepage")


# Boundaries, what is given at the start, its value [m].
CONDITIONS: dict[str, tuple[Any, str, float]] = {
    "rain": (rain(0.9), "pressure_head", -1.0),
    "runoff": (rain_runs_off, "pressure_head", -1.0),
    "ponded": (
        lambda _: boundary("pond", "z_max", "pressure_head", 0.05) + DRAIN,
        "pressure_head",
        -10.0,
    ),
    "drains": (lambda _: DRAIN, "pressure_head", 0.0),
    "rest": (lambda _: "", "head", 0.73),
}
MORE_CONDITIONS: dict[str, tuple[Any, str, float]] = {
    "rain of a tenth": (rain(0.1), "pressure_head", -1.0),
    "rain of all": (rain(1), "pressure_head", -1.0),
    "drains from above": (lambda _: DRAIN, "head", 1.0),
    "seeps": (lambda _: boundary("below", "z_min", "seepage"), "head", 1.0),
    "drains to a table": (lambda _: boundary("below", "z_min", "head", 0.3), "pressure_head", 0.0),
    "wets from a table": (lambda _: boundary("below", "z_min", "head", 0.3), "pressure_head", -9.0),
    "full at rest": (lambda _: "", "head", 1.3),
    "dry at rest": (lambda _: "", "head", -5.3),
}

CASE = """
[case]
name = "column"
[grid]
nz = {nz}
lz = 1.0
[flow]
initial = "{initial}"
initial_value = {value}
[[flow.materials]]
name = "soil"
conductivity = [{soil.conductivity!r}]
porosity = {soil.porosity}
residual = {residual!r}
storage = {storage}
curve = "van_genuchten"
alpha = {soil.alpha!r}
n = {soil.n}
{boundaries}
[time]
step = 1.0
max_step = {max_step}
growth = 2.0
end = {end!r}
max_steps = 2000
[output]
servers = "none"
every = 1000000
fields = ["pressure_head", "head"]
"""


def write_case(
    folder: Path, soil: Soil, condition: tuple[Any, str, float], storage: float = 0.0
) -> Path:
    """Write the case of a soil and a condition, long enough to become steady."""
    boundaries, initial, value = condition
    path = folder / "column.toml"
    path.write_text(
        CASE.format(
            nz=NZ,
            soil=soil,
            storage=storage,
            initial=initial,
            value=value,
            residual=soil.residual / soil.porosity,
            boundaries=boundaries(soil),
            max_step=MONTH,
            end=100 * soil.porosity / soil.conductivity,  # 6 days to 25 years
        )
    )
    return path


def column(folder: Path, case: Path, *settings: str) -> dict[str, Any]:
    """Run one rank without a launcher, which would take longer than the run."""
    line = [str(PROGRAM), str(case), "--run-dir", str(folder / "run")]
    for setting in settings:
        line += ["--set", setting]
    done = subprocess.run(
        line, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    summary: dict[str, Any] = json.loads((folder / "run/summary.json").read_text())
    return summary


def check_balance(run: Path, soil: Soil, condition: tuple[Any, str, float]) -> None:
    """The water that the heads show was gained came in through the boundaries."""
    lines = balance(run)
    assert max(line["relative_error"] for line in lines) < 1e-8
    names = [k for k in lines[0] if k in ("rain", "runoff", "pond", "below")]
    came = sum(line["dt"] * line[name] for line in lines for name in names)
    z = (np.arange(NZ) + 0.5) / NZ
    _, initial, value = condition
    start = np.full(NZ, value) if initial == "pressure_head" else value - z
    h = last_fields(run)["pressure_head"].ravel()
    gained = float(np.mean(soil.contents(h) - soil.contents(start)))
    # In the last millimetre of suction the program's curve is a straight line.
    smoothed = soil.porosity - float(soil.contents(np.array([-1e-3]))[0])
    assert gained == pytest.approx(came, abs=1e-6 + smoothed)


@pytest.mark.parametrize("name", SOILS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_ten_soils(tmp_path: Path, name: str, condition: str) -> None:
    """Fifty runs; the end is compared with the exact steady flow, the rest with the start."""
    soil = SOILS[name]
    case = write_case(tmp_path, soil, CONDITIONS[condition])
    summary = column(tmp_path, case)
    run = tmp_path / "run"
    assert summary["steps"] < 500, "the steps do not grow"
    check_balance(run, soil, CONDITIONS[condition])
    h = last_fields(run)["pressure_head"].ravel()
    rates = {k: v / soil.conductivity for k, v in summary["rates_m3_per_s"].items()}
    if condition == "rest":
        np.testing.assert_allclose(last_fields(run)["head"], 0.73, rtol=0, atol=1e-9)
        assert summary["steps"] < 30 + summary["time"] / MONTH
    elif condition == "rain":  # unit gradient: the same pressure head everywhere
        assert rates["below"] == pytest.approx(-0.9, rel=1e-6)
        assert np.ptp(h) < 1e-6
        inside = h < -1e-3
        np.testing.assert_allclose(soil.mobility(h[inside]), 0.9, rtol=1e-5)
        assert soil.mobility(np.array([-1e-3]))[0] < 0.9 or inside.all()
    elif condition == "runoff":  # a unit gradient below water that just covers the ground
        assert rates["below"] == pytest.approx(-1, rel=1e-6)
        assert rates["runoff"] == pytest.approx(-9, rel=1e-6)
        np.testing.assert_allclose(h, 0, rtol=0, atol=1e-6)
    elif condition == "ponded":
        assert rates["pond"] == pytest.approx(1, rel=1e-6)
        np.testing.assert_allclose(h, 0.05, rtol=0, atol=1e-6)
    else:
        outflow = [-line["below"] for line in balance(run)]
        assert outflow[0] == pytest.approx(soil.conductivity, rel=0.6)
        assert all(np.diff(outflow) <= 1e-9 * soil.conductivity)
        assert outflow[-1] < 0.02 * soil.conductivity


@pytest.mark.parametrize("name", ["sand", "loam", "clay"])
def test_a_restart_changes_nothing(tmp_path: Path, name: str) -> None:
    """A run in two parts ends as one in one part, bit by bit."""
    case = write_case(tmp_path, SOILS[name], CONDITIONS["rain"])
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    column(whole, case)
    column(parts, case, "time.max_steps=25", "checkpoint.at_end=true")
    column(parts, case, "restart.file=latest")
    for field in ("head", "pressure_head"):
        np.testing.assert_array_equal(
            last_fields(parts / "run")[field], last_fields(whole / "run")[field]
        )


@pytest.mark.slow
@pytest.mark.parametrize("storage", [0.0, 1e-4])
@pytest.mark.parametrize("name", SOILS)
@pytest.mark.parametrize("condition", CONDITIONS | MORE_CONDITIONS)
def test_more_conditions(tmp_path: Path, name: str, condition: str, storage: float) -> None:
    """Every run ends in few steps with its balance closed, with and without storage, on 2 ranks."""
    soil = SOILS[name]
    wanted = (CONDITIONS | MORE_CONDITIONS)[condition]
    case = write_case(tmp_path, soil, wanted, storage)
    run = tmp_path / "run"
    summary = succeed(2, case, run)
    assert summary["steps"] < 800, "the steps do not grow"
    assert max(line["relative_error"] for line in balance(run)) < 1e-8
    if storage == 0:
        check_balance(run, soil, wanted)
