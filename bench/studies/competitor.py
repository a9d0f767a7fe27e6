# SPDX-License-Identifier: BSD-3-Clause
"""Another process that writes to the same disk, as on a file system that is shared."""

import mmap
import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path

BLOCK_BYTES = 4 << 20
FILE_BYTES = 256 << 20


@dataclass
class Competitor:
    """What it wrote, known after its end."""

    bytes_per_s: float = 0.0
    core_share: float = 0.0  # processor time by time: what it takes of a core


def _open(path: str) -> int:
    """Open past the page cache if possible: copies into it would take much of a core."""
    how = os.O_CREAT | os.O_WRONLY | os.O_DSYNC
    try:
        return os.open(path, how | getattr(os, "O_DIRECT", 0), 0o644)
    except OSError:  # a file system of memory alone
        return os.open(path, how, 0o644)


def _write(path: str, ends: Event, told: "multiprocessing.Queue[tuple[float, float]]") -> None:
    """Write block after block, one at least, each to the disk, round and round in one file."""
    block = mmap.mmap(-1, BLOCK_BYTES)  # on a page, as writing past the page cache asks
    block.write(os.urandom(BLOCK_BYTES))
    file = _open(path)
    start, used, written = time.monotonic(), time.process_time(), 0
    parent = os.getppid()
    try:
        while True:
            os.pwrite(file, block, written % FILE_BYTES)
            written += BLOCK_BYTES
            if ends.is_set() or os.getppid() != parent:  # a parent that was killed cannot ask
                break
    finally:
        os.close(file)
        seconds = time.monotonic() - start
        told.put((written / seconds, (time.process_time() - used) / seconds))


@contextmanager
def competing(folder: Path) -> Iterator[Competitor]:
    """Let another process write to `folder` meanwhile."""
    spawning = multiprocessing.get_context("spawn")
    ends, told = spawning.Event(), spawning.Queue()
    path = folder / "competitor.dat"
    process = spawning.Process(target=_write, args=(str(path), ends, told), daemon=True)
    process.start()
    while not path.exists() and process.is_alive():
        time.sleep(0.01)
    result = Competitor()
    try:
        yield result
    finally:
        writing = process.is_alive()  # asked before it is told to end: it may have ended at once
        ends.set()
        if writing:
            result.bytes_per_s, result.core_share = told.get(timeout=60)
        process.join(timeout=60)
        path.unlink(missing_ok=True)
