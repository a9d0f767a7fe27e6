# SPDX-License-Identifier: BSD-3-Clause
"""Flow against solutions in closed form: G1 to G4, G7 and G8 of docs/applications.md."""

from __future__ import annotations

import math
from pathlib import Path

import h5py
import numpy as np
import pytest
from groundwater_program import CASES, balance, last_fields, needs_program, succeed

pytestmark = needs_program


def test_g1_layers_in_series(run: Path) -> None:
    """The rate is that of the harmonic mean: the two-point flux is exact."""
    summary = succeed(2, CASES / "layers.toml", run)
    assert summary["rates_m3_per_s"]["left"] == pytest.approx(1 / 500.5, rel=1e-9)
    assert summary["rates_m3_per_s"]["right"] == pytest.approx(-1 / 500.5, rel=1e-9)


def test_g2_heterogeneous_ground(run: Path) -> None:
    """What comes in goes out, and the effective conductivity keeps Wiener's bounds."""
    summary = succeed(
        2, CASES / "heterogeneous.toml", run, "grid.nx=12", "grid.ny=12", "grid.nz=12"
    )
    rates = summary["rates_m3_per_s"]
    assert rates["left"] + rates["right"] == pytest.approx(0, abs=1e-9 * rates["left"])
    conductivity = last_fields(run)["conductivity"]
    harmonic, arithmetic = 1 / np.mean(1 / conductivity), np.mean(conductivity)
    assert harmonic <= rates["left"] <= arithmetic
    assert arithmetic / harmonic > 1.5  # so that the bounds say something


SMOOTH = """
[grid]
nx = {n}
[flow]
gravity = false
steady = true
[[flow.materials]]
name = "ground"
conductivity = [1.0]
[[flow.boundaries]]
name = "left"
face = "x_min"
values = [0.0]
[[flow.boundaries]]
name = "right"
face = "x_max"
values = [1.0]
[heterogeneity]
kind = "file"
file = "{file}"
dataset = "factor"
[output]
fields = ["head", "conductivity"]
"""


def test_g3_smooth_conductivity_is_of_second_order(tmp_path: Path) -> None:
    """K = exp(2 x): h = (1 - exp(-2 x)) / (1 - exp(-2)); the conductivity is read from a file."""
    errors = []
    for n in (10, 20, 40):
        x = (np.arange(n) + 0.5) / n
        with h5py.File(tmp_path / f"k{n}.h5", "w") as file:
            file["factor"] = np.exp(2 * x).reshape(1, 1, n)
        case = tmp_path / f"smooth{n}.toml"
        case.write_text(SMOOTH.format(n=n, file=tmp_path / f"k{n}.h5"))
        succeed(1, case, tmp_path / f"run{n}")
        exact = (1 - np.exp(-2 * x)) / (1 - math.exp(-2))
        errors.append(np.abs(last_fields(tmp_path / f"run{n}")["head"].ravel() - exact).max())
    slopes = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all((slopes > 1.9) & (slopes < 2.1)), slopes


def well_function(u: float) -> float:
    """E1(u) by its series."""
    total, term = -0.5772156649015329 - math.log(u), -1.0
    for k in range(1, 60):
        term *= -u / k
        total += term / k
    return total


def test_well_function_by_published_values() -> None:
    """W(0.01), W(0.1), W(1)."""
    assert well_function(0.01) == pytest.approx(4.037930, abs=1e-6)
    assert well_function(0.1) == pytest.approx(1.822924, abs=1e-6)
    assert well_function(1.0) == pytest.approx(0.219384, abs=1e-6)


def test_g4_theis(run: Path) -> None:
    """Drawdown around a pumped well, 1 % from 5 to 20 cells away."""
    succeed(2, CASES / "theis.toml", run)
    fields = last_fields(run)
    drawdown = -fields["head"][0]
    x, y = np.meshgrid(fields["x"] - 1010, fields["y"] - 1010)
    radius = np.hypot(x, y)
    ring = (radius >= 100) & (radius <= 400)
    exact = np.array([well_function(r * r * 1e-4 / (4e-3 * 3600)) for r in radius[ring]])
    exact *= 1e-2 / (4 * math.pi * 1e-3)
    error = np.abs(drawdown[ring] / exact - 1)
    # Beyond 300 m less than 0.15 m is drawn down: there the error is compared with that at 100 m.
    assert np.abs(drawdown[ring] - exact).max() < 0.01 * exact.max()
    assert error[radius[ring] <= 250].max() < 0.01
    for line in balance(run):
        assert line["relative_error"] < 1e-10


