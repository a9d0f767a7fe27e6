# SPDX-License-Identifier: BSD-3-Clause
"""Attributes, coordinates and holes as other readers see them: all types, all kinds of output.

`mpirun -n N python kept_program.py FOLDER`
"""

import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import xarray
import zarr
from mpi4py import MPI

import tailrace

COMM = MPI.COMM_WORLD
FOLDER = Path(sys.argv[1])
LAST = COMM.rank == COMM.size - 1
REAL = (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "float16",
)
COMPLEX = ("complex64", "complex128")
KINDS = ("grouped", "file_per_rank", "hidden", "none", "thread", "process")

Write = Callable[..., str]


def numbers(dtype: str) -> np.ndarray:
    """Both ends of the type, and what a wider or narrower one would not hold."""
    kind = np.dtype(dtype)
    if kind.kind == "c":
        return np.array([1.5 - 2.25j, 0.1 + 1e30j, 3], dtype)
    if kind.kind == "f":
        return np.array([0.1, -1e30 if kind.itemsize > 2 else -60000, 3], dtype)
    limits = np.iinfo(kind)
    return np.array([limits.min, limits.max, limits.max - 1], dtype)


def attributes(zarr_store: bool) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for dtype in (*REAL, *(() if zarr_store else COMPLEX)):
        values = numbers(dtype)
        given[f"{dtype}_one"] = values[1]
        given[f"{dtype}_zero_axes"] = np.array(values[0])
        given[f"{dtype}_list"] = values
        given[f"{dtype}_list_of_one"] = values[:1]
        given[f"{dtype}_swapped"] = values.astype(values.dtype.newbyteorder())
        given[f"{dtype}_empty"] = values[:0]
    given |= {
        "bool_one": True, "numpy_bool": np.bool_(False), "bool_list": np.array([True, False]),
        "bool_list_of_one": [True], "bool_empty": np.array([], bool),
        "text": "salt", "text_empty": "", "text_unicode": "Δψ → \u2603", "text_zero": "a\0b\0c",
        "text_numpy": np.str_("land"), "text_bytes": b"plain",
        "texts": ["sea", "", "Δ"], "texts_numpy": np.array(["a", "bcd"]), "texts_of_one": ["sea"],
        "texts_empty": np.array([], "U1"), "texts_objects": np.array(["x", "yz"], object),
        "python_int": 2**53 + 1, "python_negative": -(2**63), "python_large": 2**64 - 1,
        "python_float": 0.1, "python_ints": [2**53 + 1, 2**53 + 3], "python_larges": (1, 2**63),
        "python_floats": [0.5, 1e300], "python_mixed": [1, 2.5], "python_empty": [],
        "nan": np.nan, "infinite": -np.inf, "unusual": [np.nan, np.inf, 1.0],
        "long_list": np.arange(20000.0), "long_text": "tau " * 20000,
    }  # fmt: skip
    if not zarr_store:
        given |= {"python_complex": 1 + 2j, "python_complexes": [1j, 2.0]}
    return given


