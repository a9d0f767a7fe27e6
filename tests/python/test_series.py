# SPDX-License-Identifier: BSD-3-Clause
"""A run as one data set, read by programs that know nothing of Tailrace (docs/files.md)."""

import importlib.util
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import h5py
import numpy as np
import pytest
from test_face import HERE, MPI_ENV, MPIRUN, ROOT, run
from test_whole import built, tailrace

from tailrace.cli.verify import DAMAGED

xarray = pytest.importorskip("xarray")
netCDF4 = pytest.importorskip("netCDF4")
pytest.importorskip("h5netcdf")

PROGRAM = HERE / "series_program.py"
ENGINES = ["netcdf4", "h5netcdf"]


def write(
    folder: Path, steps: Any, ranks: int = 2, kind: str = "hidden", strategy: str = "auto",
    attempt: int = 0, steps_per_file: int = 1, compress: str = "",
) -> None:  # fmt: skip
    (folder / "fields").mkdir(parents=True, exist_ok=True)
    numbers = ",".join(map(str, steps))
    done = run(ranks, PROGRAM, folder, kind, strategy, attempt, numbers, steps_per_file, compress)
    assert done.returncode == 0, done.stdout + done.stderr


def check(folder: Path, wanted: dict[int, int]) -> None:
    """The index holds these steps, of these attempts, for every reader."""
    steps = np.array(list(wanted))
    values = np.array([10.0 * step + attempt for step, attempt in wanted.items()])
    with h5py.File(folder / "fields.h5") as file:
        assert file["u"].shape == (len(wanted), 6, 4, 5)
        assert (file["u"][...] == values[:, None, None, None]).all()
        assert file["step"][...].tolist() == steps.tolist()
    for engine in ENGINES:
        with xarray.open_dataset(folder / "fields.h5", engine=engine) as data:
            assert dict(data.sizes) == {"time": len(wanted), "z": 6, "y": 4, "x": 5}
            assert data["u"].dims == ("time", "z", "y", "x")
            assert set(data.coords) == {"time", "step", "z", "y", "x"}
            assert set(data.data_vars) == {"u", "n"}
            assert (data["time"].values == 0.25 * steps).all()
            assert (data["step"].values == steps).all()
            assert (data["x"].values == np.arange(5) / 8).all()
            assert (data["u"].values == values[:, None, None, None]).all()
            assert data["n"].dtype == np.int32
            assert (data["n"].isel(z=5, y=3, x=4).values == values).all()
            assert data["u"].attrs["units"] == "m/s"
            assert data["u"].encoding["_FillValue"] == -1.0
            assert data.attrs["title"] == "a series"
            assert "step" not in data.attrs


