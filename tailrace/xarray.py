# SPDX-License-Identifier: BSD-3-Clause
"""xarray datasets that are distributed over ranks: written by all, and each rank's part read.

A `Layout` says which box of the dimensions `dims` a rank holds. A variable that has only some of
these is distributed along them, and the same on ranks that hold the same part; other dimensions are
whole. `xarray.open_dataset(path, engine="tailrace")` reads whole files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas
import xarray
from mpi4py import MPI

import tailrace
from tailrace.errors import InvalidInput
from tailrace.together import require_comm, together
from tailrace.xarray_files import FileOnRank0

Sizes = Mapping[str, int]
_MAX_DIMS = 5  # of a layout


def _part(
    layout: tailrace.Layout, names: Sequence[str], dims: Sequence[str], sizes: Sizes, rank: int
) -> list[tuple[int, int]]:
    """Return first place and extent of the part that `rank` holds along each of `dims`."""
    whole = layout.box(rank)
    place = {name: (whole.start[d], whole.extents[d]) for d, name in enumerate(names)}
    return [place.get(dim, (0, sizes.get(dim, 1))) for dim in dims]


def _box(
    layout: tailrace.Layout, names: Sequence[str], dims: Sequence[str], sizes: Sizes, rank: int
) -> tuple[tailrace.Box, bool]:
    """Return the box that `rank` holds of a variable of `dims`, and whether it is the one to write.

    That is the rank whose part begins at 0 along the dimensions that the variable does not have.
    """
    whole = layout.box(rank)
    first = all(whole.start[d] == 0 for d, name in enumerate(names) if name not in dims)
    part = _part(layout, names, dims, sizes, rank)
    box = tailrace.Box([start for start, _ in part], [extent for _, extent in part])
    return box, first and whole.num_items > 0


def _layout_of(
    layout: tailrace.Layout, names: Sequence[str], dims: Sequence[str], sizes: Sizes, writing: bool
) -> tailrace.Layout:
    """Return the layout of a variable: parts of all ranks, or of those that write."""
    boxes: list[list[tailrace.Box]] = []
    for rank in range(layout.num_ranks):
        box, first = _box(layout, names, dims, sizes, rank)
        boxes.append([box] if box.num_items and (first or not writing) else [])
    return tailrace.from_boxes([sizes[dim] for dim in dims], boxes)


def _names(ds: Any, layout: tailrace.Layout, dims: Sequence[str] | None) -> list[str]:
    """Return the names of the layout's axes."""
    if dims is None:
        fitting = [v.dims for v in ds.data_vars.values() if len(v.dims) == layout.num_dims]
        if not fitting:
            raise InvalidInput(f"write: no variable has {layout.num_dims} dimensions; give dims=")
        dims = fitting[0]
    if len(dims) != layout.num_dims or len(set(dims)) != len(dims):
        raise InvalidInput(f"dims {tuple(dims)}: the layout has {layout.num_dims} axes")
    return [str(dim) for dim in dims]


def _check(ds: Any, layout: tailrace.Layout, names: list[str], rank: int) -> dict[str, int]:
    """Return the global sizes of all dimensions; raise if this rank's part does not fit."""
    sizes = {str(dim): int(n) for dim, n in ds.sizes.items()}
    own = layout.shape(rank)
    for d, name in enumerate(names):
        if name in sizes and sizes[name] != own[d]:
            raise InvalidInput(
                f"dimension '{name}': has {sizes[name]} items here; the layout says {own[d]}"
            )
        sizes[name] = layout.extents[d]
    for name, variable in ds.variables.items():
        if not isinstance(name, str):
            raise InvalidInput(f"variable {name!r}: names of variables must be strings")
        if isinstance(ds.indexes.get(name), pandas.MultiIndex):
            raise InvalidInput(f"variable '{name}': is a MultiIndex; use ds.reset_index")
        if variable.dtype.kind not in "fiucbOUSTMm":
            raise InvalidInput(
                f"variable '{name}': items of {variable.dtype}; needs numbers, texts or times"
            )
        if variable.ndim > _MAX_DIMS:
            raise InvalidInput(
                f"variable '{name}': has {variable.ndim} dimensions; files have up to {_MAX_DIMS}"
            )
    return sizes


