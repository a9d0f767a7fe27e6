# SPDX-License-Identifier: BSD-3-Clause
"""H6 to H9 of docs/applications.md, by the program as its users run it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from helium_program import CASE, ENVIRONMENT, PROGRAM, needs_program, succeed

pytestmark = needs_program

# 40.82 eV, E0 = 0.02, 10 cycles; r up to 25, h = 0.156.
FINE = ("grid.points=160", "grid.step=0.15625", "pulse.photon_energy=[40.817]", "time.step=0.12")


def run_case(case: Path, run: Path, *settings: str) -> dict[str, Any]:
    """Runs a shipped case on two ranks and returns its summary."""
    line = ["mpirun", "-n", "2", str(PROGRAM), str(case), "--run-dir", str(run)]
    for setting in settings:
        line += ["--set", setting]
    done = subprocess.run(
        line, env=ENVIRONMENT, capture_output=True, text=True, timeout=1200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    summary: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return summary


def test_weak_fields_ionise_by_powers_of_the_intensity(tmp_path: Path) -> None:
    """H9: one photon (L = 1) as the intensity, two photons (L = 2) as its square."""
    found = []
    for intensity in (1e11, 4e11):
        found.append(
            succeed(
                1,
                tmp_path / f"{intensity:g}",
                f"pulse.intensity=[{intensity}]",
                "atom.total_lmax=2",
                "pulse.cycles=[4]",
                "ground.tolerance=1e-12",
            )
        )
    weak, strong = found
    assert strong["left_ground"] / weak["left_ground"] == pytest.approx(4, rel=1e-3)
    assert strong["edge_total_l"] / weak["edge_total_l"] == pytest.approx(16, rel=1e-3)


@pytest.mark.slow
def test_gauges_agree_and_the_cross_section_is_the_measured_one(tmp_path: Path) -> None:
    """H6: gauges within 0.4 %; H7: 3.072 Mb at 40.82 eV within 1 %."""
    found = {
        gauge: run_case(CASE, tmp_path / gauge, *FINE, f"pulse.gauge={gauge}", "output.every=0")
        for gauge in ("length", "velocity")
    }
    ratio = found["length"]["left_ground"] / found["velocity"]["left_ground"]
    assert ratio == pytest.approx(1, abs=0.004)
    for summary in found.values():
        assert summary["cross_section_mb"] == pytest.approx(3.072, rel=0.01)


@pytest.mark.slow
def test_one_photon_frees_both_electrons(tmp_path: Path) -> None:
    """H8: double over single ionisation at 149.7 eV is 2.5 to 4 %; H7: 0.1330 Mb within 5 %."""
    case = CASE.parent / "double_ionisation.toml"
    summary = run_case(case, tmp_path / "run", "output.every=0")
    both, one = summary["ionisation"]["both"], summary["ionisation"]["one_or_excited"]
    assert 0.025 < both / one < 0.04
    assert summary["cross_section_mb"] == pytest.approx(0.1330, rel=0.05)
