# SPDX-License-Identifier: BSD-3-Clause
"""Regions of a Python program for ``tailrace profile``."""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LEVEL = 0x7A11  # as include/tailrace/c/region.h has it


@contextmanager
def region(name: str) -> Iterator[None]:
    """Name what runs inside as a region, on the thread that called MPI_Init; regions nest.

    Does nothing unless the profiler records this process. Local.
    """
    record = _recorder()
    if record:
        record(LEVEL, name.encode())
    try:
        yield
    finally:
        if record:
            record(-LEVEL, name.encode())


def _recorder() -> Callable[[int, bytes], int] | None:
    """Return the recorder's MPI_Pcontrol; None without it."""
    if "libtailrace_mpi_" not in os.environ.get("LD_PRELOAD", ""):
        return None
    function: Callable[[int, bytes], int] | None = getattr(ctypes.CDLL(None), "MPI_Pcontrol", None)
    return function
