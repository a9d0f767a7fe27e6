# SPDX-License-Identifier: BSD-3-Clause
"""A variable of a file, and where its stored blocks lie.

The blocks are chunks as they are stored, or for contiguous data pieces of 64 KiB to 1 MiB. Each has
its offset in the file, its size and a CRC-32, so that a box can be read and compared without the
rest of the file.
"""

import base64
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
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


def set_checks(variables: list[Variable], read: Callable[[int, int], bytes]) -> None:
    """Set the CRC-32 of all blocks; `read` takes an offset in the file and a number of bytes."""
    for variable in variables:
        if not variable.blocks.flags.writeable:
            variable.blocks = variable.blocks.copy()
        for row in variable.blocks:
            row[3] = zlib.crc32(read(int(row[0]), int(row[1])))
