# SPDX-License-Identifier: BSD-3-Clause
"""Compares the members of a bundle, one after the other, with their checksums."""

import hashlib
import zlib
from typing import NamedTuple

from tailrace.archive.checksum import new_hasher
from tailrace.archive.entry import FILE, SPARSE, Entry, padded
from tailrace.archive.stream import Stream


class Sums(NamedTuple):
    """Where a member lies, and its checksums; `checksum` is empty where it has no data."""

    header: int
    data: int
    stored: int
    frame: int
    checksum: str
    algorithm: str

    @property
    def end(self) -> int:
        """Offset of the byte behind the padding."""
        return self.data + padded(self.stored)


def sums_of(entry: Entry) -> Sums:
    """Return what is needed to compare a member."""
    checksum = entry.checksum if entry.kind in (FILE, SPARSE) else ""
    return Sums(entry.header, entry.data, entry.stored, entry.frame, checksum, entry.algorithm)


class Comparison:
    """A bundle that is compared from its start on: how far, and whether all matches so far."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.at = 0
        self.sound = True

    def continued(self) -> "Comparison":
        """Return a comparison that continues where this one ended."""
        other = Comparison()
        other.digest, other.at, other.sound = self.digest.copy(), self.at, self.sound
        return other

    def member(self, stream: Stream, sums: Sums) -> tuple[bool, bool]:
        """Compare the next member; returns whether its header and its data match."""
        header = stream.read(sums.data - sums.header)
        frame = zlib.crc32(header)
        self.digest.update(header)
        right, padding = True, b""
        if sums.checksum:
            data = new_hasher(sums.algorithm)
            for block in stream.blocks(sums.stored):
                data.update(block)
            self.digest.update(data.digest())
            padding = stream.read(padded(sums.stored) - sums.stored)
            self.digest.update(padding)
            right = data.hexdigest() == sums.checksum
        self.at = sums.end
        framed = zlib.crc32(padding, frame) == sums.frame
        self.sound = self.sound and right and framed
        return framed, right