@dataclass
class _Encoded:
    """A variable as a file has it: numbers or texts, and attributes."""

    dims: tuple[str, ...]
    values: Any
    attributes: dict[str, Any]
    whole: bool  # each rank has all of it

    def is_text(self) -> bool:
        return bool(self.values.dtype.kind in "OS")


def _is_whole(ds: Any, name: str) -> bool:
    """Whether every rank gets all of a variable: coordinates of dimensions, texts, objects."""
    variable = ds.variables[name]
    return bool(variable.dims in ((), (name,)) or variable.dtype.kind in "OUST")


def _encode(
    ds: Any, layout: tailrace.Layout, names: list[str], sizes: Sizes, comm: Any
) -> tuple[dict[str, _Encoded], dict[str, Any]]:
    """Return all variables, and the attributes of the file, as xarray writes them."""

    def named() -> tuple[dict[str, Any], dict[str, Any]]:
        # CF: data variables name their coordinates that are no dimensions.
        variables, attributes = xarray.conventions.encode_dataset_coordinates(ds)
        return dict(variables), dict(attributes)

    variables, attributes = together(comm, named)
    listed = together(
        comm, lambda: [(n, v.dims, _is_whole(ds, n)) for n, v in variables.items()], same=True
    )
    shared = [n for n, dims, is_whole in listed if is_whole and set(dims) & set(names)]
    parts = comm.allgather({name: variables[name].values for name in shared})

    def local() -> dict[str, _Encoded]:
        made = {}
        for name, _, is_whole in listed:
            variable = variables[name]
            if is_whole:
                of_ranks = [part[name] for part in parts] if name in shared else None
                made[name] = _encode_whole(name, variable, of_ranks, layout, names, sizes)
            elif variable.dtype.kind not in "Mm":
                made[name] = _encode_numbers(name, variable)
        return made

    found = together(comm, local)
    for name, *_ in listed:
        if name not in found:
            found[name] = _encode_times(name, variables[name], comm)
    found = {name: found[name] for name, *_ in listed}
    return found, _named(attributes)


def _encode_numbers(name: str, variable: Any) -> _Encoded:
    encoded = xarray.conventions.encode_cf_variable(variable, name=name)
    values = _safe(np.asarray(encoded.values), variable)
    return _Encoded(_texts_of(encoded.dims), values, _named(encoded.attrs), False)


def _safe(values: Any, variable: Any) -> Any:
    """Return float16 as float32, unless asked for: the netCDF-4 library crashes as it reads it."""
    if values.dtype.char != "e" or "dtype" in variable.encoding:
        return values
    return values.astype(np.float32)


def _texts_of(names: Any) -> tuple[str, ...]:
    return tuple(str(name) for name in names)


def _named(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in attributes.items()}


def _encode_whole(
    name: str, variable: Any, parts: Any, layout: tailrace.Layout, names: list[str], sizes: Sizes
) -> _Encoded:
    """Return a variable of which every rank has all items, joined from the ranks' `parts`."""
    dims = _texts_of(variable.dims)
    values = variable.values
    if parts is not None:
        kind = object if values.dtype.kind in "OUST" else np.result_type(*parts)
        values = np.empty([sizes[dim] for dim in dims], kind)
        for rank, part in enumerate(parts):
            values[_box(layout, names, dims, sizes, rank)[0].slices] = part
    encoded = xarray.conventions.encode_cf_variable(
        xarray.Variable(dims, values, dict(variable.attrs), dict(variable.encoding)), name=name
    )
    attributes = _named(encoded.attrs)
    values = _safe(_typed(np.asarray(encoded.values), name), variable)
    if values.dtype.kind == "O" and variable.encoding.get("dtype") in ("S1", np.dtype("S1")):
        words = variable.encoding.get("_Encoding", "utf-8")
        letters = [item.encode(words) for item in values.flat]
        values = np.array(letters, "S").reshape(values.shape)
        attributes.setdefault("_Encoding", words)
    if values.dtype.kind == "S":  # single characters along one more axis, as netCDF has bytes
        count = max(values.dtype.itemsize, 1)
        dims = (*dims, str(variable.encoding.get("char_dim_name", f"string{count}")))
        values = np.frombuffer(values.tobytes(), "S1").reshape((*values.shape, count))
    return _Encoded(dims, values, attributes, True)


