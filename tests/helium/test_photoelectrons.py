# SPDX-License-Identifier: BSD-3-Clause
"""Spectra of electrons from checkpoints: `tailrace.apps.helium.photoelectrons`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helium_program import BUILD, ENVIRONMENT, needs_program, observables, succeed

from tailrace.apps.helium import cross_section as helium_cross_section
from tailrace.apps.helium.cross_section import published
from tailrace.apps.helium.photoelectrons import coulomb_waves, ion_states, read_wave, spectra

ENERGIES = np.arange(0.02, 5.0, 0.02)
ROOM = ("grid.points=110", "atom.lmax=1", "pulse.cycles=[5]", "pulse.intensity=[1e12]")


def test_without_charge_waves_are_sines() -> None:
    energies = np.array([0.3, 1.0, 2.5])
    k = np.sqrt(2 * energies)
    r = 0.2 * np.arange(1, 101)
    expected = np.sqrt(2 / (np.pi * k)) * np.sin(np.outer(r, k)) * np.sqrt(0.2)
    assert coulomb_waves(0.0, 0.2, 100, 0, energies) == pytest.approx(expected, abs=1e-6)


def test_states_of_the_ion_are_orthogonal() -> None:
    for momentum in (0, 1, 2):
        states = ion_states(2.0, 0.1, 400, momentum)
        assert states.T @ states == pytest.approx(np.eye(3), abs=1e-4)


@needs_program
def test_one_photon_gives_its_energy_to_one_electron(tmp_path: Path) -> None:
    summary = succeed(1, tmp_path, *ROOM, "checkpoint.at_end=true", "time.after=3")
    wave = read_wave(max(tmp_path.glob("checkpoint_*.h5")))
    assert (np.abs(wave.values) ** 2).sum() == pytest.approx(summary["norm"], abs=1e-10)
    found = spectra(wave, ENERGIES)
    assert found.single_yield == pytest.approx(summary["left_ground"], rel=0.02)
    assert found.double_yield < 1e-3 * found.single_yield
    first, *_, last = observables(tmp_path)
    absorbed = (last["energy"] - first["energy"]) / (1 - last["ground"])
    mean = np.trapezoid(found.single * found.energies, found.energies) / found.single_yield
    assert mean == pytest.approx(absorbed + first["energy"] + 2, rel=0.02)
    k, per_k = found.momentum
    assert np.trapezoid(per_k, k) == pytest.approx(found.single_yield, rel=1e-3)


@needs_program
def test_the_command_writes_a_table(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tailrace.apps.helium.photoelectrons", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "checkpoint.at_end=true" in done.stderr
    succeed(1, tmp_path / "run", "time.max_steps=2", "checkpoint.at_end=true")
    command[-1] = str(tmp_path / "run")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "run" / "photoelectrons.csv").read_text().splitlines()
    assert lines[0].startswith("energy_ev,single_per_ev,double_per_ev,momentum")
    assert len(lines) > 100


def test_the_published_fit_is_that_of_the_paper() -> None:
    assert published(np.array([40.82, 149.7])) == pytest.approx([3.072, 0.1330], rel=2e-3)


def test_photon_energies_below_the_threshold_are_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tailrace.apps.helium.cross_section", str(tmp_path), "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "above 24.58" in done.stderr


@needs_program
def test_a_cross_section_is_that_of_the_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TAILRACE_BIN_DIR", str(BUILD))
    monkeypatch.setattr(helium_cross_section, "SETTINGS", ["grid.points=100", "output.every=0"])
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path), "45"])
    assert helium_cross_section.main() == 0
    energy, ours, fit = np.loadtxt(tmp_path / "cross_section.csv", delimiter=",", skiprows=1)
    assert energy == 45
    assert ours == pytest.approx(fit, rel=0.03)
    assert (tmp_path / "cross_section.png").stat().st_size > 10000
