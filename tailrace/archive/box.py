# SPDX-License-Identifier: BSD-3-Clause
"""Boxes of variables: ``z=0:10,y=5``, and which stored blocks a box needs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.archive.variable import Variable
from tailrace.errors import TailraceError

#: Rows whose gaps are smaller together are read as one.
NEAR_BYTES = 32 << 10
Box = list[tuple[int, int]]


def parse_box(text: str, variable: Variable) -> Box:
    """Return start and end along each axis; axes that the text leaves out are whole.

    Axes have the names of the file's dimensions, else x, y, z from the last back, or numbers.
    """
    box = [(0, extent) for extent in variable.shape]
    names = variable.axes or [""] * len(box)
    for part in filter(None, (each.strip() for each in text.split(","))):
        axis, _, range_ = part.partition("=")
        number = _axis(axis.strip(), names)
        low, colon, high = range_.partition(":")
        try:
            start = int(low) if low else 0
            most = variable.shape[number]
            end = (int(high) if high else most) if colon else start + 1
        except (ValueError, TypeError):
            known = ", ".join(
                f"{name}=0:{n}" for name, n in zip(names, variable.shape, strict=True)
            )
            raise TailraceError(
                f"--box {part!r}: {variable.name} has the axes {known}", 2
            ) from None
        if not 0 <= start < end <= most:
            raise TailraceError(f"--box {part!r}: {variable.name} has 0:{most} there", 2)
        box[number] = (start, end)
    return box


def _axis(name: str, names: list[str]) -> Any:
    if name in names:
        return names.index(name)
    letters = dict(zip("xyz", range(len(names) - 1, -1, -1), strict=False))
    if name in letters:
        return letters[name]
    return int(name) if name.isdigit() and int(name) < len(names) else None


def is_whole(box: Box, variable: Variable) -> bool:
    """Say whether a box is all of a variable."""
    return all(pair == (0, extent) for pair, extent in zip(box, variable.shape, strict=True))


def ranges_of(box: Box, variable: Variable) -> list[tuple[int, int]]:
    """Return first and last byte of the runs of a contiguous variable that have a box.

    Rows that are close to each other are one run, so that few are read.
    """
    item = np.dtype(variable.dtype).itemsize
    strides = [item] * len(box)
    for i in range(len(box) - 2, -1, -1):
        strides[i] = strides[i + 1] * variable.shape[i + 1]
    found: list[tuple[int, int]] = []

    def descend(axis: int, base: int) -> None:
        rest = range(axis, len(box))
        first = base + sum(box[i][0] * strides[i] for i in rest)
        last = base + sum((box[i][1] - 1) * strides[i] for i in rest) + item
        wanted = item
        for i in rest:
            wanted *= box[i][1] - box[i][0]
        if axis == len(box) or last - first <= wanted + NEAR_BYTES:
            if found and first <= found[-1][1]:
                found[-1] = (found[-1][0], last)
            else:
                found.append((first, last))
            return
        for at in range(*box[axis]):
            descend(axis + 1, base + at * strides[axis])

    descend(0, 0)
    return found


def rows_of(box: Box, variable: Variable) -> NDArray[np.int64]:
    """Return the blocks that a box needs, in the order of the file."""
    blocks = variable.blocks
    if variable.chunk:
        needed = np.ones(len(blocks), bool)
        for i, (start, end) in enumerate(box):
            at = blocks[:, 4 + i]
            needed &= (at < end) & (at + variable.chunk[i] > start)
    else:
        needed = np.zeros(len(blocks), bool)
        piece = piece_of(variable)
        for first, last in ranges_of(box, variable):
            needed[first // piece : (last - 1) // piece + 1] = True
    chosen = blocks[needed]
    return chosen[np.argsort(chosen[:, 0], kind="stable")]


def piece_of(variable: Variable) -> int:
    """Return the bytes of each piece but the last of a contiguous variable."""
    return int(variable.blocks[0][1]) if len(variable.blocks) else 1


def cut(box: Box, variable: Variable, pieces: dict[int, bytes]) -> NDArray[Any]:
    """Return the items of a box from the pieces of a contiguous variable."""
    shape = [end - start for start, end in box]
    result = np.empty(shape, variable.dtype)
    item = result.dtype.itemsize
    piece = piece_of(variable)
    row = shape[-1] * item if shape else item
    strides = [item] * len(box)
    for i in range(len(box) - 2, -1, -1):
        strides[i] = strides[i + 1] * variable.shape[i + 1]
    flat = result.reshape(-1, shape[-1] if shape else 1)
    corner = [start for start, _ in box]
    for number, outer in enumerate(np.ndindex(*shape[:-1])):
        at = sum((corner[i] + k) * strides[i] for i, k in enumerate(outer))
        at += corner[-1] * item if box else 0
        flat[number] = np.frombuffer(_bytes(pieces, piece, at, row), variable.dtype)
    return result


def _bytes(pieces: dict[int, bytes], piece: int, at: int, length: int) -> bytes:
    parts = []
    while length > 0:
        offset = at % piece
        part = pieces[at // piece][offset : offset + length]
        parts.append(part)
        at, length = at + len(part), length - len(part)
    return b"".join(parts)