def _typed(values: Any, name: str) -> Any:
    """Return numbers, an array of `str`, or bytes; what is missing among texts is ""."""
    if values.dtype.kind in "fiucbS":
        return values
    missing = pandas.isnull(values)
    present = values[~missing].tolist()
    if (
        values.dtype.kind in "UT"
        or values.size == 0
        or (present and all(isinstance(item, str) for item in present))
    ):
        made = np.full(values.shape, "", object)
        made[~missing] = present
        return made
    if present and all(isinstance(item, bytes) for item in present):
        made = np.full(values.shape, b"", object)
        made[~missing] = present
        return made.astype("S")
    kinds = (bool, int, float, complex, np.number, np.bool_)
    if not all(isinstance(item, kinds) for item in present):
        odd = next(item for item in present if not isinstance(item, (*kinds, str)))
        raise InvalidInput(f"variable '{name}': {odd!r} is not a text, number or time")
    if not missing.any():
        return np.array(present).reshape(values.shape)
    made = np.full(values.shape, np.nan, np.result_type(np.array(present), float))
    made[~missing] = present
    return made


_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


def _encode_times(name: str, variable: Any, comm: Any) -> _Encoded:
    """Return times as numbers: in the units of their `encoding`, if the ranks' values all fit."""
    if "units" in variable.encoding:
        encoded = together(comm, partial(_encode_numbers, name, variable))
        told = comm.allgather((encoded.attributes, encoded.values.dtype))
        if all(attributes == told[0][0] for attributes, _ in told):
            encoded.values = encoded.values.astype(np.result_type(*(dtype for _, dtype in told)))
            return encoded  # type: ignore[no-any-return]
    return _encode_exactly(name, variable, comm)


def _encode_exactly(name: str, variable: Any, comm: Any) -> _Encoded:
    """Return times as whole numbers: dates of the longest unit that all ranks' are multiples of."""
    values = np.asarray(variable.values)
    kind, units = values.dtype.kind, list(_UNITS)

    def needed() -> tuple[int, bool]:
        given = np.datetime_data(values.dtype)[0]
        at = units.index(given) if given in units else 0
        counts = values.astype(f"{kind}8[{units[at]}]").astype("int64")
        absent = np.isnat(values)
        while kind == "M" and at > 0 and not np.any(counts[~absent] % 1000):
            at, counts = at - 1, counts // 1000
        return at, bool(absent.any())

    told = comm.allgather(together(comm, needed))
    unit = units[max(at for at, _ in told)]

    def encoded() -> _Encoded:
        # xarray says by which attributes it knows them, whatever the values.
        since = " since 1970-01-01" if kind == "M" else ""
        sample = xarray.conventions.encode_cf_variable(
            xarray.Variable(
                (), np.zeros((), f"{kind}8[{unit}]"), dict(variable.attrs),
                {"units": _UNITS[unit] + since, "dtype": "int64"},
            ),
            name=name,
        )  # fmt: skip
        attributes = _named(sample.attrs)
        if any(absent for _, absent in told):
            attributes["_FillValue"] = np.iinfo("int64").min
        counts = values.astype(f"{kind}8[{unit}]").astype("int64")
        return _Encoded(_texts_of(variable.dims), counts, attributes, False)

    return together(comm, encoded)  # type: ignore[no-any-return]


