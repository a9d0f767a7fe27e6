# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of xarray come back as they were: xarray's own tests of its engines, and random ones."""

import re
import sys
from pathlib import Path

import pytest
from test_face import HERE, run

from tailrace.errors import TailraceError

for _package in ("xarray", "h5netcdf", "netCDF4", "zarr"):
    pytest.importorskip(_package)
from tailrace.xarray_engine import TailraceBackend  # noqa: E402 (which needs xarray)


def test_xarrays_own_tests(tmp_path: Path) -> None:
    """Those of its engines h5netcdf and netcdf4, and its strategies of hypothesis."""
    done = run(
        1, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest",
        "-p", "xarray.tests.conftest", "-W", "default",
        f"--basetemp={tmp_path}", HERE / "xarray_io_tests.py",
        limit_s=400, TAILRACE_TUNE="off", PYTHONWARNINGS="default",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout
    assert int(passed[1]) > 100, done.stdout
    sys.stdout.write(done.stdout[-400:])


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_random_datasets(ranks: int, tmp_path: Path) -> None:
    done = run(
        ranks, HERE / "xarray_types_program.py", tmp_path, TAILRACE_TUNE="off",
        PYTHONWARNINGS="default",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "datasets passed" in done.stdout


def test_the_folder_of_a_run(tmp_path: Path) -> None:
    """It opens as the series of its steps; another folder is refused with what to give."""
    xarray = pytest.importorskip("xarray")
    (tmp_path / "run").mkdir()
    steps = xarray.Dataset({"u": (("time", "x"), [[1.0, 2.0], [3.0, 4.0]])})
    steps.to_netcdf(tmp_path / "run/fields.h5", engine="h5netcdf")
    for engine in (TailraceBackend, "tailrace"):
        if engine == "tailrace" and engine not in xarray.backends.list_engines():
            continue  # the package is not installed, only in the path
        with xarray.open_dataset(str(tmp_path / "run"), engine=engine) as found:
            assert found.equals(steps), engine
    assert TailraceBackend().guess_can_open(tmp_path / "run")
    assert not TailraceBackend().guess_can_open(tmp_path)
    assert not TailraceBackend().guess_can_open(tmp_path / "run/fields.h5")
    with pytest.raises(TailraceError, match=r"without fields\.h5; give a file, or the folder of a"):
        xarray.open_dataset(tmp_path, engine=TailraceBackend)
