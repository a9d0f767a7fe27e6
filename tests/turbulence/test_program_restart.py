# SPDX-License-Identifier: BSD-3-Clause
"""Stopping the program and going on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from turbulence_program import (
    CASES,
    ENVIRONMENT,
    TINY,
    command,
    needs_program,
    program_processes,
    statistics,
    succeed,
)

pytestmark = needs_program


@pytest.mark.parametrize("ranks", [(2, 3), (4, 1)])
@pytest.mark.parametrize("step", ["time.step=0.02", "time.courant=0.3"])
def test_restart_equals_the_uninterrupted_run(
    tmp_path: Path, ranks: tuple[int, int], step: str
) -> None:
    """Also on another number of ranks, with forcing, a scalar and an adaptive step."""
    settings = [*TINY, step, "flow.initial=random", "forcing.type=stochastic", "checkpoint.every=5"]
    settings += ["scalars.schmidt=[1]", "scalars.initial=random", "output.every=0", "time.end=10"]
    case = CASES / "taylor_green.toml"
    whole = succeed(ranks[0], case, tmp_path / "whole", *settings, "time.max_steps=12")
    first = tmp_path / "parts"
    succeed(ranks[0], case, first, *settings, "time.max_steps=6", "checkpoint.at_end=true")
    parts = succeed(ranks[1], case, first, *settings, "time.max_steps=12", "restart.file=latest")
    assert [line["step"] for line in parts] == list(range(13))
    for a, b in zip(whole, parts, strict=True):
        for key in a:
            if key != "divergence_max":
                assert b[key] == pytest.approx(a[key], rel=1e-9, abs=1e-13), key


def test_restart_on_the_same_ranks_is_exact(tmp_path: Path) -> None:
    """Not a bit differs."""
    settings = [*TINY, "output.every=0", "flow.initial=random", "checkpoint.every=5"]
    case = CASES / "taylor_green.toml"
    whole = succeed(2, case, tmp_path / "whole", *settings)
    checkpoint = tmp_path / "whole/checkpoint_000005.h5"
    parts = succeed(2, case, tmp_path / "part", *settings, f"restart.file={checkpoint}")
    keys = [key for key in whole[0] if key not in ("dt", "courant", "power")]
    assert [[line[key] for key in keys] for line in whole[5:]] == [
        [line[key] for key in keys] for line in parts
    ]


def test_restart_goes_on_with_the_fields(run: Path) -> None:
    """No file is written twice, and the sidecar lists those of both parts."""
    case = CASES / "taylor_green.toml"
    succeed(2, case, run, *TINY, "time.max_steps=6", "checkpoint.at_end=true")
    first = {path: path.stat().st_mtime_ns for path in (run / "fields").iterdir()}
    succeed(3, case, run, *TINY, "restart.file=latest")
    names = [f"taylor_green_{step:06d}.h5" for step in (0, 4, 6, 8, 10)]
    assert sorted(path.name for path in (run / "fields").iterdir()) == names
    assert all(path.stat().st_mtime_ns == written for path, written in first.items())
    sidecar = (run / "fields.xdmf").read_text()
    assert all(name in sidecar for name in names)


@pytest.mark.parametrize("servers", ["hidden", "none", "thread"])
def test_a_run_is_one_data_set_over_restarts(run: Path, servers: str) -> None:
    """Fields later than the checkpoint that a restart begins from are replaced, not deleted."""
    xarray = pytest.importorskip("xarray")
    case = CASES / "taylor_green.toml"
    settings = [*TINY, "output.every=2", "checkpoint.every=6", f"output.servers={servers}"]

    def steps() -> list[int]:
        with xarray.open_dataset(run / "fields.h5", engine="netcdf4") as data:
            assert data["u"].dims == ("time", "z", "y", "x")
            for path, moment in zip(sorted((run / "fields").iterdir()), data["time"], strict=True):
                with xarray.open_dataset(path, engine="netcdf4") as part:
                    assert float(part["time"][0]) == float(moment)
                    assert (part["u"][...].values == data["u"].sel(time=moment).values).all()
            return data["step"].values.tolist()

    succeed(2, case, run, *settings)
    assert steps() == [0, 2, 4, 6, 8, 10]
    older = run / "checkpoint_000006.h5"
    succeed(3, case, run, *settings, f"restart.file={older}", "time.max_steps=8")
    assert steps() == [0, 2, 4, 6, 8]
    assert [path.name for path in (run / "superseded").iterdir()] == ["taylor_green_000010.h5"]


def test_a_run_may_merge_its_steps(run: Path) -> None:
    h5py = pytest.importorskip("h5py")
    case = CASES / "taylor_green.toml"
    settings = [*TINY, "output.every=1", "checkpoint.every=6",
                "output.series='fields.h5 steps_per_file=4'"]  # fmt: skip

    def check(last: int) -> None:
        with h5py.File(run / "fields.h5") as file:
            assert file["step"][...].tolist() == list(range(last + 1))
            assert not (file["u"][...] == 0).all(axis=(1, 2, 3)).any()

    succeed(2, case, run, *settings)
    check(10)
    assert {path.name for path in (run / "fields.h5.merged").iterdir()} == {
        "000000-000003.h5", "000004-000007.h5"
    }  # fmt: skip
    older = run / "checkpoint_000006.h5"
    succeed(1, case, run, *settings, f"restart.file={older}", "time.max_steps=8")
    check(8)
    assert (run / "superseded/000004-000007.h5").exists()


def test_the_sidecar_shows_merged_steps(run: Path) -> None:
    """VTK's reader finds the numbers of all steps, in files of one and of several steps."""
    h5py = pytest.importorskip("h5py")
    xdmf = pytest.importorskip("vtkmodules.vtkIOXdmf2")
    arrays = pytest.importorskip("vtkmodules.util.numpy_support")
    settings = [*TINY, "grid.nx=18", "output.every=1", "checkpoint.at_end=true",
                "output.series='fields.h5 steps_per_file=4'"]  # fmt: skip
    case = CASES / "taylor_green.toml"
    succeed(2, case, run, *settings)
    succeed(1, case, run, *settings, "restart.file=latest", "time.end=0.24")
    assert not (run / "fields/taylor_green_000003.h5").exists()
    assert "fields.h5.merged/000000-000003.h5:/u" in (run / "fields.xdmf").read_text()
    reader = xdmf.vtkXdmfReader()
    reader.SetFileName(str(run / "fields.xdmf"))
    reader.UpdateInformation()
    with h5py.File(run / "fields.h5") as file:
        times = file["time"][...]
        assert file["step"][...].tolist() == list(range(13))
        for step, moment in enumerate(times):
            reader.UpdateTimeStep(moment)
            points = reader.GetOutputDataObject(0).GetPointData()
            assert reader.GetOutputDataObject(0).GetDimensions() == (18, 16, 16)
            velocity = arrays.vtk_to_numpy(points.GetArray("velocity"))
            for component, name in enumerate(("u", "v", "w")):
                items = file[name][step].ravel()
                assert (velocity[:, component] == items).all(), (step, name)
                assert (arrays.vtk_to_numpy(points.GetArray(name)) == items).all(), (step, name)


