# SPDX-License-Identifier: BSD-3-Clause
"""Streams of an object: the bytes asked for, in order, whatever the sizes of blocks and parts."""

import random

import pytest

from tailrace.archive import stream
from tailrace.archive.stream import Stream
from tailrace.archive.target import TargetError


class Memory:
    """An object in memory whose reads fail from `bad` on."""

    def __init__(self, content: bytes, bad: int | None = None) -> None:
        self.content, self.bad = content, bad
        self.asked: list[tuple[int, int]] = []

    def read_into(self, key: str, offset: int, block: memoryview, cached: bool = True) -> int:
        self.asked.append((offset, offset + len(block)))
        if self.bad is not None and offset + len(block) > self.bad:
            raise TargetError("memory", key, "lost")
        part = self.content[offset : offset + len(block)]
        block[: len(part)] = part
        return len(part)


@pytest.mark.parametrize("cached", [True, False])
def test_parts_of_every_size(monkeypatch: pytest.MonkeyPatch, cached: bool) -> None:
    chance = random.Random(f"{cached}")
    monkeypatch.setattr(stream, "PAGE_BYTES", 16)
    for _ in range(300):
        monkeypatch.setattr(stream, "BLOCK_BYTES", 16 * chance.randint(1, 8))
        content = chance.randbytes(chance.randint(0, 3000))
        start, end = sorted(chance.randint(0, len(content)) for _ in range(2))
        source, found, sizes = Memory(content), b"", []
        with Stream(source, "key", start, end, cached) as read:
            while len(found) < end - start:
                sizes.append(chance.randint(1, 700))
                found += read.read(sizes[-1])
            assert read.read(9) == b""
        assert found == content[start:end], (start, end, sizes)
        assert source.asked == sorted(set(source.asked)), "each block is read once, in order"


def test_an_object_that_ends_early_or_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "PAGE_BYTES", 16)
    monkeypatch.setattr(stream, "BLOCK_BYTES", 64)
    content = bytes(range(256)) * 8
    with Stream(Memory(content), "key", 100, 3000) as read:
        assert read.read(5000) == content[100:]
    with Stream(Memory(content, bad=1500), "key", 100, 2000) as read:
        assert read.read(600) == content[100:700], "what comes before is read"
        with pytest.raises(TargetError, match="key: lost"):
            read.read(2000)


def test_nothing_is_left_out_behind_a_block_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "PAGE_BYTES", 16)
    monkeypatch.setattr(stream, "BLOCK_BYTES", 64)

    class Once(Memory):
        def read_into(self, key: str, offset: int, block: memoryview, cached: bool = True) -> int:
            if offset == 128:
                raise TargetError("memory", key, "lost")
            return super().read_into(key, offset, block, cached)

    with Stream(Once(bytes(1000)), "key", 0, 1000) as read:
        for _ in range(3):
            with pytest.raises(TargetError, match="key: lost"):
                read.read(300)
