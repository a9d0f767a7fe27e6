# SPDX-License-Identifier: BSD-3-Clause
"""Reads a copy of a bundle from its target and compares every byte with the checksums."""

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tailrace.archive.bundle import TAIL_BYTES, end_of_bundle, read_end
from tailrace.archive.entry import FILE, SPARSE, Entry
from tailrace.archive.index import Bundle, Index
from tailrace.archive.stream import Stream
from tailrace.archive.target import Target
from tailrace.archive.variable import Variable


@dataclass(frozen=True)
class Damage:
    """What is wrong in a copy: the file, or empty, and the part of it."""

    path: str
    part: str

    def __str__(self) -> str:
        return f"{self.path}: {self.part}" if self.path else self.part


def compare_copy(index: Index, bundle: Bundle, target: Target) -> list[Damage]:
    """Read a whole copy, and return its damages; raises `TargetError` if it cannot be read."""
    size = target.size(bundle.key)
    if size is None:
        return [Damage("", "the bundle is missing")]
    if size < bundle.size:
        return [Damage("", f"the bundle has {size} bytes instead of {bundle.size}")]
    with Stream(target, bundle.key, 0, bundle.size) as stream:
        found = list(_compare(index, bundle, target, stream))
    if size > bundle.size:
        found.append(Damage("", f"the bundle has {size} bytes instead of {bundle.size}"))
    return found


def _compare(index: Index, bundle: Bundle, target: Target, stream: Stream) -> Iterator[Damage]:
    digest = hashlib.sha256()
    sound, at = True, 0
    for entry in index.members(bundle.id):
        if entry.header > at:  # a member is lost that `rebuild-index` could not read
            yield Damage("", f"bytes {at} to {entry.header - 1} of the bundle")
            stream.read(entry.header - at)
        at = entry.end
        for damage in _compare_member(index, bundle, target, stream, entry, digest):
            sound = False
            yield damage
    for block in stream.blocks(bundle.size - TAIL_BYTES - bundle.trailer):
        digest.update(block)
    tail = stream.read(TAIL_BYTES)
    if sound and digest.hexdigest() != bundle.digest:
        yield Damage("", "header of the bundle's own index, or that index")
    if not _is_end(bundle, tail):
        yield Damage("", "header or end of the bundle (end.json)")


def _is_end(bundle: Bundle, tail: bytes) -> bool:
    row = read_end(tail)
    return (
        row is not None
        and (row["key"], row["digest"], row["trailer"])
        == (bundle.key, bundle.digest, bundle.trailer)
        and tail == end_of_bundle(bundle.key, row["index"], row["index_size"], bundle.trailer,
                                  bundle.digest)
    )  # fmt: skip


def _compare_member(
    index: Index,
    bundle: Bundle,
    target: Target,
    stream: Stream,
    entry: Entry,
    digest: "hashlib._Hash",
) -> Iterable[Damage]:
    header = stream.read(entry.data - entry.header)
    frame = zlib.crc32(header)
    digest.update(header)
    if entry.kind not in (FILE, SPARSE):
        return [] if frame == entry.frame else [Damage(entry.path, "header in the bundle")]
    data = hashlib.sha256()
    for block in stream.blocks(entry.stored):
        data.update(block)
    digest.update(data.digest())
    padding = stream.read(entry.end - entry.data - entry.stored)
    digest.update(padding)
    found = []
    if zlib.crc32(padding, frame) != entry.frame:
        found.append(Damage(entry.path, "header in the bundle"))
    if data.hexdigest() != entry.sha256:
        found += _locate(index, bundle, target, entry)
    return found


def _locate(index: Index, bundle: Bundle, target: Target, entry: Entry) -> list[Damage]:
    """Name the variables and boxes of a damaged member."""
    found = []
    for variable in index.variables(entry.id) if entry.kind == FILE else []:
        wrong = 0
        first = ""
        for row in variable.blocks:
            raw = target.read(bundle.key, entry.data + int(row[0]), int(row[1]))
            if zlib.crc32(raw) != int(row[3]):
                first = first or _box_of(variable, row)
                wrong += 1
        if wrong:
            more = f" and {wrong - 1} more" if wrong > 1 else ""
            found.append(Damage(entry.path, f"variable {variable.name}, {first}{more}"))
    if not found:
        variables = "" if entry.kind != FILE or not index.variables(entry.id) else (
            ": header, attributes or other data"
        )  # fmt: skip
        found.append(Damage(entry.path, f"data of the file{variables}"))
    return found


def _box_of(variable: Variable, row: "Iterable[int]") -> str:
    numbers = [int(number) for number in row]
    if not variable.chunk:
        return f"bytes {numbers[0]} to {numbers[0] + numbers[1] - 1} of the file"
    starts = numbers[4:]
    ends = [
        min(start + extent, whole)
        for start, extent, whole in zip(starts, variable.chunk, variable.shape, strict=True)
    ]
    return "box " + ",".join(f"{a}:{b}" for a, b in zip(starts, ends, strict=True))
