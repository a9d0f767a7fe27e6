# SPDX-License-Identifier: BSD-3-Clause
"""Reads an object of a target from a start to an end; the next block is read meanwhile."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from tailrace.archive.target import Target

BLOCK_BYTES = 8 << 20


class Stream:
    """Bytes of an object one after the other; a context."""

    def __init__(self, target: Target, key: str, start: int, end: int) -> None:
        self._target, self._key = target, key
        self._next, self._end = start, end
        self._left = memoryview(b"")
        self._pool = ThreadPoolExecutor(1)
        self._coming: Future[bytes] | None = None
        self._ask()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _ask(self) -> None:
        length = min(BLOCK_BYTES, self._end - self._next)
        self._coming = None
        if length > 0:
            self._coming = self._pool.submit(self._target.read, self._key, self._next, length)
            self._next += length

    def blocks(self, length: int) -> Iterator[memoryview]:
        """Yield the next `length` bytes in parts; fewer only at the end of the object."""
        while length > 0:
            if not self._left:
                if self._coming is None:
                    return
                self._left = memoryview(self._coming.result())
                self._ask()
                if not self._left:
                    return
            part = self._left[:length]
            self._left = self._left[len(part) :]
            length -= len(part)
            yield part

    def read(self, length: int) -> bytes:
        """Return the next `length` bytes; fewer only at the end of the object."""
        return b"".join(self.blocks(length))
