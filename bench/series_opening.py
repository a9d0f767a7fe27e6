# SPDX-License-Identifier: BSD-3-Clause
"""Time to open a run as one data set: `series_opening.py FOLDER [NUM_STEPS]`.

Writes NUM_STEPS (1,000) steps of a field of 6 x 4 x 5 items with `Output(series=...)`, and opens
them with h5py, with both engines of xarray, and, where dask is installed, with `open_mfdataset`.
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


def write(folder: Path, num_steps: int) -> None:
    comm = MPI.COMM_WORLD
    layout = tailrace.slabs(SHAPE, axis=0, num_ranks=comm.size)
    u = np.zeros(layout.shape(comm.rank))
    with tailrace.Output(comm, series=folder / "fields.h5") as output:
        for step in range(num_steps):
            path = folder / f"fields/u_{step:06d}.h5"
            output.write(path, {"u": u}, layout, step=step, attributes={"time": 0.1 * step})


def open_with_h5py(path: Path) -> None:
    with h5py.File(path) as file:
        print(file["u"].shape, end=" ")


def open_with_xarray(path: Path, engine: str) -> None:
    with xarray.open_dataset(path, engine=engine) as data:
        print(dict(data.sizes), end=" ")


def main() -> None:
    folder = Path(sys.argv[1])
    num_steps = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    (folder / "fields").mkdir(parents=True)
    timed(f"{num_steps} steps written", lambda: write(folder, num_steps))
    path = folder / "fields.h5"
    timed("h5py", lambda: open_with_h5py(path))
    timed("xarray, netcdf4", lambda: open_with_xarray(path, "netcdf4"))
    timed("xarray, h5netcdf", lambda: open_with_xarray(path, "h5netcdf"))
    if importlib.util.find_spec("dask") is None:
        return
    files = sorted((folder / "fields").glob("*.h5"))
    timed("xarray, open_mfdataset", lambda: xarray.open_mfdataset(files, combine="nested",
                                                                  concat_dim="time"))  # fmt: skip


main()
