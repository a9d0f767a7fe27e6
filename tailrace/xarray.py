# SPDX-License-Identifier: BSD-3-Clause
"""xarray datasets that are distributed over ranks: written by all, and each rank's part read.

A `Layout` says which box of the dimensions `dims` a rank holds. A variable that has only some of
these is distributed along them, and the same on ranks that hold the same part; other dimensions are
whole. `xarray.open_dataset(path, engine="tailrace")` reads whole files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray
from mpi4py import MPI

import tailrace
from tailrace.errors import InvalidInput
from tailrace.together import require_comm, together
from tailrace.xarray_files import FileOnRank0

Sizes = Mapping[str, int]


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
        if variable.dtype.kind not in "fiucb" and variable.ndim > 0 and name not in ds.dims:
            raise InvalidInput(f"variable '{name}': items of {variable.dtype}; needs numbers")
    return sizes


def _coordinates(
    ds: Any, layout: tailrace.Layout, names: list[str], comm: Any
) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return the whole coordinates of dimensions: values and attributes, as a file has them."""
    wanted = together(
        comm,
        lambda: [str(n) for n in ds.dims if n in ds.coords and ds[n].dims == (n,)],
        same=True,
    )
    parts = {name: comm.allgather(ds[name].values) for name in wanted if name in names}
    return together(comm, lambda: _encoded(ds, layout, names, wanted, parts))  # type: ignore[no-any-return]


def _encoded(
    ds: Any, layout: tailrace.Layout, names: list[str], wanted: list[str], parts: dict[str, Any]
) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return `wanted` coordinates, those of the layout's axes joined from the ranks' `parts`."""
    found: dict[str, tuple[Any, dict[str, Any]]] = {}
    for name in wanted:
        values = ds[name].values
        if name in names:
            axis = names.index(name)
            starts = [layout.box(rank).start[axis] for rank in range(layout.num_ranks)]
            by_start = {s: p for s, p in zip(starts, parts[name], strict=True) if len(p)}
            values = np.concatenate([by_start[s] for s in sorted(by_start)])
        found[name] = _as_written((name,), values, ds[name].attrs, f"coordinate '{name}'")
    return found


def _as_written(
    dims: tuple[str, ...], values: Any, attributes: Mapping[Any, Any], what: str
) -> tuple[Any, dict[str, Any]]:
    """Return values and attributes as a file has them: numbers, where these were times or bool."""
    encoded = xarray.conventions.encode_cf_variable(
        xarray.Variable(dims, values, dict(attributes)), name=what
    )
    if encoded.dtype.kind not in "fiuc":
        raise InvalidInput(f"{what}: of {encoded.dtype}; needs numbers or times")
    return _native(encoded.values), {str(key): value for key, value in encoded.attrs.items()}


def _native(values: Any) -> Any:
    """Return numbers in this machine's byte order, those of 16 bits as float32."""
    values = np.asarray(values)
    if values.dtype == np.float16:
        return values.astype(np.float32)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def write(
    ds: Any, path: str | os.PathLike[str], comm: Any = None, layout: tailrace.Layout | None = None,
    *, dims: Sequence[str] | None = None, step: int = 0, output: tailrace.Output | None = None,
) -> None:  # fmt: skip
    """Write a dataset, of which each rank has a part, to one netCDF-4 file.

    `layout` says which part of the dimensions `dims` (those of the first variable with as many) a
    rank has; on one rank it may be left out. `output`: to write with, in the background unless its
    `servers` is "none"; without it the file is complete on return. Raises on all ranks alike.
    Collective, blocking.
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
    coordinates = _coordinates(ds, given, names, comm)
    variables, attributes = together(
        comm, lambda: _contents(ds, given, names, sizes, coordinates, comm.Get_rank())
    )
    coordinates.update(together(comm, lambda: _scalars(ds)))
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
    ds: Any, layout: tailrace.Layout, names: list[str], sizes: Sizes, coordinates: Any, rank: int
) -> tuple[dict[str, tailrace.Variable], dict[str, Any]]:
    """Return variables and attributes of the file."""
    variables = {}
    for name, variable in ds.variables.items():
        if name in coordinates or variable.ndim == 0:
            continue
        axes = [str(dim) for dim in variable.dims]
        mine = _box(layout, names, axes, sizes, rank)[1]
        values = _native(variable.values)
        attributes = {str(key): value for key, value in variable.attrs.items()}
        if values.dtype == bool:
            values, attributes = values.view("int8"), {**attributes, "dtype": "bool"}
        variables[str(name)] = tailrace.Variable(
            values if mine else values.reshape(-1)[:0],
            _layout_of(layout, names, axes, sizes, writing=True), axes, attributes,
        )  # fmt: skip
    attributes = {str(key): value for key, value in ds.attrs.items()}
    others = [str(name) for name in ds.coords if name not in coordinates]
    if others:
        attributes["coordinates"] = " ".join(others)
    return variables, attributes


def _scalars(ds: Any) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return the variables and coordinates without a dimension."""
    return {
        str(name): _as_written((), variable.values, variable.attrs, f"variable '{name}'")
        for name, variable in ds.variables.items()
        if variable.ndim == 0
    }


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

    `split`: the dimension that is shared out in slabs, by default the first one of the largest
    variable; or `layout` and `dims`, the names of its axes. `decode`: as xarray.decode_cf takes.
    Raises on all ranks alike. Collective, blocking.
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
                raise InvalidInput("open_dataset: split is for when there is no layout")
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
