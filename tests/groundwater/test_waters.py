# SPDX-License-Identifier: BSD-3-Clause
"""Waters of a case: dilute ones, and those in equilibrium with a gas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from groundwater_program import CASES, last_fields, needs_program, refused, start, succeed

pytestmark = needs_program

CHEMISTRY = CASES.parent / "chemistry/calcite.toml"
CASE = """
[grid]
nx = 4
lx = 4.0
[flow]
gravity = false
[[flow.materials]]
name = "column"
conductivity = [1e-5]
[chemistry]
file = "{chemistry}"
initial = "water"
[[chemistry.waters]]
name = "water"
conditions = [{conditions}]
[time]
end = 1.0
[output]
servers = "none"
"""


def write_case(folder: Path, *conditions: str) -> Path:
    """Write the case of one water at rest."""
    case = folder / "water.toml"
    text = ", ".join(f'"{condition}"' for condition in conditions)
    case.write_text(CASE.format(chemistry=CHEMISTRY, conditions=text))
    return case


TRACE = ("HCO3- total 1e-15", "Ca++ total 1e-15")


@pytest.mark.parametrize(
    "conditions",
    [
        ("H+ pH 7", *TRACE),
        ("H+ pH 6.99", *TRACE),
        ("H+ charge", *TRACE),
        ("H+ pH 7", "HCO3- total 1e-9", "Ca++ total 5e-10"),
        ("H+ pH 5.65", "HCO3- gas CO2(g) -3.5", "Ca++ total 1e-15"),
    ],
)
def test_dilute_waters_are_balanced(run: Path, tmp_path: Path, conditions: tuple[str, ...]) -> None:
    """What remains is compared with the ions, of which water itself has 2e-7 mol/L."""
    succeed(1, write_case(tmp_path, *conditions), run)


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        (("H+ pH 6", *TRACE), "charges do not balance"),
        (("H+ pH 8", *TRACE), "charges do not balance"),
        (("H+ pH 7", "HCO3- total 1e-15", "Ca++ total 1e-6"), "charges do not balance"),
        (("H+ charge", "HCO3- gas CO3(g) -3.5", TRACE[1]), "did you mean `CO2(g)`?"),
        (("H+ charge", "HCO3- gas CO2(g)", TRACE[1]), "log10 of its partial pressure"),
    ],
)
def test_waters_that_are_refused(
    run: Path, tmp_path: Path, conditions: tuple[str, ...], message: str
) -> None:
    """One line that says what is wrong."""
    assert message in refused(start(1, write_case(tmp_path, *conditions), run))


@pytest.mark.parametrize("pressure", [-3.5, -2.0, -1.0])
def test_rain_in_equilibrium_with_carbon_dioxide(
    run: Path, tmp_path: Path, pressure: float
) -> None:
    """Pure water below CO2: [H+]^2 = K p, with K = 10^-7.8136, but for activities and OH-."""
    conditions = ("H+ charge", f"HCO3- gas CO2(g) {pressure}", "Ca++ total 1e-15")
    succeed(1, write_case(tmp_path, *conditions), run)
    fields = last_fields(run)
    np.testing.assert_allclose(fields["pH"], (7.8136 - pressure) / 2, atol=0.01)
