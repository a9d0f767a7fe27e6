# SPDX-License-Identifier: BSD-3-Clause
"""Reads an object of a target from a start to an end; the next block is read meanwhile."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

BLOCK_BYTES = 8 << 20


class Readable(Protocol):
    """What a stream reads from: a target, or a file that is not one yet."""

    def read_into(self, key: str, offset: int, block: memoryview) -> int:
        """Fill a block with bytes of an object; returns how many, fewer only at its end."""


class Stream:
    """Bytes of an object one after the other; a context.

    Two blocks of memory are used again and again: fresh memory costs more than the copy into it.
    """

    def __init__(self, source: Readable, key: str, start: int, end: int) -> None:
        self._source, self._key = source, key
        self._next, self._end = start, end
        self._left = memoryview(b"")
        size = max(0, min(BLOCK_BYTES, end - start))
        self._blocks = [memoryview(bytearray(size)) for _ in range(2 if end - start > size else 1)]
        self._pool = ThreadPoolExecutor(1)
        self._coming: Future[memoryview] | None = None
        self._ask()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _ask(self) -> None:
        length = min(BLOCK_BYTES, self._end - self._next)
        self._coming = None
        if length > 0:
            self._blocks.reverse()  # the other one is what `_left` shows
            self._coming = self._pool.submit(self._fill, self._next, self._blocks[0][:length])
            self._next += length

    def _fill(self, offset: int, block: memoryview) -> memoryview:
        return block[: self._source.read_into(self._key, offset, block)]

    def blocks(self, length: int) -> Iterator[memoryview]:
        """Yield the next `length` bytes in parts; fewer only at the end of the object.

        A part is valid until the next one is asked for.
        """
        while length > 0:
            if not self._left:
                if self._coming is None:
                    return
                self._left = self._coming.result()
                self._ask()
                if not self._left:
                    return
            part = self._left[:length]
            self._left = self._left[len(part) :]
            length -= len(part)
            yield part

    def read(self, length: int) -> bytes:
        """Return the next `length` bytes; fewer only at the end of the object."""
        return b"".join(bytes(part) for part in self.blocks(length))
