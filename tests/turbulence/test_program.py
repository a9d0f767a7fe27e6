# SPDX-License-Identifier: BSD-3-Clause
"""The program's results and files. Tests marked `slow` take more than a few seconds."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import time
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest
from turbulence_program import (
    CASES,
    ENVIRONMENT,
    PROGRAM,
    TINY,
    command,
    needs_program,
    program_processes,
    start,
    statistics,
    succeed,
)

pytestmark = needs_program


def test_taylor_green_follows_the_published_start(run: Path) -> None:
    """spectralDNS, 64^3, dt = 0.01, t = 0.1: E = 0.124953117517."""
    lines = succeed(2, CASES / "taylor_green.toml", run, "time.end=0.1", "output.every=0")
    assert lines[0]["energy"] == pytest.approx(0.125, abs=1e-15)
    assert lines[0]["enstrophy"] == pytest.approx(0.375, abs=1e-15)
    assert lines[-1]["time"] == pytest.approx(0.1, abs=1e-12)
    assert lines[-1]["energy"] == pytest.approx(0.124953117517, abs=1e-12)


def test_taylor_green_agrees_with_the_1024_cubed_spectral_code(run: Path) -> None:
    """Energy and enstrophy at t = 1 of the published 1024^3 run, to 1e-10."""
    line = succeed(2, CASES / "taylor_green.toml", run, "time.end=1", "output.every=0")[-1]
    assert line["energy"] == pytest.approx(0.12451526736698, abs=1e-10)
    assert line["enstrophy"] == pytest.approx(0.41505496036902, abs=1e-10)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("dealias", ["two_thirds", "phase_shift"])
def test_abc_flow_decays_exactly(run: Path, ranks: int, dealias: str) -> None:
    """E = E(0) exp(-2 nu k^2 t), on any number of ranks, on an uneven grid."""
    lines = succeed(
        ranks,
        CASES / "abc.toml",
        run,
        "grid.nx=18",
        "grid.ny=15",
        "grid.nz=20",
        "flow.wavenumber=2",
        f"dealias.method={dealias}",
    )
    for line in lines:
        exact = 1.5 * np.exp(-2 * 0.05 * 4 * line["time"])
        assert line["energy"] == pytest.approx(exact, rel=1e-12)
        assert line["helicity"] == pytest.approx(2 * 2 * exact, rel=1e-12)


def test_results_do_not_depend_on_ranks(tmp_path: Path) -> None:
    """The same case on 1, 2, 3, 4 ranks, with forcing and a scalar."""
    settings = (*TINY, "output.every=0", "scalars.schmidt=[0.7]", "scalars.mean_gradient=[0,0,1]")
    settings += ("flow.initial=random", "forcing.type=stochastic", "grid.ny=15")
    runs = [
        succeed(ranks, CASES / "taylor_green.toml", tmp_path / str(ranks), *settings)
        for ranks in (1, 2, 3, 4)
    ]
    for other in runs[1:]:
        for a, b in zip(runs[0], other, strict=True):
            for key in ("energy", "dissipation", "skewness", "power", "scalar_0_variance"):
                assert b[key] == pytest.approx(a[key], rel=1e-10, abs=1e-14), key


@pytest.mark.parametrize("servers", ["hidden", "none"])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_fields_are_read_by_h5py(run: Path, servers: str, precision: str) -> None:
    """Files hold the fields of their own step, on the right points."""
    succeed(
        3,
        CASES / "taylor_green.toml",
        run,
        *TINY,
        f"output.servers={servers}",
        f"output.precision={precision}",
        "grid.nx=18",
        "scalars.schmidt=[1]",
        'output.fields=["u", "w", "scalars"]',
    )
    names = sorted(path.name for path in (run / "fields").iterdir())
    assert names == [f"taylor_green_{step:06d}.h5" for step in (0, 4, 8, 10)]
    with h5py.File(run / "fields/taylor_green_000000.h5") as file:
        z, y, x = np.meshgrid(file["z"][:], file["y"][:], file["x"][:], indexing="ij")
        assert file["u"].shape == (16, 16, 18)
        assert file["u"].dtype == (np.float64 if precision == "double" else np.float32)
        assert set(file) >= {"u", "w", "scalar_0", "x", "y", "z"}
        assert "v" not in file
        np.testing.assert_allclose(file["u"], np.sin(x) * np.cos(y) * np.cos(z), atol=1e-7)
    energy = {int(line["step"]): line["energy"] for line in statistics(run)}
    with h5py.File(run / "fields/taylor_green_000008.h5") as file:
        assert file.attrs["step"] == 8
        assert file.attrs["time"] == pytest.approx(0.16)
        u, w = np.asarray(file["u"], float), np.asarray(file["w"], float)
        # u and v have the same energy in this flow
        assert np.mean(u**2) + np.mean(w**2) / 2 == pytest.approx(energy[8], rel=1e-6)
    assert "taylor_green_000010.h5" in (run / "fields.xdmf").read_text()


def test_xarray_opens_the_fields(run: Path) -> None:
    """xarray finds dimensions and coordinates by itself."""
    xarray = pytest.importorskip("xarray")
    succeed(2, CASES / "taylor_green.toml", run, *TINY)
    with xarray.open_dataset(run / "fields/taylor_green_000004.h5", engine="h5netcdf") as data:
        assert data["u"].dims == ("z", "y", "x")
        assert float(data["x"][1]) == pytest.approx(2 * np.pi / 16)


def test_files_follow_each_other_in_time(run: Path) -> None:
    """xarray puts the files in a row along time by itself; names and units are those of CF."""
    xarray = pytest.importorskip("xarray")
    succeed(2, CASES / "taylor_green.toml", run, *TINY, "scalars.schmidt=[1]")
    parts = [xarray.open_dataset(path) for path in sorted((run / "fields").glob("*.h5"))]
    # What open_mfdataset does, which needs dask.
    data = xarray.combine_by_coords(parts, data_vars="all", combine_attrs="override")
    assert data["u"].dims == ("time", "z", "y", "x")
    np.testing.assert_allclose(data["time"], [0, 0.08, 0.16, 0.2], atol=1e-15)
    assert data.attrs["Conventions"].startswith("CF-1.")
    for name in ("time", "x", "y", "z"):
        assert data[name].attrs["units"] == "1"
    assert data["v"].attrs["long_name"] == "velocity along y"
    for part, moment in zip(parts, data["time"], strict=True):
        assert part.attrs["time"] == moment
        np.testing.assert_array_equal(part["u"][...], data["u"].sel(time=moment))


def test_vtk_reads_the_velocity_as_a_vector(run: Path) -> None:
    """VTK's own reader of the sidecar gives the numbers of the files."""
    xdmf = pytest.importorskip("vtkmodules.vtkIOXdmf2")
    arrays = pytest.importorskip("vtkmodules.util.numpy_support")
    succeed(2, CASES / "taylor_green.toml", run, *TINY, "grid.nx=18", "output.precision=single")
    reader = xdmf.vtkXdmfReader()
    reader.SetFileName(str(run / "fields.xdmf"))
    reader.UpdateInformation()
    reader.UpdateTimeStep(0.16)
    image = reader.GetOutputDataObject(0)
    assert image.GetDimensions() == (18, 16, 16)
    velocity = arrays.vtk_to_numpy(image.GetPointData().GetArray("velocity"))
    with h5py.File(run / "fields/taylor_green_000008.h5") as file:
        for component, name in enumerate(("u", "v", "w")):
            np.testing.assert_array_equal(velocity[:, component], file[name][:].ravel())


