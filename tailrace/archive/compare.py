# SPDX-License-Identifier: BSD-3-Clause
"""Reads a copy of a bundle from its target and compares every byte with the checksums."""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tailrace.archive.bundle import TAIL_BYTES, end_of_bundle, read_end
from tailrace.archive.comparison import Comparison, sums_of
from tailrace.archive.entry import FILE, Entry
from tailrace.archive.index import Bundle, Index
from tailrace.archive.packed import Content, content_of
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


def compare_copy(
    index: Index, bundle: Bundle, target: Target, begun: Comparison | None = None
) -> list[Damage]:
    """Read a whole copy, and return its damages; raises `TargetError` if it cannot be read.

    `begun`: how far this copy was compared already; it is only taken if all matched.
    """
    size = target.size(bundle.key)
    if size is None:
        return [Damage("", "the bundle is missing")]
    if size < bundle.size:
        return [Damage("", f"the bundle has {size} bytes instead of {bundle.size}")]
    done = begun.continued() if begun is not None and begun.sound else Comparison()
    with Stream(target, bundle.key, done.at, bundle.size, cached=False) as stream:
        found = list(_compare(index, bundle, target, stream, done))
    if size > bundle.size:
        found.append(Damage("", f"the bundle has {size} bytes instead of {bundle.size}"))
    return found


def _compare(
    index: Index, bundle: Bundle, target: Target, stream: Stream, done: Comparison
) -> Iterator[Damage]:
    at = done.at
    for entry in index.members(bundle.id, at):
        if entry.header > at:  # a member is lost that `rebuild-index` could not read
            yield Damage("", f"bytes {at} to {entry.header - 1} of the bundle")
            stream.read(entry.header - at)
        at = entry.end
        framed, right = done.member(stream, sums_of(entry))
        if not framed:
            yield Damage(entry.path, "header in the bundle")
        if not right:
            yield from _locate(index, bundle, target, entry)
    for block in stream.blocks(bundle.size - TAIL_BYTES - bundle.trailer):
        done.digest.update(block)
    tail = stream.read(TAIL_BYTES)
    if done.sound and done.digest.hexdigest() != bundle.digest:
        yield Damage("", "index of the bundle, or its header")
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


def _locate(index: Index, bundle: Bundle, target: Target, entry: Entry) -> list[Damage]:
    """Name the variables and boxes of a damaged member."""
    found = []
    content = content_of(target, bundle.key, entry)
    for variable in index.variables(entry.id) if entry.kind == FILE else []:
        wrong = 0
        first = ""
        for row in variable.blocks:
            if not _is_sound(content, row):
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


def _is_sound(content: Content, row: NDArray[Any]) -> bool:
    try:
        return zlib.crc32(content.read(int(row[0]), int(row[1]))) == int(row[3])
    except ValueError:
        return False


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
