# SPDX-License-Identifier: BSD-3-Clause
"""Reads an object of a target from a start to an end; the next blocks are read meanwhile."""

import mmap
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

BLOCK_BYTES = 8 << 20
# A writer that fills the system's cache is stopped for up to 0.2 s at a time and then writes much
# at once. A disk reads and writes at the same time only if that much was read meanwhile.
NUM_BLOCKS = 8
PAGE_BYTES = mmap.PAGESIZE


class Readable(Protocol):
    """What a stream reads from: a target, or a file that is not one yet."""

    def read_into(self, key: str, offset: int, block: memoryview, cached: bool = True) -> int:
        """Fill a block with bytes of an object; returns how many, fewer only at its end.

        `cached`: they may come from a cache of the system.
        """


class Stream:
    """Bytes of an object one after the other; a context.

    `cached`: bytes may come from a cache of the system; not where a copy is verified. A few blocks
    of memory are used again and again: new memory costs more than the copy into it.
    """

    def __init__(
        self, source: Readable, key: str, start: int, end: int, cached: bool = True
    ) -> None:
        self._source, self._key, self._cached = source, key, cached
        # Reads that bypass a cache need whole pages, in memory and in the file.
        page = PAGE_BYTES if not cached or end - start >= BLOCK_BYTES else 1
        self._next = start // page * page
        self._last = -(-end // page) * page
        self._start, self._end = start, end
        self._left = memoryview(b"")
        length = self._last - self._next
        size = min(BLOCK_BYTES, length)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        count = min(NUM_BLOCKS, -(-length // size)) if size > 0 else 0
        self._free = [memoryview(mmap.mmap(-1, size, flags=flags)) for _ in range(count)]
        self._shown: memoryview | None = None  # the block that `_left` is a part of
        self._coming: deque[tuple[memoryview, Future[memoryview]]] = deque()
        self._pool = ThreadPoolExecutor(1)
        self._ask()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _ask(self) -> None:
        """Have all blocks filled that are free."""
        while self._free and self._next < self._last:
            block = self._free.pop()
            length = min(BLOCK_BYTES, self._last - self._next)
            filled = self._pool.submit(self._fill, self._next, block[:length])
            self._coming.append((block, filled))
            self._next += length

    def _show(self) -> bool:
        """Make the next block the one that is shown; False at the end of the object."""
        if self._shown is not None:
            self._free.append(self._shown)
            self._shown = None
            self._ask()
        if self._coming:
            block, filled = self._coming[0]
            self._left = filled.result()  # one that fails stays the next, so that none is left out
            self._coming.popleft()
            self._shown = block
        return bool(self._left)

    def _fill(self, offset: int, block: memoryview) -> memoryview:
        length = self._source.read_into(self._key, offset, block, self._cached)
        return block[max(0, self._start - offset) : max(0, min(length, self._end - offset))]

    def blocks(self, length: int) -> Iterator[memoryview]:
        """Yield the next `length` bytes in parts; fewer only at the end of the object.

        A part is valid until the next one is asked for.
        """
        while length > 0:
            if not self._left and not self._show():
                return
            part = self._left[:length]
            self._left = self._left[len(part) :]
            length -= len(part)
            yield part

    def read(self, length: int) -> bytes:
        """Return the next `length` bytes; fewer only at the end of the object."""
        return b"".join(bytes(part) for part in self.blocks(length))
