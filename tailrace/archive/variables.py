# SPDX-License-Identifier: BSD-3-Clause
"""Where the bytes of each variable lie: HDF5 and NetCDF-4 by h5py, NetCDF-3 by its header.

A variable is a list of stored blocks: chunks as they are stored, or for contiguous data pieces of
64 KiB to 1 MiB. Each block has its offset in the file, its size and a CRC-32, so that a box can be
read and compared without the rest of the file.
"""

import base64
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_PIECE, LARGEST_PIECE, MANY_PIECES = 64 << 10, 1 << 20, 1024
WHOLE = "/"  # the name under which the attributes of the file itself are kept
Table = NDArray[np.int64]


@dataclass(slots=True)
class Variable:
    """A variable of a file.

    `blocks` has a row per stored block: offset in the file, bytes, filter mask, CRC-32, and of a
    chunk its place in items along each axis. `chunk` is empty for contiguous data.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    blocks: Table
    chunk: tuple[int, ...] = ()
    filters: list[Any] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    fill: str = ""  # base64 of one item, for chunks that were never written
    axes: list[str] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        """Bytes of all items in memory."""
        items = 1
        for extent in self.shape:
            items *= extent
        return items * np.dtype(self.dtype).itemsize

    def to_json(self) -> dict[str, Any]:
        """Return what the indexes keep."""
        row: dict[str, Any] = {"name": self.name, "dtype": self.dtype, "shape": self.shape}
        row["chunk"], row["filters"], row["attributes"] = self.chunk, self.filters, self.attributes
        row["fill"], row["axes"], row["columns"] = self.fill, self.axes, self.blocks.shape[1]
        packed = zlib.compress(np.ascontiguousarray(self.blocks, "<i8").tobytes(), 1)
        row["blocks"] = base64.b64encode(packed).decode()
        return row

    @staticmethod
    def from_json(row: dict[str, Any]) -> "Variable":
        """Return the variable of a line of an index."""
        raw = zlib.decompress(base64.b64decode(row["blocks"]))
        blocks = np.frombuffer(raw, "<i8").reshape(-1, row["columns"])
        return Variable(
            row["name"],
            row["dtype"],
            tuple(row["shape"]),
            blocks,
            tuple(row["chunk"]),
            row["filters"],
            row["attributes"],
            row["fill"],
            row["axes"],
        )

    def packed(self) -> bytes:
        """Return `to_json` as bytes, for a column of a table."""
        return json.dumps(self.to_json(), separators=(",", ":")).encode()


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
        from tailrace.archive.netcdf3 import read_header  # noqa: PLC0415

        return read_header(path)
    return []


def _hdf5(path: Path) -> list[Variable]:
    import h5py  # noqa: PLC0415

    found: list[Variable] = []

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            variable = _dataset(name, item)
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


def contiguous_blocks(offset: int, nbytes: int) -> Table:
    """Return the rows of contiguous data, whose CRC-32 is still to be set."""
    piece = LEAST_PIECE
    while piece < LARGEST_PIECE and nbytes > piece * MANY_PIECES:
        piece *= 2
    starts = np.arange(0, nbytes, piece, dtype=np.int64)
    blocks = np.zeros((len(starts), 4), np.int64)
    blocks[:, 0] = offset + starts
    blocks[:, 1] = np.minimum(piece, nbytes - starts)
    return blocks


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
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "iufb":
            kept[key] = {"dtype": value.dtype.str, "value": value.tolist()}
        elif isinstance(value, str):
            kept[key] = value
    return kept


def set_checks(variables: list[Variable], read: Callable[[int, int], bytes]) -> None:
    """Set the CRC-32 of all blocks; `read` takes an offset in the file and a number of bytes."""
    for variable in variables:
        if not variable.blocks.flags.writeable:
            variable.blocks = variable.blocks.copy()
        for row in variable.blocks:
            row[3] = zlib.crc32(read(int(row[0]), int(row[1])))
