# SPDX-License-Identifier: BSD-3-Clause
"""Runs session_program with several kinds of servers; reads the files with xarray and h5py.

Usage: check_sessions.py FOLDER COMMAND... (the command that runs session_program)
Exit status 77 (skipped) if zarr is not installed.
"""

import pathlib
import shutil
import subprocess
import sys
import warnings

try:
    import h5py
    import numpy as np
    import xarray as xr
    import zarr
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

warnings.filterwarnings("ignore", category=UserWarning)  # zarr: codecs of numcodecs
SHAPE = (12, 14, 18)


def check_step(folder: pathlib.Path, step: int) -> None:
    u = np.arange(np.prod(SHAPE), dtype="f8").reshape(SHAPE) + step
    right = {"u": u, "mask": u.astype("u1"), "c": u.astype("c8")}
    with xr.open_zarr(folder / f"f{step}.zarr") as data:
        assert data.attrs["time"] == 0.25 * step
        for name, values in right.items():
            assert data[name].dtype == values.dtype and data[name].dims == ("z", "y", "x")
            np.testing.assert_array_equal(data[name], values)
        np.testing.assert_array_equal(data["x"], 0.5 * np.arange(18))
    with xr.open_zarr(folder / f"f{step}_turned.zarr") as data:
        for name, values in right.items():
            assert data[name].dims == ("x", "z", "y")
            np.testing.assert_array_equal(data[name], values.transpose(2, 0, 1))
    with xr.open_dataset(folder / f"f{step}_coarse.nc") as data:
        means = u.reshape(6, 2, 7, 2, 9, 2).mean(axis=(1, 3, 5))
        assert data["u"].dtype == np.float32
        np.testing.assert_allclose(data["u"], means, rtol=1e-6)
        np.testing.assert_array_equal(data["x"], 0.25 + np.arange(9))
    with h5py.File(folder / f"f{step}_plane.h5") as file:
        for name, values in right.items():
            np.testing.assert_array_equal(file[name][...], values[:, 3, :])
    small = folder / f"f{step}_small.zarr"
    assert small.exists() == (step % 2 == 0)
    if small.exists():
        array = zarr.open_array(small / "u", mode="r")
        assert array.shards is not None and array.attrs["tailrace_error_bound"] == 0.5
        assert np.abs(array[...] - u).max() <= 0.5


def main() -> int:
    top = pathlib.Path(sys.argv[1])
    shutil.rmtree(top, ignore_errors=True)
    for servers in ("none", "thread", "process", "1", "2"):
        folder = top / servers
        folder.mkdir(parents=True)
        subprocess.run([*sys.argv[2:], str(folder), servers], check=True)
        for step in range(4):
            check_step(folder, step)
        assert not list(folder.glob("*.partial"))
        print(f"servers = {servers}: all files are right")
    shutil.rmtree(top)
    return 0


if __name__ == "__main__":
    sys.exit(main())