@pytest.mark.parametrize("kind", ["none", "hidden", "thread", "process"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_all_readers_see_all_steps(tmp_path: Path, kind: str, ranks: int) -> None:
    write(tmp_path, (0, 5, 120, 1000000), ranks, kind)
    check(tmp_path, {0: 0, 5: 0, 120: 0, 1000000: 0})
    with netCDF4.Dataset(tmp_path / "fields.h5") as file:
        assert file.dimensions["time"].isunlimited()
        assert file["time"].dimensions == ("time",)
    if program := shutil.which("ncdump"):
        text = subprocess.run(
            [program, "-h", tmp_path / "fields.h5"], capture_output=True, text=True, check=True
        ).stdout
        assert "time = UNLIMITED ; // (4 currently)" in text


@pytest.mark.parametrize("kind", ["none", "hidden", "thread"])
def test_many_steps_are_quick_to_open(tmp_path: Path, kind: str) -> None:
    """Most are in the index itself, so that readers open few files to find steps and times."""
    write(tmp_path, range(200), kind=kind)
    check(tmp_path, dict.fromkeys(range(200), 0))
    links = [path for path in (tmp_path / ".fields.h5.steps").rglob("*.h5") if path.is_symlink()]
    assert len(links) < 130
    for path in (tmp_path / "fields").glob("u_00000*.h5"):
        path.rename(f"{path}.away")  # nothing but their arrays is missing
    for engine in ENGINES:
        with xarray.open_dataset(tmp_path / "fields.h5", engine=engine) as data:
            assert data["time"].values.tolist() == [0.25 * step for step in range(200)]
            assert data["step"].values.tolist() == list(range(200))
            assert np.isnan(data["u"][:10].values).all()
            assert (data["u"][10].values == 100).all()
    for path in (tmp_path / "fields").glob("*.away"):
        path.rename(path.with_suffix(""))
    write(tmp_path, (100, 101), 1, kind, attempt=1)
    check(tmp_path, {**dict.fromkeys(range(100), 0), 100: 1, 101: 1})


def test_step_files_are_readable_alone(tmp_path: Path) -> None:
    write(tmp_path, (3,))
    path = tmp_path / "fields/u_000003.h5"
    for engine in ENGINES:
        with xarray.open_dataset(path, engine=engine) as data:
            assert data["u"].dims == ("z", "y", "x")
            assert float(data["time"]) == 0.75
            assert int(data["step"]) == 3
    assert path.read_bytes()[8] < 3  # the format of HDF5 1.8


def test_file_per_rank(tmp_path: Path) -> None:
    write(tmp_path, (0, 1, 2), 3, strategy="file_per_rank")
    check(tmp_path, {0: 0, 1: 0, 2: 0})
    write(tmp_path, (1,), 3, strategy="file_per_rank", attempt=1)
    check(tmp_path, {0: 0, 1: 1})
    with h5py.File(tmp_path / "superseded/u_000002.h5") as file:
        assert (file["u"][...] == 20).all()


@pytest.mark.parametrize("kind", ["none", "hidden", "thread"])
def test_a_restart_replaces_the_abandoned_steps(tmp_path: Path, kind: str) -> None:
    write(tmp_path, range(0, 13), kind=kind)
    write(tmp_path, range(10, 12), 3, kind, attempt=1)
    first = {step: 0 for step in range(10)}
    check(tmp_path, {**first, 10: 1, 11: 1})
    moved = {path.name for path in (tmp_path / "superseded").iterdir()}
    assert moved == {"u_000011.h5", "u_000012.h5"}
    write(tmp_path, range(12, 17), 1, kind, attempt=2)
    check(tmp_path, {**first, 10: 1, 11: 1, **{step: 2 for step in range(12, 17)}})


def test_the_run_folder_may_be_moved_and_read_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "run 50% done", (0, 1))
    (tmp_path / "run 50% done").rename(tmp_path / "moved")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    check(tmp_path / "moved", {0: 0, 1: 0})
    check(Path("../moved"), {0: 0, 1: 0})
    (tmp_path / "link").symlink_to(tmp_path / "moved")
    check(tmp_path / "link", {0: 0, 1: 0})


def killer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_kill", ROOT / "tests/store/check_kill.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seen(folder: Path) -> tuple[int, int]:
    """The number of steps that a reader finds at this moment, and the attempt of the last one."""
    path = folder / "fields.h5"
    if not path.exists():
        return 0, -1
    with h5py.File(path) as file:
        count = file["u"].shape[0]
        if count == 0:
            return 0, -1
        last = file["u"][count - 1]
        assert last.min() == last.max(), "half a step"
        return count, int(last.max()) % 10


def watch(job: subprocess.Popen[str], folder: Path, attempt: int, for_s: float) -> None:
    """Read until `for_s` after this attempt's second step: steps come, and none goes."""
    counts: list[int] = []
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert job.poll() is None
        try:
            now, of = seen(folder)
        except (IndexError, OSError, RuntimeError):
            # The attempt has just removed what this reader was about to read.
            assert not counts
            continue
        has_grown = len(counts) > 1 and counts[-1] > counts[0]
        if of == attempt or counts:
            counts.append(now)
        if not has_grown and counts and counts[-1] > counts[0]:
            end = time.monotonic() + for_s
        time.sleep(0.005)
    assert counts == sorted(counts), "steps have gone from the series"
    assert len(counts) > 1 and counts[-1] > counts[0], "the series does not grow"


@pytest.mark.parametrize("kind", ["none", "hidden", "thread", "process"])
def test_files_of_several_steps(tmp_path: Path, kind: str) -> None:
    """The index shows the same steps, and each file of several steps is a data set by itself."""
    write(tmp_path, range(25), kind=kind, steps_per_file=10)
    check(tmp_path, dict.fromkeys(range(25), 0))
    files = sorted((tmp_path / "fields.h5.merged").iterdir())
    assert [path.name for path in files] == ["000000-000009.h5", "000010-000019.h5"]
    for engine in ENGINES:
        with xarray.open_dataset(files[1], engine=engine) as data:
            assert dict(data.sizes) == {"time": 10, "z": 6, "y": 4, "x": 5}
            assert data["u"].dims == ("time", "z", "y", "x")
            assert (data["u"].values[:, 2, 3, 4] == 10.0 * np.arange(10, 20)).all()
            assert (data["time"].values == 0.25 * np.arange(10, 20)).all()
            assert data["step"].dims == ("time",)
            assert data["n"].dtype == np.int32
            assert data["u"].attrs["units"] == "m/s"
            assert data["u"].encoding["_FillValue"] == -1.0
            assert data.attrs == {"title": "a series"}
    (tmp_path / "fields.h5.merged").rename(tmp_path / "away")  # it is what readers read
    with h5py.File(tmp_path / "fields.h5") as file:
        assert (file["u"][:20] == -1.0).all()
    (tmp_path / "away").rename(tmp_path / "fields.h5.merged")
    write(tmp_path, range(15, 45), 3, kind, attempt=1, steps_per_file=10)
    check(tmp_path, {**dict.fromkeys(range(15), 0), **dict.fromkeys(range(15, 45), 1)})
    with h5py.File(tmp_path / "superseded/000010-000019.h5") as file:
        assert (file["u"][:, 0, 0, 0] == 10.0 * np.arange(10, 20)).all()
    assert (tmp_path / "superseded/u_000024.h5").exists()
    assert not (tmp_path / "superseded/u_000014.h5").exists()


def test_verify_finds_damage_in_files_of_several_steps(tmp_path: Path) -> None:
    built("tailrace-verify")
    write(tmp_path, range(5), steps_per_file=4)
    done = tailrace("verify", "fields.h5", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "fields.h5.merged").iterdir()
    raw = bytearray(path.read_bytes())
    raw[raw.index(np.float64(20).tobytes())] ^= 1
    path.write_bytes(raw)
    done = tailrace("verify", "fields.h5", folder=tmp_path)
    assert done.returncode == DAMAGED, done.stdout
    assert path.name in done.stdout
    assert "dataset u, box" in done.stdout


@pytest.mark.parametrize("steps_per_file", [1, 3])
def test_texts_and_coordinates_of_several_axes_are_kept(
    tmp_path: Path, steps_per_file: int
) -> None:
    """They are those of all steps; single numbers have one value for each."""
    program = HERE / "series_kept_program.py"
    for first, last in ((0, 5), (3, 8)):  # the second attempt continues the index
        done = run(2, program, tmp_path, first, last, steps_per_file)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "removed from the series" not in done.stderr
    stations, flags = ["Ems", "Weser", "Elbe \u00e4"], ["", "b", "cc", "d"]
    files = [tmp_path / "fields.h5", *(tmp_path / "fields.h5.merged").glob("*.h5")]
    assert (len(files) > 1) == (steps_per_file > 1)
    for engine in ENGINES:
        for path in files:
            with xarray.open_dataset(path, engine=engine) as data:
                assert data["u"].dims == ("time", "station", "x")
                assert (data["u"][:, 0, 0].values == data["step"].values).all()
                assert data["station"].values.tolist() == stations
                assert data["flag"].dims == ("x",) and data["flag"].values.tolist() == flags
                assert data["lat"].dims == ("station", "x") and data["lat"].dtype == np.float32
                assert (data["lat"].values == np.arange(12).reshape(3, 4)).all()
                assert data["lat"].attrs["units"] == "degrees_north"
                assert data["level"].dims == ("kept",)
                assert data["level"].values.tolist() == [2**60, 3]
                assert data["run"].values[()] == "spin-up"
                assert data["dt"].dims == ("time",) and data["dt"].dtype == np.float32
                assert (data["dt"].values == 0.5 * data["step"].values).all()
    with h5py.File(tmp_path / "fields.h5") as file:
        assert file["step"][...].tolist() == list(range(8))
        assert file["u"].dims[1][0].name == "/station" and file["flag"].dims[0][0].name == "/x"
        assert file["station"].is_scale and file["kept"].is_scale


def steps_in_files(folder: Path) -> list[int]:
    """The steps that files hold, under the names that they have when they are complete."""
    steps = {int(path.stem[2:]) for path in (folder / "fields").glob("*.h5")}
    for path in (folder / "fields.h5.merged").glob("*.h5"):
        with h5py.File(path) as file:
            steps |= set(file["step"][...].tolist())
    return sorted(steps)


@pytest.mark.parametrize("steps_per_file", [1, 3])
@pytest.mark.parametrize("kind", ["none", "hidden", "thread"])
def test_killed_at_any_moment_it_holds_all_complete_steps(
    tmp_path: Path, kind: str, steps_per_file: int
) -> None:
    """It grows while the run writes, and a reader never sees half a step."""
    kills = killer()
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chance = random.Random(seed)
    (tmp_path / "fields").mkdir()
    found: list[int] = []
    for attempt in range(4):
        first = max(0, len(found) - chance.randrange(1, 4))  # as from an older checkpoint
        with subprocess.Popen(
            [MPIRUN, "-n", "2", sys.executable, str(PROGRAM), str(tmp_path), kind, "auto",
             str(attempt), f"{first}:1000000", str(steps_per_file)],
            env={**os.environ, **MPI_ENV}, stdout=subprocess.PIPE, text=True,
        ) as job:  # fmt: skip
            assert job.stdout is not None
            try:
                watch(job, tmp_path, attempt, chance.uniform(0.05, 0.6))
            finally:
                pids = [*kills.descendants(job.pid), job.pid]
                kills.kill(pids)
            kills.wait_until_gone(pids)
            said = job.stdout.read().split()
        files = steps_in_files(tmp_path)
        with h5py.File(tmp_path / "fields.h5") as file:
            found = file["step"][...].tolist()
            items = file["u"][:, 0, 0, 0]
        assert found == files, "the series does not hold the complete files"
        assert found == list(range(len(found)))
        assert not said or found[-1] >= int(said[-1]), "a step that was complete is lost"
        assert (items[first:] == 10.0 * np.array(found[first:]) + attempt).all()
    write(tmp_path, (len(found),), kind=kind, attempt=9)
    assert seen(tmp_path) == (len(found) + 1, 9)
