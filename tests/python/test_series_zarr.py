# SPDX-License-Identifier: BSD-3-Clause
"""A run as one Zarr store that grows, read by zarr-python and xarray (docs/files.md)."""

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_face import MPI_ENV, MPIRUN, run
from test_series import PROGRAM, killer

xarray = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr", minversion="3")


def write(
    folder: Path, steps: Iterable[int], ranks: int = 2, kind: str = "hidden", attempt: int = 0,
    compress: str = "zstd:1", **environment: str,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    (folder / "fields").mkdir(parents=True, exist_ok=True)
    numbers = ",".join(map(str, steps))
    done: subprocess.CompletedProcess[str] = run(
        ranks, PROGRAM, folder, kind, "auto", attempt, numbers, 1, compress, "zarr", **environment
    )
    return done


def write_whole(*arguments: Any, **settings: Any) -> None:
    done = write(*arguments, **settings)
    assert done.returncode == 0, done.stdout + done.stderr


def check(folder: Path, wanted: dict[int, int], *, killed: bool = False) -> None:
    """The store holds these steps, of these attempts, for every reader.

    `killed`: the run may have been between the metadata of two arrays; that of the group is whole.
    """
    steps = np.array(list(wanted))
    values = np.array([10.0 * step + attempt for step, attempt in wanted.items()])
    group = zarr.open_group(folder / "fields.zarr", mode="r")
    assert group["u"].shape == (len(wanted), 6, 4, 5)
    assert (group["u"][...] == values[:, None, None, None]).all()
    alone = zarr.open_array(folder / "fields.zarr/step", mode="r")
    assert alone[: len(wanted)].tolist() == steps.tolist()
    assert alone.shape[0] - len(wanted) in ((0, 1) if killed else (0,))
    for consolidated in (True,) if killed else (True, False):
        with xarray.open_zarr(folder / "fields.zarr", consolidated=consolidated) as data:
            assert dict(data.sizes) == {"time": len(wanted), "z": 6, "y": 4, "x": 5}
            assert data["u"].dims == ("time", "z", "y", "x")
            assert set(data.coords) == {"time", "step", "z", "y", "x"}
            assert set(data.data_vars) == {"u", "n"}
            assert (data["time"].values == 0.25 * steps).all()
            assert (data["x"].values == np.arange(5) / 8).all()
            assert (data["u"].values == values[:, None, None, None]).all()
            assert data["n"].dtype == np.int32
            assert (data["n"].isel(z=5, y=3, x=4).values == values).all()
            assert data["u"].attrs["units"] == "m/s"
            assert data["u"].encoding["_FillValue"] == -1.0
            assert data.attrs == {"title": "a series"}


@pytest.mark.parametrize("kind", ["none", "hidden", "thread", "process"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_readers_see_all_steps(tmp_path: Path, kind: str, ranks: int) -> None:
    write_whole(tmp_path, (0, 5, 120, 1000000), ranks, kind)
    check(tmp_path, {0: 0, 5: 0, 120: 0, 1000000: 0})
    with xarray.open_zarr(tmp_path / "fields/u_000005.zarr") as data:  # alone
        assert data["u"].dims == ("z", "y", "x")
        assert float(data["time"]) == 1.25


@pytest.mark.parametrize(
    "compress", ["", "none", "deflate:1", "zstd:3 chunk=2x2x5", "zstd:1 bits=12"]
)
def test_chunks_are_those_of_the_steps(tmp_path: Path, compress: str) -> None:
    """Whatever encodes them; other ranks that continue the series make the same chunks."""
    write_whole(tmp_path, range(3), 3, compress=compress)
    write_whole(tmp_path, range(3, 6), 1, compress=compress)
    write_whole(tmp_path, range(6, 8), 2, compress=compress)
    check(tmp_path, dict.fromkeys(range(8), 0))


def test_more_numbers_than_one_chunk_holds(tmp_path: Path) -> None:
    quick = {"TAILRACE_HINTS": "*:sync=false"}
    write_whole(tmp_path, range(1030), 1, **quick)
    check(tmp_path, dict.fromkeys(range(1030), 0))
    write_whole(tmp_path, range(1020, 1026), 1, attempt=1, **quick)
    check(tmp_path, {**dict.fromkeys(range(1020), 0), **dict.fromkeys(range(1020, 1026), 1)})


@pytest.mark.parametrize("kind", ["none", "hidden", "thread"])
def test_a_restart_replaces_the_abandoned_steps(tmp_path: Path, kind: str) -> None:
    write_whole(tmp_path, range(13), kind=kind)
    write_whole(tmp_path, range(10, 12), 3, kind, attempt=1)
    first = dict.fromkeys(range(10), 0)
    check(tmp_path, {**first, 10: 1, 11: 1})
    moved = {path.name for path in (tmp_path / "superseded").iterdir()}
    assert moved == {"u_000011.zarr", "u_000012.zarr"}
    write_whole(tmp_path, range(12, 17), 1, kind, attempt=2)
    check(tmp_path, {**first, 10: 1, 11: 1, **dict.fromkeys(range(12, 17), 2)})
    write_whole(tmp_path, (0, 1), 1, kind, attempt=3)  # from the start
    check(tmp_path, {0: 3, 1: 3})


def test_the_run_folder_may_be_moved(tmp_path: Path) -> None:
    write_whole(tmp_path / "run", (0, 1))
    (tmp_path / "run").rename(tmp_path / "moved")
    check(tmp_path / "moved", {0: 0, 1: 0})
    write_whole(tmp_path / "moved", (2,))
    check(tmp_path / "moved", {0: 0, 1: 0, 2: 0})
    shutil.copytree(tmp_path / "moved", tmp_path / "copied", symlinks=False)
    check(tmp_path / "copied", {0: 0, 1: 0, 2: 0})


def test_steps_whose_store_is_gone_are_left_out(tmp_path: Path) -> None:
    write_whole(tmp_path, range(6))
    for step in (0, 3):
        shutil.rmtree(tmp_path / f"fields/u_{step:06d}.zarr")
    write_whole(tmp_path, (6, 7))
    check(tmp_path, dict.fromkeys((1, 2, 4, 5, 6, 7), 0))


def test_steps_of_another_encoding_are_refused(tmp_path: Path) -> None:
    write_whole(tmp_path, (0, 1))
    done = write(tmp_path, (2,), compress="deflate:1")
    assert done.returncode != 0
    assert 'compress = "zstd:1", checksums = true' in done.stderr
    check(tmp_path, {0: 0, 1: 0})


def test_another_store_is_not_replaced(tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "fields.zarr", shape=3, dtype="i4")[:] = 7
    done = write(tmp_path, (0,))
    assert done.returncode != 0
    assert "is a store of another kind" in done.stderr
    assert zarr.open_array(tmp_path / "fields.zarr")[0] == 7


def seen(folder: Path) -> int:
    """The number of steps that a reader finds at this moment; the last one must be whole."""
    if not (folder / "fields.zarr/zarr.json").exists():
        return 0
    group = zarr.open_group(folder / "fields.zarr", mode="r")
    if "u" not in group:
        return 0
    count: int = group["u"].shape[0]
    if count:
        last = group["u"][count - 1]
        assert last.min() == last.max() >= 0, "half a step"
        assert (group["step"][...] >= 0).all()
    return count


@pytest.mark.parametrize("kind", ["none", "hidden", "thread"])
def test_killed_at_any_moment_it_holds_all_complete_steps(tmp_path: Path, kind: str) -> None:
    kills = killer()
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chance = random.Random(seed)
    (tmp_path / "fields").mkdir()
    whole: dict[int, int] = {}
    for attempt in range(4):
        first = max(0, len(whole) - chance.randrange(1, 4))  # as from an older checkpoint
        with subprocess.Popen(
            [MPIRUN, "-n", "2", sys.executable, str(PROGRAM), str(tmp_path), kind, "auto",
             str(attempt), f"{first}:1000000", "1", "zstd:1", "zarr"],
            env={**os.environ, **MPI_ENV}, stdout=subprocess.PIPE, text=True,
        ) as job:  # fmt: skip
            assert job.stdout is not None
            told = [int(job.stdout.readline()) for _ in range(3)]
            counts = []
            end = time.monotonic() + chance.uniform(0.05, 0.6)
            while time.monotonic() < end:
                counts.append(seen(tmp_path))
            assert counts == sorted(counts), "steps have gone from the series"
            kills.kill([*kills.descendants(job.pid), job.pid])
            told += [int(line) for line in job.stdout if line.strip().isdigit()]
        count = seen(tmp_path)
        assert count > told[-1], "a step that was told is not in the series"
        whole = {step: whole[step] for step in whole if step < first}
        whole |= dict.fromkeys(range(first, count), attempt)
        check(tmp_path, whole, killed=True)
