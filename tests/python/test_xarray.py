# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of xarray come back as they were: xarray's own tests of its engines, and random ones."""

import re
import sys
from pathlib import Path

import pytest
from test_face import HERE, run

for _package in ("xarray", "h5netcdf", "netCDF4", "zarr"):
    pytest.importorskip(_package)


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
