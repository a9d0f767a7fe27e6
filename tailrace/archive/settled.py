# SPDX-License-Identifier: BSD-3-Clause
"""Makes sure that a file's times show every write that follows.

A file system stamps files with the tick of its clock: two writes within one tick leave the same
times. A file is therefore read at the earliest one tick after its times were seen: by then the
clock has passed them, and a further write changes them. The clock may be that of a file server, so
it is never compared with the clock of this node; only the time that has passed counts.
"""

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator

from tailrace.archive.bundle import Changed
from tailrace.archive.entry import FILE, Entry
from tailrace.files import tick_ns

MOST_SEEN = 4096  # entries that wait for their tick, while the files before them are packed


def seen_early(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the same entries, and look at later ones instead of waiting for the tick of a file."""
    coming: deque[Entry] = deque()
    for entry in entries:
        entry.seen_ns = time.monotonic_ns()
        coming.append(entry)
        while coming and (len(coming) >= MOST_SEEN or left_ns(coming[0]) == 0):
            yield coming.popleft()
    yield from coming


def left_ns(entry: Entry) -> int:
    """Return how long a write may still leave the times of a source as they are."""
    if entry.kind != FILE:
        return 0
    passed_ns = time.monotonic_ns() - entry.seen_ns
    return max(0, tick_ns(entry.ctime_ns) - passed_ns)


def settled_status(descriptor: int, entry: Entry) -> os.stat_result:
    """Return the status of an open file once its tick has passed; waits for the rest of it.

    `entry` gets the times that the status has. Raises `Changed` if the file is being written.
    """
    status = os.fstat(descriptor)
    if _times(status) != (entry.mtime_ns, entry.ctime_ns):
        entry.mtime_ns, entry.ctime_ns = _times(status)
        entry.seen_ns = time.monotonic_ns()
    if wait_ns := left_ns(entry):
        time.sleep(wait_ns / 1e9)
        status = os.fstat(descriptor)
        if _times(status) != (entry.mtime_ns, entry.ctime_ns):
            raise Changed("is being written")
    return status


def _times(status: os.stat_result) -> tuple[int, int]:
    return status.st_mtime_ns, status.st_ctime_ns
