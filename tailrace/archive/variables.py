# SPDX-License-Identifier: BSD-3-Clause
"""Finds the variables of a file: HDF5 and NetCDF-4 by h5py, NetCDF-3 by its header."""

import base64
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.archive.netcdf3 import read_header
from tailrace.archive.variable import WHOLE, Table, Variable, contiguous_blocks


def find_variables(path: Path) -> list[Variable]:
    """Return the variables of a file; none if its form is not known or it is damaged."""
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError:
        return []
    if start == b"\x89HDF\r\n\x1a\n":
        return _hdf5(path)
    if start[:3] == b"CDF" and start[3:4] in b"\1\2\5":
        return read_header(path)
    return []


def _hdf5(path: Path) -> list[Variable]:
    import h5py  # noqa: PLC0415

    found: list[Variable] = []

    def visit(name: str, item: Any) -> None:
        # Names that are not UTF-8 are bytes.
        if isinstance(item, h5py.Dataset) and isinstance(name, str):
            try:
                variable = _dataset(name, item)
            except TypeError:  # numpy has no such type
                return
            if variable is not None:
                found.append(variable)

    try:
        with h5py.File(path, "r", locking=False) as file:
            file.visititems(visit)
            whole = Variable(WHOLE, "|u1", (0,), np.empty((0, 4), np.int64))
            whole.attributes = _attributes(file)
            found.append(whole)
    except (OSError, RuntimeError, ValueError, KeyError):
        return []  # a damaged file is archived as it is
    return found


def _dataset(name: str, item: Any) -> Variable | None:
    """Return where a dataset lies; None if it has no bytes in this file that can be read alone."""
    import h5py  # noqa: PLC0415

    properties, dtype = item.id.get_create_plist(), item.dtype
    if dtype.hasobject or dtype.fields or dtype.subdtype or h5py.check_enum_dtype(dtype):
        return None
    if item.shape is None or item.is_virtual or properties.get_external_count():
        return None
    made_axes = [_axis(item, i) for i in range(len(item.shape))]
    layout = properties.get_layout()
    made = Variable(name, dtype.str, item.shape, np.empty((0, 4), np.int64))
    made.attributes, made.axes = _attributes(item), made_axes
    made.fill = base64.b64encode(np.asarray(item.fillvalue, dtype).tobytes()).decode()
    if layout == h5py.h5d.CHUNKED:
        made.chunk, made.blocks = item.chunks, _chunks(item.id, len(item.shape))
        made.filters = [
            [code, flags, list(values)]
            for code, flags, values, _ in map(
                properties.get_filter, range(properties.get_nfilters())
            )
        ]
        return made
    offset = item.id.get_offset()
    if layout != h5py.h5d.CONTIGUOUS or offset is None:
        return None
    made.blocks = contiguous_blocks(offset, made.nbytes)
    return made


def _axis(item: Any, number: int) -> str:
    """Return the name of an axis: its label, its scale's name, or z, y, x from the last back."""
    try:
        axis = item.dims[number]
        name = axis.label or (axis[0].name.rpartition("/")[2] if len(axis) else "")
    except (OSError, RuntimeError, KeyError, TypeError):
        name = ""
    left = len(item.shape) - number
    return str(name) or ("xyz"[left - 1] if left <= 3 else str(number))


def _chunks(dataset: Any, ndim: int) -> Table:
    rows: list[tuple[int, ...]] = []

    def keep(info: Any) -> None:
        rows.append((info.byte_offset, info.size, info.filter_mask, 0, *info.chunk_offset))

    if hasattr(dataset, "chunk_iter"):
        dataset.chunk_iter(keep)
    else:
        for i in range(dataset.get_num_chunks()):
            keep(dataset.get_chunk_info(i))
    return np.array(rows, np.int64).reshape(len(rows), 4 + ndim)


def _attributes(item: Any) -> dict[str, Any]:
    """Return the attributes that are numbers or texts."""
    kept: dict[str, Any] = {}
    for key in item.attrs:
        try:
            value = item.attrs[key]
        except (OSError, TypeError):
            continue
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if not isinstance(key, str) or getattr(value, "dtype", None) == np.longdouble:
            continue  # JSON has neither
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "iufb":
            kept[key] = {"dtype": value.dtype.str, "value": value.tolist()}
        elif isinstance(value, str):
            kept[key] = value
    return kept
