# SPDX-License-Identifier: BSD-3-Clause
"""Time to open a run as one data set.

`series_opening.py FOLDER [NUM_STEPS] [STEPS_PER_FILE]`

Writes NUM_STEPS (1,000) steps of a field of 6 x 4 x 5 items with `Output(series=...)`, merged into
files of STEPS_PER_FILE (1, or auto). Opens them with h5py, with both engines of xarray, and, where
dask is installed, with `open_mfdataset`; and reads one point at all steps.
"""

import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import xarray
from mpi4py import MPI

import tailrace

SHAPE = (6, 4, 5)


def timed(what: str, action: Callable[[], object]) -> None:
    start = time.perf_counter()
    action()
    print(f"{what:<44}{time.perf_counter() - start:10.4f} s", flush=True)


def write(folder: Path, num_steps: int, steps_per_file: str) -> None:
    comm = MPI.COMM_WORLD
    layout = tailrace.slabs(SHAPE, axis=0, num_ranks=comm.size)
    u = np.zeros(layout.shape(comm.rank))
    series = f"{folder / 'fields.h5'} steps_per_file={steps_per_file}"
    with tailrace.Output(comm, series=series) as output:
        for step in range(num_steps):
            path = folder / f"fields/u_{step:06d}.h5"
            output.write(path, {"u": u}, layout, step=step, attributes={"time": 0.1 * step})


def open_with_h5py(path: Path) -> None:
    with h5py.File(path) as file:
        print(file["u"].shape, end=" ")


def open_with_xarray(path: Path, engine: str) -> None:
    with xarray.open_dataset(path, engine=engine) as data:
        print(dict(data.sizes), end=" ")


def read_point_with_h5py(path: Path) -> None:
    with h5py.File(path) as file:
        print(file["u"][:, 3, 2, 1].size, end=" ")


def read_point_with_xarray(path: Path, engine: str) -> None:
    with xarray.open_dataset(path, engine=engine) as data:
        print(data["u"].isel(z=3, y=2, x=1).values.size, end=" ")


def main() -> None:
    folder = Path(sys.argv[1])
    num_steps = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    steps_per_file = sys.argv[3] if len(sys.argv) > 3 else "1"
    (folder / "fields").mkdir(parents=True)
    timed(f"{num_steps} steps written", lambda: write(folder, num_steps, steps_per_file))
    print(f"{sum(path.is_file() for path in folder.rglob('*'))} files")
    path = folder / "fields.h5"
    timed("h5py", lambda: open_with_h5py(path))
    timed("xarray, netcdf4", lambda: open_with_xarray(path, "netcdf4"))
    timed("xarray, h5netcdf", lambda: open_with_xarray(path, "h5netcdf"))
    timed("a point at all steps, h5py", lambda: read_point_with_h5py(path))
    timed("the same, xarray, netcdf4", lambda: read_point_with_xarray(path, "netcdf4"))
    timed("the same, xarray, h5netcdf", lambda: read_point_with_xarray(path, "h5netcdf"))
    if importlib.util.find_spec("dask") is None or steps_per_file != "1":
        return
    files = sorted((folder / "fields").glob("*.h5"))
    timed("xarray, open_mfdataset", lambda: xarray.open_mfdataset(files, combine="nested",
                                                                  concat_dim="time"))  # fmt: skip


main()
