# SPDX-License-Identifier: BSD-3-Clause
"""Sparse files: parts that are no holes; the stored form of GNU tar 1.0, a map and the parts."""

import errno
import os
from typing import IO

from tailrace.archive.checksum import new_hasher
from tailrace.archive.entry import padded

BLOCK_BYTES = 1 << 20


def data_extents(descriptor: int, size: int) -> list[tuple[int, int]]:
    """Return offset and length of the parts of a file that are no holes."""
    found: list[tuple[int, int]] = []
    at = 0
    while at < size:
        try:
            start = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                break
            return [(0, size)]
        end = min(size, os.lseek(descriptor, start, os.SEEK_HOLE))
        found.append((start, end - start))
        at = end
    return found


def is_sparse(status: os.stat_result) -> bool:
    """Say whether a file has far fewer blocks than bytes."""
    return status.st_size >= 1 << 16 and status.st_blocks * 512 < status.st_size * 9 // 10


def map_of(extents: list[tuple[int, int]], size: int) -> tuple[bytes, list[tuple[int, int]]]:
    """Return the map of a sparse file, padded to blocks of tar, and the parts that it lists."""
    extents = list(extents)
    if not extents or sum(extents[-1]) < size:
        extents.append((size, 0))  # tells GNU tar how long the file is
    numbers = [len(extents), *(number for pair in extents for number in pair)]
    text = "".join(f"{number}\n" for number in numbers).encode()
    return text.ljust(padded(len(text)), b"\0"), extents


def sparse_checksum(file: IO[bytes], size: int, algorithm: str) -> str:
    """Return the checksum of the stored form that an unbuffered file would have."""
    data, descriptor = new_hasher(algorithm), file.fileno()
    head, extents = map_of(data_extents(descriptor, size), size)
    data.update(head)
    for start, length in extents:
        at, end = start, start + length
        while at < end and (block := os.pread(descriptor, min(BLOCK_BYTES, end - at), at)):
            data.update(block)
            at += len(block)
    return data.hexdigest()


def write_at(descriptor: int, data: bytes | memoryview, offset: int) -> None:
    """Write all of `data`, of which the system may take a part, as on a disk that gets full."""
    view = memoryview(data)
    while view:
        length = os.pwrite(descriptor, view, offset)
        view, offset = view[length:], offset + length


class SparseWriter:
    """Writes the stored form of a sparse file (GNU format 1.0): a map, then the data."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._held = b""
        self._extents: list[list[int]] | None = None

    def take(self, block: bytes) -> None:
        """Take the next part of the stored bytes."""
        if self._extents is None:
            self._held += block
            numbers, size = _read_map(self._held)
            if size < 0:
                return
            self._extents = [[numbers[i], numbers[i + 1]] for i in range(1, len(numbers), 2)]
            block, self._held = self._held[size:], b""
        while block and self._extents:
            extent = self._extents[0]
            if extent[1] == 0:
                self._extents.pop(0)
                continue
            part = block[: extent[1]]
            write_at(self._descriptor, part, extent[0])
            block = block[len(part) :]
            extent[0] += len(part)
            extent[1] -= len(part)


def _read_map(raw: bytes) -> tuple[list[int], int]:
    """Return the numbers of a map and its padded size; -1 while it is not complete."""
    lines = raw.split(b"\n")[:-1]
    if not lines or not lines[0].isdigit() or len(lines) < 1 + 2 * int(lines[0]):
        return [], -1
    used = lines[: 1 + 2 * int(lines[0])]
    size = -(-sum(len(line) + 1 for line in used) // 512) * 512
    return ([int(line) for line in used], size) if len(raw) >= size else ([], -1)
