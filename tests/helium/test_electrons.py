# SPDX-License-Identifier: BSD-3-Clause
"""Populations and distributions of the electrons that servers make of the wave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray
from helium_program import needs_program, observables, succeed

from tailrace.apps.helium.photoelectrons import read_wave, spectra
from tailrace.apps.helium.report import sections
from tailrace.runs.folder import Run, load_run

pytestmark = needs_program

COLUMNS = ("norm", "ground", "single_outside", "double_outside", "edge_l", "edge_total_l", "edge_r")
SETTINGS = ("electrons.every=10", "electrons.energies=40", "electrons.largest_energy=4")


def files_of(run: Path) -> list[Path]:
    return sorted((run / "electrons").glob("photon_*.h5"))


def numbers(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file."""
    with h5py.File(path) as file:
        return {name: item[()] for name, item in file.items() if isinstance(item, h5py.Dataset)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A run on two ranks, one of which has a server thread."""
    run = tmp_path_factory.mktemp("electrons") / "run"
    more = ("output.servers=thread", "checkpoint.every=10", "checkpoint.at_end=true")
    summary = succeed(2, run, *SETTINGS, *more)
    return run, summary


def test_servers_find_what_the_ranks_observe(whole: tuple[Path, dict[str, Any]]) -> None:
    run, summary = whole
    lines = {line["step"]: line for line in observables(run)}
    steps = [int(path.stem[-6:]) for path in files_of(run)]
    assert steps[:3] == [0, 10, 20] and steps[-1] == summary["steps"]
    for step, path in zip(steps, files_of(run), strict=True):
        found, line = numbers(path), lines[step]
        assert found["time"] == pytest.approx([line["time"]])
        for column in COLUMNS:
            assert found[column] == pytest.approx([line[column]], rel=1e-9, abs=1e-14), column
        assert found["population"].sum() == pytest.approx(line["norm"], rel=1e-12)
    both, one = summary["ionisation"]["both"], summary["ionisation"]["one_or_excited"]
    assert both > 1e-8
    assert found["double_ionisation"][0] == pytest.approx(both, rel=1e-6)
    assert found["one_or_excited"][0] == pytest.approx(one, rel=1e-9)
    assert 0 < found["ion"].sum() < one
    assert summary["electrons"]["complete"] == len(steps) + 1  # and the ground state
    assert summary["electrons"]["failed"] == 0


def test_distributions_are_those_of_the_checkpoint(whole: tuple[Path, dict[str, Any]]) -> None:
    run, _ = whole
    found = numbers(files_of(run)[-1])
    expected = spectra(read_wave(max(run.glob("checkpoint_*.h5"))), found["energy"])
    single, double = found["single_energy"][0, 1], found["double_energy"][0, 1]
    # The ion's states are the box's here, exact ones there; amplitudes are taken at other radii.
    assert single == pytest.approx(expected.single, abs=0.05 * expected.single.max())
    assert double == pytest.approx(expected.double, rel=1e-4, abs=1e-9 * expected.double.max())
    assert double == pytest.approx(double.T, rel=1e-9)
    k, per_k = expected.momentum
    assert found["momentum"] == pytest.approx(k)
    assert found["single_momentum"][0, 1] == pytest.approx(per_k, abs=0.05 * per_k.max())
    per_both = double * np.outer(k, k)
    assert found["double_momentum"][0, 1] == pytest.approx(per_both, rel=1e-12)


@pytest.mark.parametrize(
    ("ranks", "servers"), [(1, "none"), (4, "2"), (3, "1"), (1, "process"), (2, "process")]
)
def test_any_servers_find_the_same(
    whole: tuple[Path, dict[str, Any]], tmp_path: Path, ranks: int, servers: str
) -> None:
    succeed(ranks, tmp_path, *SETTINGS, f"output.servers={servers}")
    for ours, theirs in zip(files_of(whole[0]), files_of(tmp_path), strict=True):
        expected = numbers(theirs)
        for name, values in numbers(ours).items():
            assert values == pytest.approx(
                expected[name], rel=1e-6, abs=1e-11 * abs(values).max() + 1e-14
            ), name


def test_a_run_that_goes_on_knows_the_ground_state(
    whole: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    first = min(whole[0].glob("checkpoint_*.h5"))
    more = ("output.servers=thread", f"restart.file={first}")
    succeed(1, tmp_path, *SETTINGS, *more)
    found, expected = numbers(files_of(tmp_path)[-1]), numbers(files_of(whole[0])[-1])
    assert found["ground"] == pytest.approx(expected["ground"], rel=1e-9)


def test_the_page_shows_the_energies_of_electrons_that_have_left(
    whole: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    run, _ = whole
    shown = {section.name: section for section in sections(load_run(run))}
    time = numbers(files_of(run)[-1])["time"][0]
    assert f"t = {time:.1f} a.u." in shown["energies"].note
    assert len(shown["energies"].rows[0][1]) == 2
    assert "energies" not in {section.name for section in sections(Run(tmp_path))}


def test_xarray_puts_the_files_of_a_run_together(whole: tuple[Path, dict[str, Any]]) -> None:
    run, _ = whole
    parts = [xarray.load_dataset(path, engine="h5netcdf") for path in files_of(run)]
    data = xarray.concat(parts, "time", data_vars="minimal")
    assert data["population"].dims == ("time", "channel")
    assert data["single_energy"].dims == ("time", "total_l", "energy")
    assert data["single_energy"].attrs["units"] == "1 / hartree"
    assert data["momentum"].attrs["units"] == "hbar / bohr"
    assert data["ground"].attrs["long_name"] == "population of the ground state"
    assert data["channel_l1"].dims == ("channel",)
    assert np.all(np.diff(data["time"]) > 0)


def test_threads_of_hidden_output_make_the_same(
    whole: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    succeed(3, tmp_path / "run", *SETTINGS, "output.servers=hidden")
    expected = files_of(whole[0])
    found = files_of(tmp_path / "run")
    assert [path.name for path in found] == [path.name for path in expected]
    for path, other in zip(found, expected, strict=True):
        values, right = numbers(path), numbers(other)
        for name in COLUMNS:
            assert values[name] == pytest.approx(right[name], rel=1e-9, abs=1e-14), name
