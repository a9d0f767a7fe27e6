# SPDX-License-Identifier: BSD-3-Clause
"""Slow disks for benchmarks: mounted at a folder by ``bench/throttled_disk.sh`` (root needed)."""

import atexit
import os
import subprocess
from pathlib import Path

from tailrace.benchmarks.clone import require_clone
from tailrace.errors import TailraceError
from tailrace.programs import SOURCE_ROOT

SCRIPT = SOURCE_ROOT / "bench" / "throttled_disk.sh"


def mount(folder: Path, bytes_per_s: str, size: int, why: str = "--throttle") -> None:
    """Mount a disk of `size` bytes (0 bytes/s: as fast as it goes); it goes when we end.

    A separate process removes the disk, even if this one is killed.
    """
    require_clone(why)
    if os.geteuid() != 0:
        raise TailraceError(f"{why} needs root; omit it, or use the disk without a limit")
    # In a separate session, which Ctrl-C does not reach.
    holder = subprocess.Popen(
        [str(SCRIPT), "hold", str(folder), bytes_per_s, str(size)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    atexit.register(holder.communicate)
    assert holder.stdout is not None
    if not holder.stdout.readline():
        words = holder.communicate()[1].strip()
        raise TailraceError(f"{words} ({why} is not possible here)")
