# SPDX-License-Identifier: BSD-3-Clause
"""Thousands of variables in one file: `mpirun -n N python many_variables_program.py FOLDER`."""

import sys
import traceback
from pathlib import Path

import h5netcdf
import h5py
import netCDF4
import numpy as np
from mpi4py import MPI

import tailrace

COMM = MPI.COMM_WORLD
FOLDER = Path(sys.argv[1])
COUNT = 5000
AXES = (("y", "x"), ("x",), ("z", "y", "x"), ("w",))  # w and z have no coordinates
SIZES = {"x": 4, "y": 3, "z": 2, "w": 5}


def write(path: Path, count: int) -> dict[str, tuple[str, ...]]:
    variables, dims_of = {}, {}
    layouts = [tailrace.slabs([SIZES[dim] for dim in dims], 0, COMM.size) for dims in AXES]
    arrays = [np.zeros(layout.shape(COMM.rank), "float32") for layout in layouts]
    for number in range(count):
        dims = AXES[number % len(AXES)]
        place = number % len(AXES)
        name = f"v{number}"
        variables[name] = tailrace.Variable(arrays[place], layouts[place], list(dims))
        dims_of[name] = dims
    coordinates = {"x": np.arange(4), "y": np.arange(3.0), "label": ("x", ["a", "b", "c", "d"])}
    with tailrace.Output(COMM, "none") as output:
        output.write(path, variables, coordinates=coordinates)
    return dims_of | {"x": ("x",), "y": ("y",), "label": ("x",)}


def check(path: Path, dims_of: dict[str, tuple[str, ...]]) -> None:
    with netCDF4.Dataset(path) as file:
        assert {name: one.dimensions for name, one in file.variables.items()} == dims_of
        assert {name: len(one) for name, one in file.dimensions.items()} == SIZES
    if len(dims_of) < 100:  # which takes it a second for a thousand, and four for two
        with h5netcdf.File(path, "r") as file:
            assert {name: one.dimensions for name, one in file.variables.items()} == dims_of
    with h5py.File(path) as file:
        uses = dict.fromkeys(SIZES, 0)
        for name, dims in dims_of.items():
            if name in dims:
                assert h5py.h5ds.is_scale(file[name].id)
                continue
            for axis, dim in enumerate(dims):
                uses[dim] += 1
                # HDF5 looks for the dataset in the scale's list: only for some, as lists are long.
                if uses[dim] < 10:
                    assert file[name].dims[axis][0].name == f"/{dim}"
                    assert h5py.h5ds.is_attached(file[name].id, file[dim].id, axis)
                    others = [other for other in SIZES if other != dim]
                    assert not h5py.h5ds.is_attached(file[name].id, file[others[0]].id, axis)
        for dim, count in uses.items():
            used = file[dim].attrs["REFERENCE_LIST"]
            assert len(used) == count, f"{dim}: {len(used)} uses, not {count}"
            for place in (0, count // 2, count - 1):
                name = file[used[place]["dataset"]].name.lstrip("/")
                assert dims_of[name][used[place]["dimension"]] == dim
        assert file["x"].attrs["CLASS"] == b"DIMENSION_SCALE"
    # Other programs add and take away scales with HDF5's own calls.
    with h5py.File(path, "a") as file:
        file["more"] = np.zeros(4)
        file["more"].dims[0].attach_scale(file["x"])
        file["v0"].dims[1].detach_scale(file["x"])
        assert h5py.h5ds.is_attached(file["more"].id, file["x"].id, 0)
        assert not h5py.h5ds.is_attached(file["v0"].id, file["x"].id, 1)
        assert h5py.h5ds.is_attached(file["v1"].id, file["x"].id, 0)


def main() -> None:
    for count in (12, COUNT):
        path = FOLDER / f"many-{count}.h5"
        dims_of = write(path, count)
        if COMM.rank == 0:
            check(path, dims_of)
        COMM.Barrier()
    if COMM.rank == 0:
        print(f"{COUNT} variables passed")


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        COMM.Abort(1)
