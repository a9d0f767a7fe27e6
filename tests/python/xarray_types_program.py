# SPDX-License-Identifier: BSD-3-Clause
"""Random datasets of all types over the ranks: `mpirun -n N python xarray_types_program.py FOLDER`.

Without distributed axes, with one, or with two; each is read by all engines, and by the ranks.
"""

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
TYPES = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "bool", ">i2", ">i4", ">u8", ">f2", ">f4", ">f8", "U", "object", "text", "S",
    "datetime64[s]", "datetime64[ms]", "datetime64[us]", "datetime64[ns]",
    "timedelta64[s]", "timedelta64[ns]",
)  # fmt: skip
COMPLEX = ("complex64", "complex128", ">c8")
WORDS = ["", "a", "salt", "Δψ → ☃", "a b", "x" * 300, "1"]
SIZES = {"t": 3, "y": 7, "x": 8, "none": 0, "one": 1}
TEXTS = ("U", "object", "text", "S")


def values(random: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    if dtype in TEXTS:
        words = random.choice(np.array(WORDS, object), shape)
        made = np.empty(shape, object)
        made[...] = words
        if dtype == "S":
            return np.char.encode(np.where(made == "Δψ → ☃", "ab", made).astype("U9"), "ascii")
        return made.astype("U300") if dtype == "U" else made if dtype == "object" else text(made)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return random.random(shape) > 0.5
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        made = random.integers(limits.min, limits.max, shape, kind.newbyteorder("="), endpoint=True)
        return made.astype(kind)
    if kind.kind in "Mm":
        unit = np.datetime_data(kind)[0]
        seconds = random.integers(-(10**9), 10**9, shape)
        factor = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
        made = (seconds * factor + random.integers(0, factor, shape)).astype(kind)
        return (
            made
            if random.random() < 0.5
            else np.where(random.random(shape) < 0.2, kind.type("NaT"), made)
        )
    made = random.normal(size=shape) * 10.0 ** random.integers(-4, 4, shape)
    if kind.kind == "c":
        made = made + 1j * random.normal(size=shape)
    elif random.random() < 0.5:
        made = np.where(random.random(shape) < 0.2, np.nan, made)
    return made.astype(kind)


def text(made: np.ndarray) -> np.ndarray:
    """NumPy's texts of any length."""
    return made.astype(np.dtypes.StringDType())


def dataset(seed: int, with_complex: bool) -> xarray.Dataset:
    """The same on all ranks: a variable of each type, labels, scalars, coordinates of two axes."""
    random = np.random.default_rng(seed)
    all_types = (*TYPES, *(COMPLEX if with_complex else ()))
    data: dict[str, Any] = {}
    coords: dict[str, Any] = {}
    for number, dtype in enumerate(all_types):
        count = int(random.integers(0, 4))
        dims = tuple(map(str, random.permutation(list(SIZES))[:count]))
        if random.random() < 0.8:
            dims = tuple(dim for dim in dims if dim != "none")
        made = values(random, dtype, tuple(SIZES[dim] for dim in dims))
        where = coords if random.random() < 0.3 else data
        where[f"v{number}"] = (dims, made, {"number": number, "about": dtype})
    for dim in random.permutation(["t", "y", "x"])[: int(random.integers(0, 4))]:
        dtype = str(random.choice([one for one in all_types if one != "bool"]))
        coords[str(dim)] = ((str(dim),), values(random, dtype, (SIZES[str(dim)],)), {"axis": "?"})
    for name, dtype in (("lat", "float32"), ("lon", ">f8"), ("name", "U"), ("mask", "bool")):
        coords[name] = (("y", "x"), values(random, dtype, (7, 8)), {"about": dtype})
    data["field"] = (("t", "y", "x"), random.random((3, 7, 8)))
    return xarray.Dataset(data, coords, {"title": "random", "seed": seed})


def type_of(variable: Any) -> object:
    """The type of numbers; texts and times have several types in xarray."""
    dtype = np.dtype(variable.dtype)
    if dtype.char == "e":
        return np.dtype("float32")
    if dtype.kind in "biufc":
        return dtype.newbyteorder("=")
    return {"U": "text", "O": "text", "T": "text"}.get(dtype.kind, dtype.kind)


def compare(found: xarray.Dataset, right: xarray.Dataset, what: str) -> None:
    try:
        xarray.testing.assert_identical(found, right)
    except AssertionError as error:
        raise AssertionError(f"{what}: {error}") from error
    for name in right.variables:
        one, other = type_of(found[name]), type_of(right[name])
        assert one == other, f"{what}: {name}: {one}, not {other}"


def check(seed: int) -> None:
    with_complex = seed % 2 == 0  # which the netCDF-4 library does not know
    whole = dataset(seed, with_complex)
    names = (("y",), ("y", "x"), ("x",))[seed % 3]
    sizes = tuple(SIZES[name] for name in names)
    layout = (
        tailrace.slabs(sizes, 0, COMM.size)
        if len(names) == 1
        else tailrace.blocks(sizes, (1, COMM.size))
    )
    mine = whole.isel(dict(zip(names, layout.box(COMM.rank).slices, strict=True)))
    path = FOLDER / f"set-{seed}-{COMM.size}.nc"
    tailrace.xarray.write(mine, path, COMM, layout, dims=names)
    engines: tuple[Any, ...] = ("h5netcdf", TailraceBackend)
    for engine in engines if with_complex else (*engines, "netcdf4"):
        with xarray.open_dataset(path, engine=engine, decode_timedelta=True) as found:
            compare(found.load(), whole, f"{path} by {engine}")
    found = tailrace.xarray.open_dataset(path, COMM, layout, dims=names, decode_timedelta=True)
    compare(found, mine, f"{path} on the ranks")
    path.unlink(missing_ok=True) if COMM.rank == 0 else None
    COMM.Barrier()


def check_zarr(seed: int) -> None:
    whole = dataset(seed, False)
    whole = whole.drop_vars([n for n, v in whole.variables.items() if v.dtype.kind == "S"])
    layout = tailrace.slabs((7,), 0, COMM.size)
    mine = whole.isel(y=layout.box(COMM.rank).slices[0])
    path = FOLDER / f"set-{seed}-{COMM.size}.zarr"
    tailrace.xarray.write(mine, path, COMM, layout, dims=("y",))
    with xarray.open_zarr(path, decode_timedelta=True) as found:
        compare(found.load(), whole, f"{path}")


def main() -> None:
    count = 12 if COMM.size == 1 else 4
    for seed in range(count):
        check(seed)
    for seed in range(count // 4):
        check_zarr(seed)
    if COMM.rank == 0:
        print(f"{count} datasets passed")


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        COMM.Abort(1)