GARDNER = """
[grid]
nx = {n}
ny = {n}
nz = {n}
{regions}
[flow]
steady = true
mobility = "central"
initial = "pressure_head"
initial_value = -1.0
[[flow.materials]]
name = "ground"
conductivity = [1.0]
curve = "gardner"
alpha = 1.0
{boundaries}
[time]
step = 0.1
end = 1e6
[output]
fields = ["pressure_head"]
"""


def gardner_case(n: int) -> str:
    """The unit cube, h = -1 on all faces but the top, where h follows sin sin."""
    regions, boundaries = "", ""
    for face in ("x_min", "x_max", "y_min", "y_max", "z_min"):
        boundaries += (
            f'[[flow.boundaries]]\nname = "{face}"\nface = "{face}"\n'
            'type = "pressure_head"\nvalues = [-1.0]\n'
        )
    least = math.exp(-1)
    for j in range(n):
        for i in range(n):
            name = f"top_{j}_{i}"
            regions += (
                f'[[grid.regions]]\nname = "{name}"\nfrom = [{i / n}, {j / n}, 0]\n'
                f"to = [{(i + 1) / n}, {(j + 1) / n}, 1]\n"
            )
            wave = math.sin(math.pi * (i + 0.5) / n) * math.sin(math.pi * (j + 0.5) / n)
            h = math.log(least + (1 - least) * wave)
            boundaries += (
                f'[[flow.boundaries]]\nname = "{name}"\nface = "z_max"\nregion = "{name}"\n'
                f'type = "pressure_head"\nvalues = [{h!r}]\n'
            )
    return GARDNER.format(n=n, regions=regions, boundaries=boundaries)


def gardner_error(n: int, ranks: int, folder: Path) -> float:
    """Root mean square error of exp(h) over the cells."""
    case = folder / f"gardner{n}.toml"
    case.write_text(gardner_case(n))
    succeed(ranks, case, folder / f"run{n}")
    at = (np.arange(n) + 0.5) / n
    z, y, x = np.meshgrid(at, at, at, indexing="ij")
    least, beta = math.exp(-1), math.sqrt(0.25 + 2 * math.pi**2)
    exact = least + (1 - least) * np.exp((1 - z) / 2) * np.sin(math.pi * x) * np.sin(
        math.pi * y
    ) * np.sinh(beta * z) / math.sinh(beta)
    found = np.exp(last_fields(folder / f"run{n}")["pressure_head"])
    return float(np.sqrt(np.mean((found - exact) ** 2)))


def test_g7_unsaturated_flow_in_three_dimensions(tmp_path: Path) -> None:
    """Tracy's solution of Richards' equation: errors fall with the square of the cell."""
    errors = [gardner_error(n, 2, tmp_path) for n in (6, 12, 24)]
    slopes = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(slopes > 1.7), (errors, slopes)
    assert slopes[-1] < 2.3


def depth_of(h: np.ndarray, z: np.ndarray, value: float) -> float:
    """Depth below the top [cm] where the pressure head [m] is `value`."""
    return 100 * (1 - float(np.interp(-value, -h[::-1], z[::-1])))


def test_g8_infiltration_into_a_dry_column(run: Path) -> None:
    """Celia, Bouloutas and Zarba (1990), 400 cells, 24 h."""
    succeed(2, CASES / "celia.toml", run)
    fields = last_fields(run)
    h, z = fields["pressure_head"].ravel(), fields["z"]
    assert depth_of(h, z, -5.0) == pytest.approx(56.5, abs=0.5)
    assert depth_of(h, z, -1.0) == pytest.approx(39.8, abs=0.5)
    lines = balance(run)
    gain = 100 * sum(line["storage"] * line["dt"] for line in lines)
    assert gain == pytest.approx(4.1155, abs=0.01)
    assert max(line["relative_error"] for line in lines) < 1e-8