def expected(value: Any) -> Any:
    """`value` as NumPy has it, with the type that a file keeps."""
    if isinstance(value, str | bytes):
        return value if isinstance(value, str) else value.decode()
    if isinstance(value, list | tuple) and value and isinstance(value[0], str):
        return list(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "UO":
        return value.tolist()
    if isinstance(value, tuple) and max(value) > 2**63 - 1:
        return np.array(value, "uint64")
    array = np.asarray(value)
    array = array.astype("float32" if array.dtype.char == "e" else array.dtype.newbyteorder("="))
    return array if array.ndim else array[()]


def same(found: Any, right: Any, typed: bool) -> bool:
    if isinstance(right, str):
        return bool((found.decode() if isinstance(found, bytes) else found) == right)
    if isinstance(right, list):
        return list(found) == right
    if typed and (found.dtype != right.dtype or np.shape(found) != np.shape(right)):
        return False
    nan = np.asarray(right).dtype.kind in "fc"
    return np.array_equal(np.asarray(found, right.dtype), right, equal_nan=nan)


def writer(kind: str) -> Iterator[Write]:
    """Something with `write` and, when it goes on, all files complete."""
    strategy = kind if kind in ("grouped", "file_per_rank") else "auto"
    servers = kind if strategy == "auto" else "none"
    with tailrace.Output(COMM, servers, strategy=strategy, memory_bytes=1 << 26) as output:
        yield output.write
        output.finish()


def check_hdf5(path: Path, given: dict[str, Any]) -> None:
    with h5py.File(path) as file:
        for where in (file, file["u"], file["x"], file["scalar"]):
            for name, value in given.items():
                found, right = where.attrs[name], expected(value)
                assert same(found, right, typed=True), (
                    f"{path} {where}: {name}: {found!r} {right!r}"
                )
        for dtype in (*REAL, *COMPLEX):
            assert same(file[f"axis_{dtype}"][:], numbers(dtype), typed=True), f"{path} {dtype}"
            assert same(file[f"one_{dtype}"][()], numbers(dtype)[1], typed=True), f"{path} {dtype}"
    with netCDF4.Dataset(path) as file:  # types that it does not know do not trouble it
        assert same(file["u"].getncattr("int16_list"), numbers("int16"), typed=True)
        assert file["one_int64"].shape == ()
    halves = ("axis_float16", "one_float16")  # which the netCDF-4 library crashes at
    for engine in ("h5netcdf", "netcdf4"):
        with xarray.open_dataset(path, engine=engine, drop_variables=halves) as data:
            assert data.u.dims == ("x",)
            assert data.axis_int64.values.tolist() == numbers("int64").tolist()


def check_zarr(path: Path, given: dict[str, Any]) -> None:
    group = zarr.open_group(path, mode="r")
    for where in (group, group["u"], group["x"], group["scalar"]):
        for name, value in given.items():
            found, right = where.attrs[name], expected(value)
            good = same(found, right, typed=False) and isinstance(found, list) == bool(
                np.ndim(right)
            )
            assert good, f"{path} {where}: {name}: {found!r} {right!r}"
    for dtype in (*REAL, *COMPLEX):
        assert same(group[f"axis_{dtype}"][:], numbers(dtype), typed=True), f"{path} {dtype}"
        assert same(group[f"one_{dtype}"][()], numbers(dtype)[1], typed=True), f"{path} {dtype}"
    with xarray.open_zarr(path) as data:
        assert data.u.dims == ("x",)
        assert data.one_float32.shape == ()


def case_types(kind: str, write: Write) -> list[Callable[[], None]]:
    """Every type, alone and in lists, of the file, a variable, a coordinate and a number."""
    layout = tailrace.slabs((6,), 0, COMM.size)
    u = np.zeros(layout.shape(COMM.rank))
    checks: list[Callable[[], None]] = []
    for suffix in (".h5", ".zarr"):
        path = FOLDER / f"types_{kind}{suffix}"
        given = attributes(suffix == ".zarr")
        coordinates: dict[str, Any] = {"x": (np.arange(6.0), given), "scalar": (1.5, given)}
        for dtype in (*REAL, *COMPLEX):
            coordinates[f"axis_{dtype}"] = numbers(dtype)
            coordinates[f"one_{dtype}"] = numbers(dtype)[1]
        write(path, {"u": tailrace.Variable(u, layout, ["x"], given)},
              attributes=given, coordinates=coordinates)  # fmt: skip
        check = check_zarr if suffix == ".zarr" else check_hdf5
        checks.append(lambda path=path, given=given, check=check: check(path, given))
    return checks


CF = ("missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks")


def case_types_of_the_variable(kind: str, write: Write) -> list[Callable[[], None]]:
    """Attributes that netCDF has in the type of the variable."""
    layout = tailrace.slabs((6,), 0, COMM.size)
    checks: list[Callable[[], None]] = []
    for suffix in (".h5", ".zarr"):
        path = FOLDER / f"cf_{kind}{suffix}"
        variables = {}
        for dtype in (*REAL, *COMPLEX):
            fill = numbers(dtype)[1]
            given = {name: [1, 0] if name.startswith(("flag", "valid_r")) else 1 for name in CF}
            if suffix == ".zarr" and dtype in COMPLEX:
                given = {}
            given |= {"_FillValue": fill.item(), "scale_factor": np.float32(0.5), "add_offset": 2.5}
            values = np.full(layout.shape(COMM.rank), fill, dtype)
            variables[dtype] = tailrace.Variable(values, layout, ["x"], given)
        write(path, variables)
        if suffix == ".h5":  # the netCDF-4 library crashes at arrays of float16
            write(path.with_suffix(".nc"), {k: v for k, v in variables.items() if k != "float16"})

        def check(path: Path = path, is_zarr: bool = suffix == ".zarr") -> None:
            if is_zarr:
                with xarray.open_zarr(path, mask_and_scale=False) as data:
                    for dtype in (*REAL, *COMPLEX):
                        fill = data[dtype].attrs["_FillValue"]
                        assert np.dtype(dtype).type(fill) == numbers(dtype)[1], (path, dtype, fill)
                with xarray.open_zarr(path, drop_variables=COMPLEX) as data:
                    assert np.isnan(data.float32).all()
                return
            with h5py.File(path) as file:
                for dtype in (*REAL, *COMPLEX):
                    found = file[dtype].attrs
                    assert found["_FillValue"] == numbers(dtype)[1], (path, dtype)
                    in_file = "float32" if dtype == "float16" else dtype
                    assert all(found[name].dtype == in_file for name in (*CF, "_FillValue")), path
                    assert file[dtype].fillvalue == numbers(dtype)[1]
                    assert found["scale_factor"].dtype == "float32"
                    assert found["add_offset"].dtype == "float64"
            with xarray.open_dataset(path, engine="h5netcdf", drop_variables=COMPLEX) as data:
                assert np.isnan(data.float16).all()
            others = path.with_suffix(".nc")
            with xarray.open_dataset(others, engine="netcdf4", drop_variables=COMPLEX) as data:
                assert np.isnan(data.float32).all()

        checks.append(check)
    return checks


def land(boxes: str) -> tailrace.Layout:
    """A layout of 9 x 8 items with two rows that no rank holds, or with scattered holes."""
    rows = [row for row in range(9) if row not in (3, 4)]
    if boxes == "rows":
        parts = [[tailrace.Box((r, 0), (1, 8)) for r in rows[i :: COMM.size]]
                 for i in range(COMM.size)]  # fmt: skip
    elif boxes == "first_rank":  # what the other servers' shares hold is the first rank's, too
        parts = [[tailrace.Box((0, 0), (7, 5))], *([[]] * (COMM.size - 1))]
    else:
        parts = [[tailrace.Box((r, 8 // COMM.size * i), (1, 1)) for r in rows]
                 for i in range(COMM.size)]  # fmt: skip
    return tailrace.from_boxes((9, 8), parts)


def case_holes(kind: str, write: Write) -> list[Callable[[], None]]:
    """Items that no rank holds are the fill value, or 0."""
    checks: list[Callable[[], None]] = []
    for suffix in (".h5", ".zarr"):
        for boxes in ("rows", "first_rank", "scattered"):
            path = FOLDER / f"holes_{boxes}_{kind}{suffix}"
            layout = land(boxes)
            mine = layout.boxes(COMM.rank)
            count = sum(box.num_items for box in mine)
            variables = {}
            for dtype in (*REAL, *COMPLEX):
                fill = {"_FillValue": numbers(dtype)[1]}
                ones = np.ones(count, dtype)
                variables[dtype] = tailrace.Variable(ones, layout, ["y", "x"], fill)
                variables[f"{dtype}_zero"] = tailrace.Variable(ones, layout, ["y", "x"])
            for _ in range(2):  # the buffers of the first step are used again
                write(path, variables)
            held = np.zeros((9, 8), bool)
            for rank in range(COMM.size):
                for box in layout.boxes(rank):
                    held[box.slices] = True

            def check(path: Path = path, held: np.ndarray = held) -> None:
                is_zarr = path.suffix == ".zarr"
                file = zarr.open_group(path, mode="r") if is_zarr else h5py.File(path)
                for dtype in (*REAL, *COMPLEX):
                    right = np.where(held, np.ones((), dtype), numbers(dtype)[1])
                    assert (file[dtype][...] == right).all(), f"{path}: {file[dtype][...]}"
                    assert (file[f"{dtype}_zero"][...] == held).all(), path

            checks.append(check)
    return checks


def named() -> dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, tuple[str, ...]]]]:
    """Variables (extents, names of axes or None), coordinates, and the axes that a file has."""
    ten, grid = (10,), (3, 4)
    return {
        "particles": (
            {name: (ten, None) for name in ("x", "y", "z", "vx")}, {},
            {name: ("x_2",) for name in ("x", "y", "z", "vx")},
        ),
        "lengths": (
            {"u": (grid, None), "p": ((7,), None), "q": ((9,), None), "r": ((4,), None)}, {},
            {"u": ("y", "x"), "p": ("x_2",), "q": ("x_3",), "r": ("x",)},
        ),
        "coordinates": (
            {"u": (grid, None), "p": ((7,), None)}, {"x": np.arange(4), "y": np.arange(3.0)},
            {"u": ("y", "x"), "p": ("x_2",), "x": ("x",), "y": ("y",)},
        ),
        "own axis": (
            {"v": (ten, ["x"]), "x": (ten, ["x"]), "w": ((5,), None)}, {},
            {"v": ("x",), "x": ("x",), "w": ("x_2",)},
        ),
        "two axes": (
            {"siglay": (grid, ["siglay", "node"]), "h": ((4,), ["node"]),
             "t": ((2, 3, 4), ["time", "siglay", "node"])}, {"time": np.arange(2)},
            {"siglay": ("siglay", "node"), "h": ("node",), "t": ("time", "siglay", "node"),
             "time": ("time",)},
        ),
        "numbers": (
            {"u": (ten, None)}, {"time": 2.5, "count": np.int16(3)},
            {"u": ("x",), "time": (), "count": ()},
        ),
        "numbers alone": ({}, {"time": 2.5}, {"time": ()}),
    }  # fmt: skip


def case_names(kind: str, write: Write) -> list[Callable[[], None]]:
    """Variables that are named as axes, axes of several lengths, numbers without an axis."""
    checks: list[Callable[[], None]] = []
    for suffix in (".h5", ".zarr"):
        for what, (shapes, coordinates, axes) in named().items():
            path = FOLDER / f"names_{what.replace(' ', '_')}_{kind}{suffix}"
            given = {}
            for name, (extents, dims) in shapes.items():
                layout = tailrace.slabs(extents, 0, COMM.size)
                whole = np.arange(np.prod(extents), dtype=float).reshape(extents)
                part = whole[layout.box(COMM.rank).slices]
                given[name] = tailrace.Variable(part, layout, dims)
            write(path, given, coordinates=coordinates)

            def check(
                path: Path = path, axes: dict[str, Any] = axes, shapes: dict[str, Any] = shapes,
                coordinates: dict[str, Any] = coordinates,
            ) -> None:  # fmt: skip
                engines = ("zarr",) if path.suffix == ".zarr" else ("h5netcdf", "netcdf4")
                for engine in engines:
                    with xarray.open_dataset(path, engine=engine) as data:
                        found = {str(name): v.dims for name, v in data.variables.items()}
                        assert found == axes, f"{path} {engine}: {found}"
                        for name, (extents, _) in shapes.items():
                            right = np.arange(np.prod(extents), dtype=float).reshape(extents)
                            assert (data[name].values == right).all(), f"{path} {engine} {name}"
                        for name, values in coordinates.items():
                            assert (data[name].values == values).all(), f"{path} {engine} {name}"

            checks.append(check)
    layout = tailrace.slabs((10,), 0, COMM.size)
    u = np.zeros(layout.shape(COMM.rank))
    for variables, axes in (
        ({"x": ["a"], "u": ["x"]}, {}), ({"u": ["time"]}, {"time": 1}),
        ({"g/u": ["x"], "v": ["g"]}, {}),
    ):  # fmt: skip
        given = {name: tailrace.Variable(u, layout, dims) for name, dims in variables.items()}
        wrong = {name: [1.0, 2.0] for name in axes}
        refused(("dimension",), write, FOLDER / "wrong.h5", given, coordinates=wrong)
    return checks


def case_arrays(kind: str, write: Write) -> list[Callable[[], None]]:
    """Arrays as NumPy has them: backwards, turned, with gaps; others are refused by name."""
    layout = tailrace.slabs((8, 6), 0, COMM.size)
    whole = np.arange(48.0).reshape(8, 6)
    part = np.ascontiguousarray(whole[layout.box(COMM.rank).slices])
    views = {
        "both": part[::-1, ::-1].copy()[::-1, ::-1],
        "rows": part[::-1].copy()[::-1],
        "columns": part[:, ::-1].copy()[:, ::-1],
        "gaps": np.repeat(np.repeat(part, 2, 0), 3, 1)[::2, ::3],
        "gaps_backwards": np.repeat(part[::-1], 2, 0)[::-2],
        "turned": np.asfortranarray(part),
        "swapped": part.astype(">f8"),
        "swapped_backwards": part.astype(">i4")[::-1].copy()[::-1],
        "swapped_half": part.astype(">f2"),
        "half": part.astype("f2"),
    }
    truth = {"truth": part > 20, "truth_turned": np.asfortranarray(part > 20)}
    checks: list[Callable[[], None]] = []
    for suffix in (".h5", ".zarr"):
        path = FOLDER / f"arrays_{kind}{suffix}"
        write(path, views | truth, layout)

        def check(path: Path = path) -> None:
            is_zarr = path.suffix == ".zarr"
            file = zarr.open_group(path, mode="r") if is_zarr else h5py.File(path)
            assert all((file[name][...] == whole).all() for name in views), path
            assert file["half"].dtype == file["swapped_half"].dtype == "float16"
            assert file["swapped_backwards"].dtype == "int32"
            engine = "zarr" if is_zarr else "h5netcdf"
            with xarray.open_dataset(path, engine=engine) as data:
                for name in truth:
                    assert data[name].dtype == bool, path
                    assert (data[name].values == (whole > 20)).all(), path

        checks.append(check)
    for dtype in (
        "S3",
        "U3",
        "datetime64[s]",
        "i4,f8",
        "longdouble",
    ):
        bad = part.astype(dtype) if dtype != "i4,f8" else np.zeros(part.shape, dtype)
        mine = bad if LAST else part
        refused(
            (
                "'u'",
                "float64",
            ),
            write,
            FOLDER / "wrong.h5",
            {"u": mine},
            layout,
        )
    return checks


WORDS = np.array([["sea", ""], ["Δψ → ☃", "a b"], ["x" * 5000, "land"]], object)


def case_texts(kind: str, write: Write) -> list[Callable[[], None]]:
    """Coordinates of texts, truth values and bytes; along others' axes, and along several."""
    layout = tailrace.slabs((3, 2), 0, COMM.size)
    u = np.zeros(layout.shape(COMM.rank))
    lat = np.arange(6, dtype="float32").reshape(3, 2)
    coordinates = {
        "station": (list(WORDS[:, 0]), {"about": "places"}),
        "names": (("station", "pair"), WORDS, {"about": "both"}),
        "title": "Δψ",
        "empty": (("nothing",), np.array([], object)),
        "lat": (["station", "pair"], lat, {"units": "degrees_north", "_FillValue": -1}),
        "land": ("station", np.array([True, False, True])),
        "open": True,
        "swapped": ("pair", np.array([0.5, -60000], ">f4")),
        "alone": (("other", "pair"), np.array([["a", "b"]])),
        "wide": (("wide", "pair"), np.array([["a", "b"], ["c", ""], ["d", "e"]])),
    }
    checks: list[Callable[[], None]] = []
    for suffix in (".h5", ".zarr"):
        path = FOLDER / f"texts_{kind}{suffix}"
        more = {} if suffix == ".zarr" else {"code": (("station", "length"), LETTERS)}
        u_of = tailrace.Variable(u, layout, ["station", "pair"], {"coordinates": "lat names"})
        write(path, {"u": u_of}, coordinates=coordinates | more)

        def check(path: Path = path) -> None:
            for engine in ("zarr",) if path.suffix == ".zarr" else ("h5netcdf", "netcdf4"):
                with xarray.open_dataset(path, engine=engine) as data:
                    assert data.u.dims == data.lat.dims == data.names.dims == ("station", "pair")
                    assert data.station.values.tolist() == WORDS[:, 0].tolist()
                    assert data.station.attrs == {"about": "places"}
                    assert data.names.values.tolist() == WORDS.tolist(), (path, engine)
                    assert data.title.values.item() == "Δψ"
                    assert data["empty"].shape == (0,)
                    assert (data.lat.values == lat).all() and data.lat.dtype == "float32"
                    assert data.land.values.tolist() == [True, False, True]
                    assert data.open.dtype == bool and data.open.values.item() is True
                    assert data.swapped.values.tolist() == [0.5, -60000]
                    assert data.alone.values.tolist() == [["a", "b"]]
                    assert data.alone.dims == ("other", "pair")
                    assert data.wide.dims == ("wide", "pair")
                    assert data.wide.values[1].tolist() == ["c", ""]
                    if "code" in data:
                        assert data.code.values.tolist() == [b"ab", b"c", b""]

        checks.append(check)
    return checks


LETTERS = np.array([[b"a", b"b"], [b"c", b""], [b"", b""]], "S1")


def refused(words: tuple[str, ...], write: Write, *given: Any, **more: Any) -> None:
    try:
        write(*given, **more)
    except tailrace.InvalidInput as error:
        assert all(word in str(error) for word in words), str(error)
        return
    raise AssertionError(f"nothing was raised; expected {words}")


WRONG: dict[str, Any] = {
    "None": None, "object": object(), "dict": {"a": 1},
    "too large": 2**64, "too small": -(2**63) - 1,
    "too large in a list": [1, 2**64], "negative and large": [-1, 2**64 - 1],
    "not exact in a list": [2**53 + 1, 0.5], "texts and numbers": ["a", 1], "two axes": np.eye(2),
    "a list of lists": [[1, 2], [3, 4]],
    "float128": np.longdouble(1), "date": np.datetime64("2026-01-01"),
    "duration": np.timedelta64(1, "s"), "record": np.zeros((), "i4,f8"),
    "a list with None": [1.0, None], "masked": np.ma.masked_equal([1, 2], 1),
    "a zero byte in a list": ["a\0b", "c"], "not Unicode text": "\ud800",
}  # fmt: skip
NAMES = ("", "a\0b", "CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "DIMENSION_LABELS",
         "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties")  # fmt: skip
FILLS = {"int8": 300, "uint8": -1, "int32": 0.5, "float32": 1e300, "float64": "none",
         "int64": [1, 2], "uint64": True, "complex64": []}  # fmt: skip
AXES = ("", "a/b", "/", ".", "..", "a\nb", "a\0b", "tailrace", "DIMENSION_LIST", "CLASS", "group")


def case_refused(kind: str, write: Write) -> list[Callable[[], None]]:
    """What a file cannot hold is refused by name, on all ranks."""
    layout = tailrace.slabs((6,), 0, COMM.size)
    u = np.zeros(layout.shape(COMM.rank))
    path = FOLDER / f"refused_{kind}.h5"
    for value in WRONG.values():
        good = {"odd": 1}
        bad = {"odd": value}
        mine = bad if LAST else good
        one = tailrace.Variable(u, layout, ["x"], mine)
        refused(
            (
                "u",
                "odd",
            ),
            write,
            path,
            {"u": one},
        )
        refused(("odd",), write, path, {"u": u}, layout, attributes=mine)
    for name in NAMES:
        one = tailrace.Variable(u, layout, ["x"], {name: 1})
        refused(
            (
                "variable u",
                name.split("\0")[0],
            ),
            write,
            path,
            {"u": one},
        )
    for dtype, value in FILLS.items():
        one = tailrace.Variable(u.astype(dtype), layout, ["x"], {"_FillValue": value})
        refused(
            (
                "_FillValue",
                "u",
            ),
            write,
            path,
            {"u": one},
        )
    for axis in AXES:
        given = {
            "u": tailrace.Variable(u, layout, [axis]),
            "group/v": tailrace.Variable(u, layout, ["x"]),
        }
        refused(
            (
                axis.split("\0")[0],
                "dimension",
            ),
            write,
            path,
            given,
        )
    for values in (
        np.eye(2), np.array(["2026-01-01"], "M8[D]"), ["a\0b"], ("y", np.eye(2)),
        (("y", "z"), np.eye(2), 3), (("y", "y/z"), np.eye(2)), ((), ["a"]),
        (("x", "y"), np.zeros((5, 2))), ("t", object()),
    ):  # fmt: skip
        given = {"t": values}
        refused(("coordinate", "t"), write, path, {"u": u}, layout, coordinates=given)
    assert not path.exists()
    return []


def case_alike(kind: str, write: Write) -> list[Callable[[], None]]:
    """Attributes and coordinates that differ between ranks are refused and named."""
    if COMM.size == 1:
        return []
    layout = tailrace.slabs((6,), 0, COMM.size)
    u = np.zeros(layout.shape(COMM.rank))
    for suffix in (".h5", ".zarr"):
        path = FOLDER / f"alike_{kind}{suffix}"
        pairs: list[tuple[Any, Any]] = [
            (1, 2), (1, 1.0), (np.int8(1), np.int16(1)), (1.0, [1.0]), ("a", "b"), ([1, 2], [1, 3]),
            (["a"], ["b"]), (True, False), (float("nan"), 1.0), ("x" * 200 + "a", "x" * 200 + "b"),
        ]  # fmt: skip
        for first, last in pairs:
            mine = {"same": 3, "odd": last if LAST else first}
            one = tailrace.Variable(u, layout, ["x"], mine)
            refused(
                (
                    "odd of variable u",
                    "same on all",
                ),
                write,
                path,
                {"u": one},
            )
            refused(("odd of the file",), write, path, {"u": u}, layout, attributes=mine)
            axis = {"x": (np.arange(6), mine)}
            refused(("coordinate x",), write, path, {"u": u}, layout, coordinates=axis)
        only = {"odd": 1} if LAST else None
        refused(
            (
                "attribute odd",
                "list of",
            ),
            write,
            path,
            {"u": u},
            layout,
            attributes=only,
        )
        for first, last in ((np.arange(6), np.arange(6.0)), (np.arange(6), np.arange(1, 7))):
            axis = {"x": last if LAST else first}
            refused(("coordinate x",), write, path, {"u": u}, layout, coordinates=axis)
        other = tailrace.Variable(u, layout, ["y" if LAST else "x"])
        refused(("axes of variable u",), write, path, {"u": other})
        assert not path.exists()
        turned = {"a": 1, "b": 2} if LAST else {"b": 2, "a": 1}  # the order does not matter
        write(path, {"u": u}, layout, attributes=turned)
    return []


CASES = (case_types, case_types_of_the_variable, case_holes, case_names, case_arrays, case_texts,
         case_refused, case_alike)  # fmt: skip


def main() -> None:
    kinds = sys.argv[2:] or KINDS
    for kind in kinds:
        checks: list[Callable[[], None]] = []
        for case in CASES:
            for write in writer(kind):
                checks += case(kind, write)
        if COMM.rank == 0:
            for check in checks:
                check()
        COMM.Barrier()
    if COMM.rank == 0:
        members = len(attributes(False)) + len(attributes(True))
        print(f"{members} attributes, {len(kinds)} kinds of output: passed")


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        print(f"rank {COMM.rank} of {COMM.size}", file=sys.stderr)
        traceback.print_exc()
        sys.stderr.flush()
        COMM.Abort(1)
