# SPDX-License-Identifier: BSD-3-Clause
"""The header of a classic NetCDF file (CDF-1, CDF-2, CDF-5): where each variable lies.

Source: "NetCDF Classic Format Specification". A record variable has one block per record.
"""

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.archive.variable import WHOLE, Variable, contiguous_blocks

_TYPES = {1: "i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8"}
_TYPES |= {7: "u1", 8: ">u2", 9: ">u4", 10: ">i8", 11: ">u8"}
MOST_HEADER_BYTES = 64 << 20


class _Header:
    """Reads numbers and names, one after the other."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, 4
        self.wide = raw[3] == 5
        self.wide_offsets = raw[3] in (2, 5)

    def take(self, form: str) -> int:
        value: int = struct.unpack_from(form, self.raw, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def count(self) -> int:
        return self.take(">q" if self.wide else ">i")

    def name(self) -> str:
        return self.bytes(self.count()).decode("utf-8", "replace")

    def bytes(self, length: int) -> "bytes":
        value = self.raw[self.at : self.at + length]
        self.at += -(-length // 4) * 4
        return value

    def number_of(self) -> int:
        """Return the number of items of a list, whose tag is skipped."""
        self.take(">i")
        return self.count()

    def attributes(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for _ in range(self.number_of()):
            name, kind = self.name(), self.take(">i")
            dtype = np.dtype(_TYPES[kind])
            raw = self.bytes(self.count() * dtype.itemsize)
            if kind == 2:
                found[name] = raw.decode("utf-8", "replace")
            else:
                values = np.frombuffer(raw, dtype)
                found[name] = {"dtype": dtype.str, "value": values.tolist()}
        return found


def read_header(path: Path) -> list[Variable]:
    """Return the variables of a classic file; none if its header is damaged."""
    try:
        with path.open("rb") as file:
            return _variables(file.read(MOST_HEADER_BYTES))
    except (OSError, struct.error, KeyError, IndexError, ValueError):
        return []


def _variables(raw: bytes) -> list[Variable]:
    header = _Header(raw)
    records = max(0, header.count())
    named = [(header.name(), header.count()) for _ in range(header.number_of())]
    sizes = [size for _, size in named]
    whole = Variable(WHOLE, "|u1", (0,), np.empty((0, 4), np.int64))
    whole.attributes = header.attributes()
    found: list[tuple[Variable, int, bool]] = []
    for _ in range(header.number_of()):
        name = header.name()
        axes = [header.count() for _ in range(header.count())]
        attributes, kind = header.attributes(), header.take(">i")
        header.count()  # vsize may be too small for large variables; it is computed instead
        begin = header.take(">q" if header.wide_offsets else ">i")
        record = bool(axes) and sizes[axes[0]] == 0
        shape = tuple(records if not sizes[axis] else sizes[axis] for axis in axes)
        empty = np.empty((0, 4), np.int64)
        made = Variable(name, np.dtype(_TYPES[kind]).str, shape, empty, attributes=attributes)
        made.axes = [named[axis][0] for axis in axes]
        found.append((made, begin, record))
    one_record = [
        math.prod(made.shape[1:]) * np.dtype(made.dtype).itemsize
        for made, _, record in found
        if record
    ]
    # A record of a single variable is not padded.
    step = one_record[0] if len(one_record) == 1 else sum(-(-each // 4) * 4 for each in one_record)
    for made, begin, record in found:
        if not record:
            made.blocks = contiguous_blocks(begin, made.nbytes)
            continue
        items = math.prod(made.shape[1:])
        made.chunk = (1, *made.shape[1:])
        made.blocks = np.zeros((records, 4 + len(made.shape)), np.int64)
        made.blocks[:, 0] = begin + step * np.arange(records)
        made.blocks[:, 1] = items * np.dtype(made.dtype).itemsize
        made.blocks[:, 4] = np.arange(records)
    return [whole, *(made for made, _, _ in found)]
