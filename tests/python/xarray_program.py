# SPDX-License-Identifier: BSD-3-Clause
"""Datasets over the ranks of a job: `mpirun -n N python xarray_program.py FOLDER`."""

import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from mpi4py import MPI

import tailrace
import tailrace.xarray
from tailrace.xarray_engine import TailraceBackend

COMM = MPI.COMM_WORLD
FOLDER = Path(sys.argv[1])


def whole() -> xarray.Dataset:
    """The same dataset on all ranks."""
    random = np.random.default_rng(5)
    return xarray.Dataset(
        {
            "u": (("t", "y", "x"), random.random((3, 7, 8)), {"unit": "m/s"}),
            "n": (("t", "y", "x", "c"), random.integers(0, 99, (3, 7, 8, 2)).astype("int32")),
            "depth": (("y", "x"), random.random((7, 8)).astype("float32")),
            "land": (("y",), np.arange(7) > 3),
            "level": (("c",), np.array([1.5, 2.5])),
        },
        coords={
            "t": np.array(["2026-01-01", "2026-01-02", "2026-01-04"], "datetime64[ns]"),
            "y": ("y", np.arange(7.0), {"unit": "km"}),
            "x": np.arange(8.0) / 4,
            "latitude": (("y", "x"), random.random((7, 8))),
        },
        attrs={"title": "test", "version": 3, "scale": 0.5},
    )


def part(layout: tailrace.Layout, dims: tuple[str, ...]) -> xarray.Dataset:
    slices = layout.box(COMM.rank).slices
    return whole().isel(dict(zip(dims, slices, strict=True)))


def refused(action: Any, *words: str, kind: type = tailrace.Error) -> None:
    try:
        action()
    except kind as error:
        assert all(word in str(error) for word in words), str(error)
        return
    raise AssertionError(f"nothing was raised; expected {words}")


def main() -> None:
    path = FOLDER / f"set-{COMM.size}.nc"
    layout = tailrace.blocks((7, 8), (1, COMM.size))
    mine = part(layout, ("y", "x"))
    tailrace.xarray.write(mine, path, COMM, layout, dims=("y", "x"))
    for engine in ("h5netcdf", TailraceBackend):
        with xarray.open_dataset(path, engine=engine) as found:
            xarray.testing.assert_identical(found.load(), whole())
    xarray.testing.assert_identical(
        tailrace.xarray.open_dataset(path, COMM, layout, dims=("y", "x")), mine
    )
    rows = tailrace.slabs((7,), 0, COMM.size)
    for options in ({"split": "y"}, {"layout": rows, "dims": ["y"]}):
        found = tailrace.xarray.open_dataset(path, COMM, **options)
        xarray.testing.assert_identical(found, part(rows, ("y",)))
    found = xarray.open_dataset(path, engine=TailraceBackend, comm=COMM, split="x")
    xarray.testing.assert_identical(found, part(tailrace.slabs((8,), 0, COMM.size), ("x",)))
    with tailrace.Output(COMM) as output:  # in the background
        hidden = FOLDER / f"hidden-{COMM.size}.nc"
        tailrace.xarray.write(mine, hidden, COMM, layout, dims=("y", "x"), output=output)
    assert xarray.open_dataset(hidden, engine="h5netcdf")["u"].equals(whole()["u"])
    # What is wrong on one rank is raised on all.
    last = COMM.rank == COMM.size - 1
    write, wrong = tailrace.xarray.write, FOLDER / "wrong.nc"
    short = mine.isel(x=slice(1, None)) if last else mine
    refused(lambda: write(short, wrong, COMM, layout, dims=("y", "x")), "'x'", "layout says")
    odd = np.array([object()] * 7)
    objects = mine.assign(name=("y", odd))
    refused(lambda: write(objects, wrong, COMM, layout, dims=("y", "x")), "name")
    more = mine.assign(name=("y", ["a"] * 7)) if last else mine
    if COMM.size > 1:
        refused(lambda: write(more, wrong, COMM, layout, dims=("y", "x")), "name", "differs")
    refused(lambda: write(mine, wrong, COMM, layout, dims=("y",)), "axes")
    refused(lambda: write(mine, wrong, COMM, tailrace.slabs((7,), 0, COMM.size + 1)), "ranks")
    odd = mine.assign_attrs(odd=object())
    refused(lambda: write(odd, wrong, COMM, layout, dims=("y", "x")), "'odd'")
    refused(lambda: tailrace.xarray.open_dataset(path, COMM, split="w"), "'w'", "t")
    missing = FOLDER / "missing.nc"
    refused(lambda: tailrace.xarray.open_dataset(missing, COMM), "missing.nc", kind=OSError)
    assert not wrong.exists()
    if COMM.rank == 0:
        print("passed")


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        COMM.Abort(1)