def write(
    ds: Any, path: str | os.PathLike[str], comm: Any = None, layout: tailrace.Layout | None = None,
    *, dims: Sequence[str] | None = None, step: int = 0, output: tailrace.Output | None = None,
) -> None:  # fmt: skip
    """Write a dataset that is distributed over the ranks to one netCDF-4 file.

    `layout` determines which part of the dimensions `dims` each rank holds; on one rank it may be
    omitted. The default of `dims` are the dimensions of the first variable with as many axes as the
    layout. `output` writes the file, in the background unless its `servers` is "none". Without
    `output`, the file is complete when the call returns. Raises on all ranks alike. Collective,
    blocking.
    """
    comm = MPI.COMM_WORLD if comm is None else require_comm(comm)

    def read() -> tuple[tailrace.Layout, list[str]]:
        if not isinstance(ds, xarray.Dataset):
            raise InvalidInput(f"write: needs an xarray.Dataset, not {type(ds).__name__}")
        if output is not None and not isinstance(output, tailrace.Output):
            raise InvalidInput(f"output: needs a tailrace.Output, not {type(output).__name__}")
        one, axes = (layout, dims) if layout is not None else _single(ds, comm)
        if layout is None and not axes:
            return one, []
        return _for_ranks(one, comm), _names(ds, one, axes)

    given, names = together(comm, read)
    sizes = together(comm, lambda: _check(ds, given, names, comm.Get_rank()))
    encoded, attributes = _encode(ds, given, names, sizes, comm)
    variables, coordinates = together(
        comm, lambda: _contents(encoded, given, names, sizes, comm.Get_rank())
    )
    made = output if output is not None else tailrace.Output(comm, "none")
    try:
        made.write(path, variables, step=step, attributes=attributes, coordinates=coordinates)
    finally:
        if output is None:
            made.close()


def _for_ranks(layout: Any, comm: Any) -> tailrace.Layout:
    """Return the layout, if it is one for as many ranks."""
    if not isinstance(layout, tailrace.Layout):
        raise InvalidInput(f"layout: needs a Layout, not {type(layout).__name__}")
    if layout.num_ranks != comm.Get_size():
        raise InvalidInput(f"layout: for {layout.num_ranks} ranks; there are {comm.Get_size()}")
    return layout


def _contents(
    encoded: dict[str, _Encoded], layout: tailrace.Layout, names: list[str], sizes: Sizes, rank: int
) -> tuple[dict[str, tailrace.Variable], dict[str, Any]]:
    """Return variables, and what every rank gives alike: coordinates, single items, texts."""
    variables: dict[str, tailrace.Variable] = {}
    coordinates: dict[str, Any] = {}
    used = {dim for one in encoded.values() for dim in one.dims}
    for name, one in encoded.items():
        # As netCDF calls a variable that has the name of a dimension, but is not along it.
        stored = name if name not in used or one.dims[:1] == (name,) else f"_nc4_non_coord_{name}"
        if one.dims in ((), (name,)) or one.is_text():
            coordinates[stored] = (one.dims, one.values, one.attributes)
            continue
        box, mine = _box(layout, names, one.dims, sizes, rank)
        values = one.values[box.slices] if one.whole else one.values
        variables[stored] = tailrace.Variable(
            values if mine else values.reshape(-1)[:0],
            _layout_of(layout, names, one.dims, sizes, writing=True), list(one.dims),
            one.attributes,
        )  # fmt: skip
    return variables, coordinates


def _single(ds: Any, comm: Any) -> tuple[tailrace.Layout, list[str]]:
    """Return the layout of a dataset that one rank has whole."""
    if comm.Get_size() != 1:
        raise InvalidInput(f"layout: is needed on {comm.Get_size()} ranks")
    names = [str(dim) for dim in ds.sizes][:1]
    if not names:  # numbers alone, which no layout distributes
        return tailrace.slabs([1], 0, 1), names
    return tailrace.slabs([ds.sizes[names[0]]], 0, 1), names


def _listed(names: Any) -> list[str]:
    """Return names as xarray takes them: None, one, or several."""
    listed = [names] if isinstance(names, str) else list(() if names is None else names)
    if not all(isinstance(name, str) for name in listed):
        raise InvalidInput(f"drop_variables: needs names, not {names!r}")
    return listed