def test_a_run_without_a_series(run: Path) -> None:
    succeed(1, CASES / "taylor_green.toml", run, *TINY, "output.series=")
    assert not (run / "fields.h5").exists()


def test_restart_on_a_finer_grid_keeps_the_energy(tmp_path: Path) -> None:
    """The statistics at the restart are those of the coarse run."""
    case = CASES / "taylor_green.toml"
    first = succeed(2, case, tmp_path / "a", *TINY, "checkpoint.at_end=true", "output.every=0")
    checkpoint = tmp_path / "a/checkpoint_000010.h5"
    fine = succeed(
        3, case, tmp_path / "b", *TINY, "grid.n=24", f"restart.file={checkpoint}", "time.end=0.3"
    )
    assert fine[0]["step"] == 10
    assert fine[0]["energy"] == pytest.approx(first[-1]["energy"], rel=1e-14)
    assert fine[0]["enstrophy"] == pytest.approx(first[-1]["enstrophy"], rel=1e-13)
    assert fine[-1]["time"] == pytest.approx(0.3)


@pytest.mark.parametrize("who", ["one rank", "all ranks"])
def test_sigterm_writes_a_checkpoint_and_ends_cleanly(run: Path, who: str) -> None:
    """One rank's signal stops all; the run can go on from its checkpoint."""
    case = CASES / "taylor_green.toml"
    settings = [*TINY, "time.end=1000000", "output.every=1000"]
    with subprocess.Popen(
        command(2, case, run, *settings),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if (run / "statistics.csv").exists() and len(statistics(run)) > 5:
                break
            time.sleep(0.05)
        ranks = program_processes(run)
        assert len(ranks) == 2
        for pid in ranks[-1:] if who == "one rank" else ranks:
            os.kill(pid, signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    summary = json.loads((run / "summary.json").read_text())
    assert summary["stopped_by"] == "SIGTERM"
    step = summary["steps"]
    assert f"stopped by SIGTERM at step {step}; restart with" in output
    checkpoint = run / f"checkpoint_{step:06d}.h5"
    assert checkpoint.exists()
    lines = succeed(1, case, run, *settings, "restart.file=latest", f"time.max_steps={step + 3}")
    assert [line["step"] for line in lines] == list(range(step + 4))
