# SPDX-License-Identifier: BSD-3-Clause
"""Reads a bundle back from the disk and compares it while the rest of it is still being written.

A batch of members is flushed (`fdatasync`), then it is read from the disk, not from the system's
cache. So reading overlaps writing, and little is left to compare when the bundle is finished.
Cost: one more read of the bundle, and its checksums; one flush for each 64 MiB.
"""

import contextlib
import os
from collections import deque
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path

from tailrace.archive.comparison import Comparison, Sums
from tailrace.archive.stream import PAGE_BYTES, Stream
from tailrace.archive.targets.directory import read_uncached
from tailrace.errors import TailraceError

BATCH_BYTES, BATCH_MEMBERS = 64 << 20, 20_000
MOST_BATCHES = 4  # that wait for the disk


class ReadBack:
    """Follows the writer of a bundle, whose file is open for reading, too.

    `direct`: it is written past the system's cache.
    """

    def __init__(self, descriptor: int, path: Path, direct: bool) -> None:
        self._file, self._path, self._direct = descriptor, path, direct
        self._done = Comparison()
        self._members: deque[Sums] = deque()  # that no batch has yet
        self._end = 0  # of the last member
        self._flusher, self._reader = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._batches: deque[Future[None]] = deque()

    def add(self, sums: Sums) -> None:
        """Note a member that is whole and will not be taken back."""
        self._members.append(sums)
        self._end = sums.end

    def advance(self, written: int) -> None:
        """Start a batch if enough was written; waits if the disk is too far behind."""
        # The last page may still get bytes, and would then be read from the cache.
        limit = min(written, self._end) // PAGE_BYTES * PAGE_BYTES
        start = self._members[0].header if self._members else limit
        if limit - start < BATCH_BYTES and len(self._members) < BATCH_MEMBERS:
            return
        while len(self._batches) >= MOST_BATCHES:
            self._wait()
        self._start_batch(limit)

    def _wait(self) -> None:
        try:
            self._batches.popleft().result()
        except OSError as error:
            raise TailraceError(f"{self._path}: {error.strerror}") from error

    def _start_batch(self, limit: int) -> None:
        batch = []
        while self._members and self._members[0].end <= limit:
            batch.append(self._members.popleft())
        if batch and self._done.sound:
            flushed = self._flusher.submit(os.fdatasync, self._file)
            self._batches.append(self._reader.submit(self._compare, flushed, batch))

    def _compare(self, flushed: Future[None], batch: list[Sums]) -> None:
        flushed.result()
        try:
            with Stream(self, "", batch[0].header, batch[-1].end, cached=False) as stream:
                for sums in batch:
                    self._done.member(stream, sums)
        except OSError:
            self._done.sound = False  # who compares the copy from its start on reports it

    def read_into(self, _key: str, offset: int, block: memoryview, cached: bool = False) -> int:
        """Fill a block with bytes of the bundle."""
        return read_uncached(f"/proc/self/fd/{self._file}", offset, block, self._direct)

    def finish(self) -> Comparison:
        """Compare the rest, which is flushed; says how far all matches."""
        self._start_batch(self._end)
        while self._batches:
            self._wait()
        return self._done

    def close(self) -> None:
        """Stop."""
        for batch in self._batches:
            batch.cancel()
        with contextlib.suppress(CancelledError, OSError):
            self._flusher.shutdown(cancel_futures=True)
            self._reader.shutdown(cancel_futures=True)