def open_dataset(
    path: str | os.PathLike[str], comm: Any = None, layout: tailrace.Layout | None = None,
    *, dims: Sequence[str] | None = None, split: str | None = None, drop_variables: Any = None,
    **decode: Any,
) -> Any:  # fmt: skip
    """Return this rank's part of the dataset in a netCDF-4 or HDF5 file, in memory.

    `split` is the dimension that is divided into slabs; the default is the first dimension of the
    largest variable. Alternatively, pass `layout`, and in `dims` the names of its axes. Other
    arguments are passed to xarray.decode_cf. Raises on all ranks alike. Collective, blocking.
    """
    comm = MPI.COMM_WORLD if comm is None else require_comm(comm)
    name = together(comm, lambda: os.fspath(path), same=True)
    dropped = together(comm, lambda: _listed(drop_variables), same=True)
    with tailrace.Input(comm, name) as file, FileOnRank0(comm, name, dropped) as other:
        found = other.described

        def read() -> tuple[tailrace.Layout, list[str]]:
            if layout is None:
                return _slabs(found.sizes, found.variables, split, comm.Get_size())
            if split is not None:
                raise InvalidInput("open_dataset: give either split or a layout")
            given, names = _for_ranks(layout, comm), [str(dim) for dim in dims or ()]
            there = tuple(found.sizes.get(n, -1) for n in names)
            if len(names) != given.num_dims or there != given.extents:
                raise InvalidInput(
                    f"{name}: dims {tuple(names)} of a layout of {given.extents}; has {found.sizes}"
                )
            return given, names

        kept, names = together(comm, read)
        parts: dict[str, Any] = {}
        for variable, (axes, its_attributes, dtype) in found.variables.items():
            shares = [_part(kept, names, axes, found.sizes, rank) for rank in range(comm.size)]
            here = [extent for _, extent in shares[comm.rank]]
            shape = tuple(found.sizes[axis] for axis in axes)
            dataset = _numbers_of(file, variable, shape, dtype)
            data = None
            if dataset is not None and 0 in shape:
                data = np.empty(here, dtype.newbyteorder("="))
            elif dataset is not None:
                its_layout = (
                    _layout_of(kept, names, axes, found.sizes, writing=False) if axes else None
                )
                data = _numbers(file, dataset, its_layout)
            if data is not None:
                data = data.reshape(here).astype(dtype.newbyteorder("="), copy=False)
            else:
                data = other.read(
                    variable, [tuple(slice(at, at + n) for at, n in share) for share in shares]
                )
            if data is not None:
                parts[variable] = xarray.Variable(axes, data, its_attributes)
    whole = xarray.Dataset(parts, attrs=found.attributes)
    return together(comm, lambda: xarray.decode_cf(whole, **decode))


def _numbers_of(
    file: tailrace.Input, variable: str, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> str | None:
    """Return the name of the dataset that `Input` reads for a variable, or None if it cannot.

    netCDF gives a variable another name that is called as a dimension and is not its coordinate. A
    variable may have fewer records than its dimension.
    """
    for name in (f"_nc4_non_coord_{variable}", variable):
        try:
            its_type, extents = file.dtype(name), file.extents(name)
        except InvalidInput:
            continue
        if dtype.kind not in "biufc" or dtype.itemsize > its_type.itemsize:
            return None
        return name if extents == (shape or (1,)) else None
    return None


def _numbers(file: tailrace.Input, dataset: str, layout: tailrace.Layout | None) -> Any:
    """Return this rank's part, or None if `Input` refuses it: h5py, say, has more filters."""
    try:
        return file.read_all(dataset) if layout is None else file.read(dataset, layout)
    except InvalidInput:
        return None


def _slabs(
    sizes: Sizes, variables: Mapping[str, Any], split: str | None, ranks: int
) -> tuple[tailrace.Layout, list[str]]:
    """Return slabs along one dimension."""
    if split is None:
        largest = max(
            (dims for dims, *_ in variables.values() if dims),
            key=lambda dims: int(np.prod([sizes[dim] for dim in dims])),
            default=None,
        )
        if largest is None:  # every rank has all that there is
            return tailrace.slabs([ranks], 0, ranks), []
        split = largest[0]
    if split not in sizes:
        raise InvalidInput(f"split='{split}': the file has the dimensions {', '.join(sizes)}")
    return tailrace.slabs([sizes[split]], 0, ranks), [split]


__all__ = ["open_dataset", "write"]
