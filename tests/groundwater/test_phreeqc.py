# SPDX-License-Identifier: BSD-3-Clause
"""Speciation and equilibrium beside PHREEQC, with the constants of our chemistry file.

PHREEQC gets its data base from `chemistry/calcite.toml`, in its own format, with the same
equation for activities, so what differs is how the equations are solved.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import h5py
import pytest
from groundwater_program import CASES, last_fields, needs_program, succeed

phreeqc = pytest.importorskip(
    "phreeqpy.iphreeqc.phreeqc_dll",
    reason="phreeqpy is not installed; `pip install tailrace[cross-check]` brings it",
)

pytestmark = needs_program

CHEMISTRY = CASES.parent / "chemistry/calcite.toml"
# The reaction of each complex in PHREEQC's words; OUR log K is that of the reverse reaction.
REACTIONS = {
    "OH-": "H2O = OH- + H+",
    "CO3--": "HCO3- = CO3-2 + H+",
    "CO2(aq)": "HCO3- + H+ = CO2 + H2O",
    "CaCO3(aq)": "Ca+2 + HCO3- = CaCO3 + H+",
    "CaHCO3+": "Ca+2 + HCO3- = CaHCO3+",
    "CaOH+": "Ca+2 + H2O = CaOH+ + H+",
}
PRIMARY = {"H+": "H+", "HCO3-": "HCO3-", "Ca++": "Ca+2"}
# A, B and the linear term as of Chemistry, at all temperatures.
HEAD = """
LLNL_AQUEOUS_MODEL_PARAMETERS
-temperatures
 0 25 60 100
-dh_a
 0.5114 0.5114 0.5114 0.5114
-dh_b
 0.3288 0.3288 0.3288 0.3288
-bdot
 0.0410 0.0410 0.0410 0.0410
-co2_coefs
 0 0 0 0 0
SOLUTION_MASTER_SPECIES
H H+ -1 H 1.008
H(0) H2 0 H
H(1) H+ -1 0
E e- 1 0 0
O H2O 0 O 16
O(0) O2 0 O
O(-2) H2O 0 0
Ca Ca+2 0 Ca 40.08
C HCO3- 1 HCO3 12.011
C(4) HCO3- 1 HCO3
SOLUTION_SPECIES
e- = e-
 log_k 0
H2O = H2O
 log_k 0
2 H2O = O2 + 4 H+ + 4 e-
 log_k -85.98
2 H+ + 2 e- = H2
 log_k -3.1
"""


def species(equation: str, log_k: float, size: float) -> str:
    """Return a species' lines; one without a charge has an activity coefficient of 1."""
    gamma = f"-llnl_gamma {size}" if size > 0 else "-gamma 1e5 0"
    return f"{equation}\n log_k {log_k}\n {gamma}\n"


def data_base(ours: dict[str, Any]) -> str:
    """Return our chemistry file as a data base of PHREEQC."""
    text = HEAD
    for one in ours["primary"]:
        name = PRIMARY[one["name"]]
        text += species(f"{name} = {name}", 0, one["size"])
    for one in ours["complex"]:
        text += species(REACTIONS[one["name"]], -one["log_k"], one.get("size", 0))
    calcite = ours["mineral"][0]
    reaction = "CaCO3 + H+ = Ca+2 + HCO3-"
    return f"{text}PHASES\nCalcite\n {reaction}\n log_k {calcite['log_k']}\nEND\n"


def by_phreeqc(solution: str) -> dict[str, float]:
    """Return pH and totals [mol/L] of a solution's last state."""
    ours = tomllib.loads(CHEMISTRY.read_text())["chemistry"]
    solver = phreeqc.IPhreeqc()
    solver.load_database_string(data_base(ours))
    assert solver.phc_database_error_count == 0, solver.get_error_string()
    wanted = "SELECTED_OUTPUT\n -reset false\n -high_precision\n -pH\n -totals Ca C\n"
    solver.run_string(f"{wanted}{solution}\nEND\n")
    heads, *_, last = solver.get_selected_output_array()
    density = ours["water_density"]
    found = dict(zip(heads, last, strict=True))
    scale = {"pH": 1.0, "Ca(mol/kgw)": density, "C(mol/kgw)": density}
    return {key: float(found[key]) * factor for key, factor in scale.items()}


GROUND = """
[case]
name = "cell"
[[flow.materials]]
name = "ground"
conductivity = [1e-5]
porosity = 0.5
[chemistry]
file = "{chemistry}"
initial = "water"
[[chemistry.waters]]
name = "water"
conditions = {conditions}
{minerals}
[output]
fields = ["head"]
"""
INLET = ("H+ pH 5", "HCO3- total 1e-3", "Ca++ charge")
PER_KG = 1e-3 / 0.9971604
BY_CALCITE = ("H+ pH 8", "HCO3- mineral Calcite", "Ca++ charge")


@pytest.mark.parametrize(
    ("conditions", "solution", "equilibrate"),
    [
        (INLET, f"SOLUTION 1\n units mol/kgw\n pH 5\n C(4) {PER_KG}\n Ca 1e-4 charge", False),
        (
            BY_CALCITE,
            "SOLUTION 1\n units mol/kgw\n pH 8\n C(4) 1e-3 Calcite 0\n Ca 1e-3 charge",
            False,
        ),
        (
            INLET,
            f"SOLUTION 1\n units mol/kgw\n pH 5\n C(4) {PER_KG}\n Ca 1e-4 charge\n"
            "EQUILIBRIUM_PHASES 1\n Calcite 0 1",
            True,
        ),
    ],
    ids=["inlet", "by a mineral", "calcite dissolves"],
)
def test_waters_as_of_phreeqc(
    tmp_path: Path, conditions: tuple[str, ...], solution: str, equilibrate: bool
) -> None:
    """PH to 1e-4 and totals to 1e-4: the activity of water, is 1 here, 0.99995 in PHREEQC."""
    minerals = '[[chemistry.minerals]]\nname = "Calcite"\nvolume_fraction = 0.01\n'
    case, run = tmp_path / "cell.toml", tmp_path / "run"
    case.write_text(
        GROUND.format(
            chemistry=CHEMISTRY,
            conditions=list(conditions),
            minerals=minerals if equilibrate else "",
        )
    )
    succeed(1, case, run, *(["time.step=1e4", "time.end=1e9"] if equilibrate else []))
    if equilibrate:
        fields = last_fields(run)
    else:
        with h5py.File(min((run / "fields").glob("*.h5"))) as file:
            fields = {name: file[name][()] for name in ("pH", "total_Ca++", "total_HCO3-")}
    expected = by_phreeqc(solution)
    assert fields["pH"].item() == pytest.approx(expected["pH"], abs=1e-4)
    assert fields["total_Ca++"].item() == pytest.approx(expected["Ca(mol/kgw)"], rel=1e-4)
    assert fields["total_HCO3-"].item() == pytest.approx(expected["C(mol/kgw)"], rel=1e-4)
