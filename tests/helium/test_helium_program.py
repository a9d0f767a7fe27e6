# SPDX-License-Identifier: BSD-3-Clause
"""The program `tailrace-helium`: files, restart, servers, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from helium_program import needs_program, observables, refused, start, succeed

from tailrace.apps.helium.report import cards, dipole_spectrum, sections
from tailrace.report.page import render
from tailrace.runs.folder import load_run

pytestmark = needs_program


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on one rank, with a checkpoint at step 25 and at its end."""
    run = tmp_path_factory.mktemp("whole") / "run"
    succeed(1, run, "checkpoint.every=25", "checkpoint.at_end=true")
    return run


def wave_of(run: Path) -> np.ndarray:
    """The last checkpoint's f, (channel, packed)."""
    with h5py.File(sorted(run.glob("checkpoint_*.h5"))[-1]) as file:
        return file["f_re"][:] + 1j * file["f_im"][:]


def test_a_checkpoint_is_read_in_ten_lines(whole: Path) -> None:
    path = sorted(whole.glob("checkpoint_*.h5"))[-1]
    with h5py.File(path) as file:
        n = int(file.attrs["grid.points"])
        packed = file["f_re"][:] + 1j * file["f_im"][:]
        l1, l2 = file["channel_l1"][:], file["channel_l2"][:]
    f = np.zeros((len(packed), n, n), complex)
    rows, columns = np.triu_indices(n)
    f[:, rows, columns] = packed
    for c in range(len(f)):
        mirror = next(m for m in range(len(f)) if (l1[m], l2[m]) == (l2[c], l1[c]))
        f[mirror, columns, rows] = packed[c]
    density = (abs(f) ** 2).sum(axis=0)
    assert density.sum() == pytest.approx(1, abs=1e-11)
    with h5py.File(sorted((whole / "fields").glob("*.h5"))[-1]) as file:
        assert np.allclose(file["density"][:], density, rtol=1e-12, atol=1e-300)
        assert file["r1"][0] == pytest.approx(0.3)


def test_the_cost_of_output_is_measured(whole: Path) -> None:
    summary = json.loads((whole / "summary.json").read_text())
    cost = summary["output_cost"]
    assert (cost["steps"], cost["run_s"]) == (summary["steps"], summary["wall_s"])
    assert cost["call_s"] == pytest.approx(summary["output"]["call_s"], rel=1e-12)
    assert cost["capture_s"] > 0  # the densities are computed for the files
    assert 0 < cost["steps_with_output"] <= cost["steps"]


def test_observables_and_norm(whole: Path) -> None:
    lines = observables(whole)
    assert [line["step"] for line in lines[:3]] == [0, 5, 10]
    assert lines[0]["ground"] == pytest.approx(1, abs=1e-12)
    assert all(line["norm"] == pytest.approx(1, abs=1e-11) for line in lines)
    assert 1e-3 < 1 - lines[-1]["ground"] < 0.9


def test_the_report_shows_the_electrons(whole: Path) -> None:
    run = load_run(whole)
    page = render(run)
    assert '<section id="electrons">' in page
    assert "left the ground state" in dict(map(reversed, cards(run)))
    (electrons,) = sections(run)
    densities, curves = (images for _, images in electrons.rows)
    assert len(densities) == min(4, len(run.fields))
    assert len(curves) >= 2


def test_dipole_spectrum_has_its_peak_at_the_frequency() -> None:
    time = 0.2 * np.arange(801)
    w = 18 * 2 * np.pi / 160  # a whole number of periods in the window
    dipole = np.sin(w * time) + 1e-3 * np.sin(3 * w * time)
    found = dipole_spectrum({"time": time, "dipole": dipole})
    assert found is not None
    omega, power = found
    assert omega[power.argmax()] == pytest.approx(w, abs=0.01)
    third = (omega > 2.5 * w) & (omega < 3.5 * w)
    assert omega[third][power[third].argmax()] == pytest.approx(3 * w, abs=0.01)
    # |w^2 d(w)|^2: the third harmonic is 9^2 times stronger than in the dipole.
    assert power[third].max() / power.max() == pytest.approx(81e-6, rel=0.05)
    assert dipole_spectrum({"time": time[:10], "dipole": dipole[:10]}) is None
    assert dipole_spectrum({"time": time**2, "dipole": dipole}) is None


def test_a_restart_on_the_same_ranks_goes_on_bit_by_bit(whole: Path, tmp_path: Path) -> None:
    first = whole / "checkpoint_000025.h5"
    run = tmp_path / "run"
    succeed(1, run, f"restart.file={first}", "checkpoint.at_end=true")
    assert np.array_equal(wave_of(run), wave_of(whole))
    assert observables(run)[-1] == observables(whole)[-1]


@pytest.mark.parametrize("servers", ["hidden", "thread"])
def test_a_restart_on_other_ranks_agrees(whole: Path, tmp_path: Path, servers: str) -> None:
    first = whole / "checkpoint_000025.h5"
    run = tmp_path / "run"
    more = f"output.servers={servers}"
    succeed(3, run, f"restart.file={first}", "checkpoint.at_end=true", more)
    assert np.abs(wave_of(run) - wave_of(whole)).max() < 1e-13


@pytest.mark.parametrize("servers", ["hidden", "none", "process", "1"])
def test_servers_write_the_same_checkpoint(whole: Path, tmp_path: Path, servers: str) -> None:
    run = tmp_path / "run"
    summary = succeed(
        2, run, f"output.servers={servers}", "checkpoint.every=10", "checkpoint.at_end=true"
    )
    assert np.abs(wave_of(run) - wave_of(whole)).max() < 1e-12
    assert summary["checkpoints"]["failed"] == 0
    assert len(list(run.glob("checkpoint_*.h5"))) == 2  # the last two are kept


def test_a_damaged_checkpoint_is_refused(whole: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "checkpoint_000025.h5"
    content = bytearray((whole / "checkpoint_000025.h5").read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    words = refused(start(2, tmp_path / "run", f"restart.file={damaged}"))
    assert "checkpoint_000025.h5" in words and "f_" in words


def test_a_checkpoint_of_another_grid_is_refused(whole: Path, tmp_path: Path) -> None:
    first = whole / "checkpoint_000025.h5"
    words = refused(start(2, tmp_path / "run", f"restart.file={first}", "grid.points=40"))
    assert "grid.points = 36, the case has 40" in words


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("atom.total_lmax=5", "at most 4"),
        ("pulse.cycles=[2,3]", "`pulse.cycles` has 2 numbers"),
        ("observables.radius=50", "beyond the box, which ends at 10.8"),
        ("grid.points=9", "which ends at 2.7"),
        ("case.application=turbulence", "must be one of helium"),
        ("grid.step=0.9", "too coarse for a nucleus of charge 2: give at most 0.4"),
        ("ground.applications=40", "allow more"),
        ("grid.points=100000", "time.order = 60, on 2 ranks need about"),
    ],
)
def test_bad_input_is_refused(tmp_path: Path, setting: str, words: str) -> None:
    assert words in refused(start(2, tmp_path / "run", setting))


def test_a_small_box_is_warned_of(tmp_path: Path) -> None:
    done = start(1, tmp_path / "run", "time.after=30", "time.max_steps=1")
    assert done.returncode == 0
    assert "warning: the box is small" in done.stderr
    assert "the box ends at 10.8" in done.stderr


def test_more_ranks_than_blocks_are_refused(tmp_path: Path) -> None:
    words = refused(start(6, tmp_path / "run", "grid.points=8", "observables.radius=1"))
    assert "8 radial points do not give each of 6 ranks a block; use at most 4 ranks" in words