def files_of(sidecar: Path) -> set[str]:
    """Those that it names; they are there."""
    items = [item.text or "" for item in ElementTree.parse(sidecar).iter("DataItem")]
    files = {text.split(":")[0] for text in items if ".h5:" in text}
    assert all((sidecar.parent / name).exists() for name in files)
    return files


def test_the_sidecar_is_whole_while_the_run_goes_on(run: Path) -> None:
    """It is valid at any time, names whole files only, and grows; the run lasts until it has."""
    settings = (*TINY, "time.end=1e9", "output.every=20", "time.max_steps=100000000")
    line = command(2, CASES / "taylor_green.toml", run, *settings)
    seen: list[set[str]] = []
    with subprocess.Popen(
        line, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 100
        while len(seen) < 5 and process.poll() is None and time.monotonic() < deadline:
            if (run / "fields.xdmf").exists():
                files = files_of(run / "fields.xdmf")
                if not seen or files != seen[-1]:
                    seen.append(files)
            time.sleep(0.02)
        for pid in program_processes(run):
            os.kill(pid, signal.SIGTERM)
        process.wait(timeout=60)
    assert process.returncode == 0
    assert len(seen) == 5
    seen.append(files_of(run / "fields.xdmf"))
    assert all(before <= after for before, after in itertools.pairwise(seen))


def test_run_leaves_its_files(run: Path) -> None:
    """Summary, trace, tables and the effective case, as others script them."""
    succeed(2, CASES / "taylor_green.toml", run, *TINY)
    summary = json.loads((run / "summary.json").read_text())
    assert summary["grid"] == [16, 16, 16]
    assert summary["ranks"] == 2
    assert summary["rank_grid"] == [2, 1]
    assert summary["rank_grid_why"].startswith("2 x 1 for 2 ranks on one node: slabs")
    assert summary["steps"] == 10
    assert summary["stopped_by"] == "end"
    assert summary["output"]["mode"] == "hidden"
    assert summary["output"]["steps"] == summary["output"]["complete"] == 4
    assert summary["output"]["bytes"] == 4 * 3 * 16**3 * 8
    assert summary["output"]["written_bytes"] >= summary["output"]["bytes"]
    assert 0 <= summary["hidden_fraction"] <= 1
    assert summary["output"]["writer_cpu_s"] > 0
    cost = summary["output_cost"]
    assert cost["writer_cpu_s"] == summary["output"]["writer_cpu_s"]
    assert (cost["steps"], cost["run_s"]) == (10, summary["wall_s"])
    assert 6 <= cost["steps_with_output"] <= 10  # the files may be under way in all steps
    assert summary["times_s"]["hidden"] == summary["wall_s"]
    assert summary["times_s"]["none"] is None
    assert summary["seconds_per_step"]["min"] <= summary["seconds_per_step"]["median"]
    assert summary["memory_bytes_per_rank_max"] > 0
    trace = json.loads((run / "trace.json").read_text())
    assert {event["pid"] for event in trace["traceEvents"] if event["ph"] == "X"} == {0, 1}
    header = (run / "statistics.csv").read_text().splitlines()[0]
    assert header.startswith("step,time,energy,dissipation,enstrophy,")
    assert (run / "spectrum.csv").read_text().startswith("step,time,k,E\n")
    again = succeed(1, run / "case.toml", run.parent / "again", "output.every=0")
    assert again[-1]["energy"] == pytest.approx(statistics(run)[-1]["energy"], rel=1e-12)


def test_the_cost_of_output_adds_up(run: Path) -> None:
    """Three files are caught in one step and written before the next one, the last at the end."""
    succeed(2, CASES / "taylor_green.toml", run, *TINY, "output.servers=none")
    summary = json.loads((run / "summary.json").read_text())
    cost = summary["output_cost"]
    assert (cost["steps"], cost["steps_with_output"]) == (10, 6)
    parts = cost["call_s"] + cost["capture_s"] + cost["slower_s"]
    assert cost["cost_s"] == pytest.approx(parts, rel=1e-12)
    assert cost["cost_fraction"] == pytest.approx(cost["cost_s"] / summary["wall_s"], rel=1e-12)
    assert cost["call_s"] > 0
    assert cost["capture_s"] > 0
    assert cost["cost_spread_s"] > 0
    succeed(2, run / "case.toml", run.parent / "none", "output.every=0")
    cost = json.loads((run.parent / "none" / "summary.json").read_text())["output_cost"]
    assert (cost["steps"], cost["steps_with_output"]) == (10, 0)
    assert (cost["call_s"], cost["slower_s"], cost["cost_spread_s"]) == (0, 0, 0)


def test_progress_is_json_lines(run: Path) -> None:
    """Every line of stdout is JSON with the agreed keys, or a line for people, the last one."""
    line = [*command(2, CASES / "taylor_green.toml", run, *TINY), "--progress"]
    done = subprocess.run(
        line, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(text) for text in done.stdout.splitlines()]
    texts = [entry["text"] for entry in lines if "text" in entry]
    assert texts[-1].startswith("done: step 10,") and lines[-1] == {"text": texts[-1]}
    lines = [entry for entry in lines if "text" not in entry]
    keys = {"step", "steps", "time", "end", "energy", "dt", "seconds_per_step", "eta_s", "hidden_s"}
    assert all(keys == set(entry) for entry in lines)
    assert lines[-1]["step"] == lines[-1]["steps"] == 10


@pytest.mark.parametrize("grid", ["[0, 0]", "[6, 1]", "[1, 6]", "[3, 2]"])
def test_more_ranks_than_planes(run: Path, grid: str) -> None:
    """Six ranks and four planes: some ranks may hold nothing, and take part all the same."""
    settings = ["grid.n=4", "time.step=0.1", "time.end=0.3", "statistics.every=1", "output.every=1"]
    settings += ["output.servers=hidden", f"grid.ranks={grid}"]
    lines = succeed(6, CASES / "abc.toml", run, *settings)
    assert lines[-1]["energy"] == pytest.approx(1.5 * np.exp(-0.1 * 0.3), rel=1e-12)


def test_forced_turbulence_is_stationary_and_skewed(run: Path) -> None:
    """A short forced run: the force balances dissipation; the skewness is that of turbulence."""
    lines = succeed(
        2, CASES / "forced.toml", run, "grid.n=32", "flow.viscosity=0.04", "output.every=0"
    )
    late = [line for line in lines if line["time"] > 5]
    mean = {key: float(np.mean([line[key] for line in late])) for key in late[0]}
    assert mean["power"] == pytest.approx(mean["dissipation"], rel=0.1)
    assert -0.6 < mean["skewness"] < -0.3


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The program's own check of a case, which needs no launcher."""
    return subprocess.run(
        [str(PROGRAM), *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_check_prints_the_whole_case_and_starts_nothing(tmp_path: Path) -> None:
    """What `tailrace run` asks for before it starts ranks."""
    done = check(str(CASES / "taylor_green.toml"), "--check", "3", "--set", "grid.n=24")
    assert done.returncode == 0, done.stderr
    values = tomllib.loads(done.stdout)
    assert values["grid"]["nx"] == 24
    assert values["restart"]["file"] == ""
    assert values["output"]["servers"] == "hidden"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["grid.m=3"], "unknown key `grid.m` in --set grid.m=3: did you mean `grid.n`?"),
        (["grid.ranks=[2, 2]"], "needs 4 ranks, but the run has 3"),
        (["time.end=-1"], "time.end"),
    ],
)
def test_check_refuses_as_a_run_does(settings: list[str], message: str) -> None:
    words = [word for setting in settings for word in ("--set", setting)]
    done = check(str(CASES / "taylor_green.toml"), "--check", "3", *words)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stdout == ""


def test_one_rank_speaks_of_no_exchange(run: Path) -> None:
    alone = start(1, CASES / "taylor_green.toml", run, *TINY)
    assert alone.returncode == 0, alone.stderr
    assert "exchange" not in alone.stdout
    several = start(2, CASES / "taylor_green.toml", run.parent / "two", *TINY)
    assert "ranks 2 x 1 for 2 ranks on one node: slabs need one exchange" in several.stdout
