# SPDX-License-Identifier: BSD-3-Clause
"""Slow disks for benchmarks: mounted at a folder by ``bench/throttled_disk.sh`` (root needed)."""

import atexit
import os
import signal
import subprocess
import sys
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.programs import SOURCE_ROOT

SCRIPT = SOURCE_ROOT / "bench" / "throttled_disk.sh"


def mount(folder: Path, bytes_per_s: str, size: int, why: str = "--throttle") -> None:
    """Mount a disk of `size` bytes (0 bytes/s: as fast as it goes); it goes when we end.

    Being told to end (SIGTERM) counts as an end too.
    """
    if os.geteuid() != 0:
        raise TailraceError(f"{why} needs root; run without it, or sleep on a disk as it is")
    done = subprocess.run(
        [str(SCRIPT), "up", str(folder), bytes_per_s, str(size)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise TailraceError(f"{done.stderr.strip()} ({why} cannot be used here)")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    atexit.register(
        subprocess.run, [str(SCRIPT), "down", str(folder)], check=False, capture_output=True
    )
