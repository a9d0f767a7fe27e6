# SPDX-License-Identifier: BSD-3-Clause
"""Files of h5py and netCDF4, read by `Input` and by the engine of xarray on the ranks of a job.

`mpirun -n N python foreign_files_program.py FOLDER`. Every type of items in every shape, one file
each, beside an array of plain numbers, which has to be read whatever stands beside it.
"""

import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import xarray
from mpi4py import MPI

import tailrace
import tailrace.xarray
from tailrace.xarray_engine import TailraceBackend

COMM = MPI.COMM_WORLD
FOLDER = Path(sys.argv[1])
PLAIN = np.arange(8.0)
SHAPES = {
    "scalar": (), "1 axis": (8,), "2 axes": (8, 3), "3 axes": (8, 1, 2), "4 axes": (8, 1, 2, 1),
    "5 axes": (8, 1, 1, 2, 1), "6 axes": (8, 1, 1, 1, 2, 1), "empty": (0, 3), "one item": (1,),
    "fewer records than ranks": (1, 3),
}  # fmt: skip
RECORD = np.dtype([("a", "i4"), ("b", "f8")])
COLOURS = h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 300}, "<i2")
NUMBERS = {
    name: np.dtype(name)
    for order in "<>"
    for name in (f"{order}{kind}" for kind in
                 ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"))
}  # fmt: skip
OTHERS = {
    "bool": np.dtype(bool), "enumeration": COLOURS, "bit field": h5py.h5t.STD_B16LE,
    "text": h5py.string_dtype(), "text of ASCII": h5py.string_dtype("ascii"),
    "fixed text": np.dtype("S6"), "fixed UTF-8": h5py.string_dtype("utf-8", 6),
    "compound": RECORD, "long double": np.dtype("g"), "lists": h5py.vlen_dtype("i4"),
    "references": h5py.ref_dtype, "opaque": np.dtype("V3"), "arrays": np.dtype(("f4", (3,))),
    "times": h5py.opaque_dtype("<M8[s]"),
}  # fmt: skip
# What `Input` reads, and the engine of xarray, of any number of axes that they take.
OF_INPUT = {*NUMBERS, "bool", "enumeration", "bit field", "long double"}
OF_ENGINE = {*OF_INPUT, "text", "text of ASCII", "fixed text", "fixed UTF-8", "compound", "opaque",
             "times"}  # fmt: skip


def values_of(kind: str, shape: tuple[int, ...]) -> Any:
    """Return an array of items that differ, or None where there is nothing to choose."""
    index = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    simple = {
        "bool": index % 3 == 1,
        "enumeration": np.asarray(np.array([0, 1, 300])[index % 3], COLOURS),
        "long double": index.astype("g") / 4,
    }  # fmt: skip
    if kind in NUMBERS or kind in simple:
        return index.astype(NUMBERS[kind]) if kind in NUMBERS else simple[kind]
    if kind in ("text", "text of ASCII", "fixed text", "fixed UTF-8"):
        letter = "å" if "UTF-8" in kind or kind == "text" else "a"
        texts = [(letter * (i % 3) + str(i)) for i in index.ravel()]
        kept = [t.encode() for t in texts] if "fixed" in kind else texts
        return np.array(kept, OTHERS[kind] if "fixed" in kind else object).reshape(shape)
    if kind == "compound":
        made = np.zeros(shape, RECORD)
        made["a"] = index
        return made
    return None


def make(path: Path, kind: str, shape: tuple[int, ...]) -> None:
    with h5py.File(path, "w") as file:
        file["plain"] = PLAIN
        if kind == "bit field":
            space = h5py.h5s.create_simple(shape) if shape else h5py.h5s.create(h5py.h5s.SCALAR)
            made = h5py.h5d.create(file.id, b"v", OTHERS[kind], space)
            if 0 not in shape:
                bits = np.arange(np.prod(shape, dtype=int), dtype="u2").reshape(shape)
                made.write(h5py.h5s.ALL, h5py.h5s.ALL, bits, mtype=h5py.h5t.NATIVE_B16)
            return
        values = values_of(kind, shape)
        dtype = NUMBERS.get(kind, OTHERS.get(kind))
        if values is None:
            file.create_dataset("v", shape, dtype=dtype)
        else:
            file.create_dataset("v", data=values, dtype=dtype)


def alike(found: Any, wanted: Any, what: str) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, f"{what}: shape {found.shape}, not {wanted.shape}"
    assert np.array_equal(found, wanted), f"{what}: {found.ravel()[:9]}, not {wanted.ravel()[:9]}"


def check_input(path: Path, kind: str, shape: tuple[int, ...]) -> None:
    with tailrace.Input(COMM, path) as file:
        layout = tailrace.slabs((8,), 0, COMM.size)
        alike(file.read("plain", layout), PLAIN[layout.box(COMM.rank).slices], "plain")
        if kind not in OF_INPUT or len(shape) > 5:
            try:
                file.extents("v")
            except tailrace.InvalidInput as error:
                assert "dataset v " in str(error), error
                return
            raise AssertionError("is not refused")
        with h5py.File(path) as truth:
            wanted = truth["v"][()]
        assert file.extents("v") == (shape or (1,)), file.extents("v")
        assert file.dtype("v").kind == {"b": "i"}.get(wanted.dtype.kind, wanted.dtype.kind)
        alike(file.read_all("v").reshape(shape), wanted, "read_all")
        if shape:
            layout = tailrace.slabs(shape, 0, COMM.size)
            part = file.read("v", layout)
            if layout.num_items(COMM.rank):
                alike(part, wanted[layout.box(COMM.rank).slices], "read")


def check_engine(path: Path, kind: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", ".*left out")
        found = xarray.open_dataset(path, engine=TailraceBackend, comm=COMM)
    said = " ".join(str(one.message) for one in caught if "left out" in str(one.message))
    alike(tailrace_whole(found["plain"]), PLAIN, "plain")
    if kind not in OF_ENGINE:
        assert "v" not in found or not said
        assert COMM.rank > 0 or "v" in found or "v (" in said, f"no warning: {said}"
        return
    assert not said, said
    with xarray.open_dataset(path, engine="h5netcdf") as truth:
        wanted = truth["v"].load()
    assert found["v"].dims == wanted.dims
    assert found["v"].dtype.newbyteorder("=") == wanted.dtype.newbyteorder("=")
    alike(tailrace_whole(found["v"], wanted.shape), wanted.values, "v")


def tailrace_whole(part: Any, shape: tuple[int, ...] | None = None) -> Any:
    """Return an array of all ranks, joined along the axis that is distributed."""
    parts = COMM.allgather(part.values)
    if shape is not None and parts[0].shape == shape:  # all have it whole
        return parts[0]
    for axis in range(part.ndim):
        joined = np.concatenate(parts, axis) if parts[0].ndim else parts[0]
        if shape is None or joined.shape == shape:
            return joined
    raise AssertionError(f"parts {[one.shape for one in parts]} of {shape}")


def netcdf_files() -> dict[str, Callable[[Any], None]]:
    """Return files of netCDF4, by what is in them beside `plain`."""

    def with_type(file: Any) -> None:
        file.createVariable("e", file.createEnumType("u1", "e_t", {"a": 0, "b": 1}), ("x",))[:] = 1
        file.createVariable("c", file.createCompoundType(RECORD, "c_t"), ("x",))
        file.createVariable("l", file.createVLType("i4", "l_t"), ("x",))

    def texts(file: Any) -> None:
        file.createVariable("s", str, ("x",))[:] = np.array(list("abcdefgh"), object)
        file.createDimension("letters", 4)
        letters = netCDF4.stringtochar(np.array(["ab", "c"] * 4, "S4"))
        file.createVariable("n", "S1", ("x", "letters"))[:] = letters

    def no_records(file: Any) -> None:
        file.createDimension("time", None)
        file.createVariable("time", "f8", ("time",)).units = "days since 2000-01-01"
        file.createVariable("u", "f4", ("time", "x"))

    def some_records(file: Any) -> None:
        no_records(file)
        file["time"][:] = [0.5]
        file["u"][0] = PLAIN
        file.createVariable("fewer", "i4", ("time",))  # no record, where `time` has one

    def names(file: Any) -> None:
        file.createDimension("y", 2)
        file.createVariable("y", "f4", ("x",))[:] = PLAIN  # not the coordinate of y
        file.createVariable("of_y", "f4", ("y",))[:] = 3

    def scalars(file: Any) -> None:
        file.createVariable("one", "i8", ()).assignValue(2**53 + 1)
        file.createVariable("text", str, ())[...] = "abc"

    def packed(file: Any) -> None:
        v = file.createVariable("v", ">i2", ("x",), fill_value=-1, zlib=True, endian="big")
        v.scale_factor, v.add_offset = np.float32(0.5), np.float32(2)
        v[:] = np.ma.masked_equal(PLAIN, 3)

    def bare(_: Any) -> None:
        pass

    return {
        "types": with_type, "texts": texts, "no records": no_records, "records": some_records,
        "names": names, "scalars": scalars, "packed": packed, "bare": bare,
    }  # fmt: skip


def check_netcdf(path: Path, split: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = tailrace.xarray.open_dataset(path, COMM, split=split)
        with xarray.open_dataset(path, engine="netcdf4", drop_variables="l") as truth:
            whole = truth.load()
    split = split or (next(iter(found["plain"].dims)))
    layout = tailrace.slabs((whole.sizes[split],), 0, COMM.size)
    part = layout.box(COMM.rank)
    wanted = whole.isel({split: slice(part.start[0], part.start[0] + part.extents[0])})
    if "c" in whole:  # xarray's engines differ in the padding of compounds
        alike(found["c"].values["a"], wanted["c"].values["a"], "compound")
        found, wanted = found.drop_vars("c"), wanted.drop_vars("c")
    xarray.testing.assert_equal(found, wanted)


# Ways to pack chunks. h5py has lzf, and the HDF5 library of Tailrace, as a rule, has not.
PACKED = {
    "gzip": {"compression": "gzip"}, "shuffle": {"compression": "gzip", "shuffle": True},
    "checksum": {"fletcher32": True}, "offset": {"scaleoffset": 4}, "lzf": {"compression": "lzf"},
    "unknown": {},
}  # fmt: skip
UNKNOWN_FILTER = 511  # for tests


def make_packed(path: Path, kind: str, extents: tuple[int, ...]) -> None:
    values = np.arange(np.prod(extents), dtype="i4").reshape(extents) // 3
    with h5py.File(path, "w") as file:
        file["plain"] = PLAIN
        if kind != "unknown":
            chunks = tuple(max(1, n // 2) for n in extents)
            file.create_dataset("v", data=values, chunks=chunks, **PACKED[kind])
            return
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        create.set_chunk(extents)
        create.set_filter(UNKNOWN_FILTER, h5py.h5z.FLAG_OPTIONAL)
        space = h5py.h5s.create_simple(extents)
        made = h5py.h5d.create(file.id, b"v", h5py.h5t.NATIVE_INT32, space, create)
        made.write_direct_chunk((0,) * len(extents), b"packed by nobody")


def check_packed(path: Path, kind: str, extents: tuple[int, ...]) -> None:
    wanted = np.arange(np.prod(extents), dtype="i4").reshape(extents) // 3
    with tailrace.Input(COMM, path) as file:
        layout = tailrace.slabs((8,), 0, COMM.size)
        alike(file.read("plain", layout), PLAIN[layout.box(COMM.rank).slices], "plain")
        assert file.extents("v") == extents
        try:
            alike(file.read_all("v"), wanted, "read_all")
            assert kind != "unknown"
        except tailrace.InvalidInput as error:
            number = {"lzf": "32000", "unknown": str(UNKNOWN_FILTER)}[kind]
            assert "dataset v is compressed by filter" in str(error), error
            assert number in str(error), error
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", ".*left out")
        found = xarray.open_dataset(path, engine=TailraceBackend, comm=COMM)
    said = " ".join(str(one.message) for one in caught if "left out" in str(one.message))
    alike(tailrace_whole(found["plain"], (8,)), PLAIN, "plain")
    if kind == "unknown":
        assert "v" not in found
        assert COMM.rank > 0 or "v (" in said, f"no warning: {said}"
    else:
        assert not said, said
        assert found["v"].dtype == "i4"
        alike(tailrace_whole(found["v"], extents), wanted, "v")


def attributes() -> dict[str, Any]:
    """Return attributes of every type: alone, in lists of 0, 1 and 3, and with odd letters."""
    made: dict[str, Any] = {}
    for name, dtype in NUMBERS.items():
        limits = np.finfo(dtype) if dtype.kind in "fc" else np.iinfo(dtype)
        items = np.array([limits.max, limits.min, 1], dtype.base)
        made[name] = items[0]
        made |= {f"{name} {n}": items[:n] for n in (0, 1, 3)}
    texts = np.array(["sea", "", "å"], h5py.string_dtype())
    return {
        **made, "true": True, "truths": np.array([True, False]), "text": "å b ", "none": "",
        "texts": texts, "one text": texts[:1], "bytes": np.bytes_(b"a\0b"),
        "no number": h5py.Empty("f4"), "matrix": np.zeros((2, 2)), "record": np.zeros((), RECORD),
        "records": np.zeros(2, RECORD), "latin-1": np.bytes_(b"\xe5"),
    }  # fmt: skip


def check_attributes(path: Path) -> None:
    refused = {"matrix": "2 dimensions", "record": "compound", "records": "compound"}
    with tailrace.Input(COMM, path) as file:
        for name, value in attributes().items():
            if name in refused:
                try:
                    raise AssertionError(f"{name} is read: {file.attribute(name)}")
                except tailrace.InvalidInput as error:
                    assert name in str(error) and refused[name] in str(error), error
                continue
            found = file.attribute(name)
            if isinstance(value, h5py.Empty):
                wanted: Any = np.array([], value.dtype)
            elif isinstance(value, np.bytes_):
                wanted = value.decode("utf-8", "surrogateescape")
            else:
                wanted = value
            alike(found, wanted, name)
            assert isinstance(found, list | np.ndarray) == (np.ndim(wanted) == 1), (
                f"{name}: {found}"
            )
            kept = np.asarray(wanted).dtype
            if kept.kind in "biufc" and np.size(wanted):
                exact = kept.newbyteorder("=")
                assert np.asarray(found).dtype == exact, f"{name}: {np.asarray(found).dtype}"
        try:
            raise AssertionError(file.attribute("absent"))
        except KeyError:
            pass


def attempt(faults: list[str], name: str, check: Callable[..., None], *arguments: Any) -> None:
    try:
        check(*arguments)
    except Exception as error:
        trace = traceback.format_exc().splitlines()[-3:]
        faults.append(f"{name}: {type(error).__name__}: {error} {trace}")


def attempt_packed(faults: list[str]) -> int:
    every = [(kind, extents) for kind in PACKED for extents in ((8,), (9, 4), (4, 3, 2))]
    for kind, extents in every:
        path = FOLDER / f"{COMM.size}-packed-{kind}-{len(extents)}.h5"
        if COMM.rank == 0:
            make_packed(path, kind, extents)
        COMM.Barrier()
        attempt(faults, f"packed: {kind}, {extents}", check_packed, path, kind, extents)
    return len(every)


def main() -> None:
    warnings.filterwarnings("ignore", "The 'phony_dims' kwarg")  # of h5netcdf
    faults: list[str] = []
    cases = 0
    # One rank takes all of them, 2, 3 and 4 ranks a third each.
    every = [(k, s) for k in (*NUMBERS, *OTHERS) for s in SHAPES]
    for number, (kind, words) in enumerate(every):
        if COMM.size == 1 or number % 3 == COMM.size % 3:
            shape = SHAPES[words]
            path = FOLDER / f"{COMM.size}-{kind.strip('<>')}{kind[0] == '>'}-{words}.h5"
            if COMM.rank == 0:
                make(path, kind, shape)
            COMM.Barrier()
            attempt(faults, f"Input: {kind}, {words}", check_input, path, kind, shape)
            attempt(faults, f"xarray: {kind}, {words}", check_engine, path, kind)
            cases += 1
    path = FOLDER / f"{COMM.size}-attributes.h5"
    if COMM.rank == 0:
        with h5py.File(path, "w") as file:
            file.attrs.update(attributes())
    COMM.Barrier()
    attempt(faults, "attributes", check_attributes, path)
    cases += attempt_packed(faults)
    for words, fill in netcdf_files().items():
        path = FOLDER / f"{COMM.size}-{words}.nc"
        if COMM.rank == 0:
            with netCDF4.Dataset(path, "w") as file:
                file.createDimension("x", 8)
                file.createVariable("plain", "f8", ("x",))[:] = PLAIN
                fill(file)
        COMM.Barrier()
        for split in ("x", "time") if "records" in words else ("x", None):
            attempt(faults, f"{words}, {split}", check_netcdf, path, split)
            cases += 1
    found = COMM.allgather(faults)
    if COMM.rank == 0:
        for rank, its in enumerate(found):
            for fault in its:
                print(f"rank {rank}: {fault}")
        print(f"{cases} cases", "passed" if not any(found) else "FAILED")
    sys.exit(any(found))


if __name__ == "__main__":
    try:
        main()
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        COMM.Abort(1)
