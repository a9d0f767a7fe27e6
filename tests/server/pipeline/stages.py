# SPDX-License-Identifier: BSD-3-Clause
"""Functions of a user for the tests of stage "python"."""

import os
import signal
import time
from typing import Any

import numpy as np

calls: list[int] = []


def double(step: int, parts: list[Any]) -> None:
    """Changes the values in place."""
    for part in parts:
        assert part.name == "u"
        assert part.extents == (5, 9, 6)
        assert part.data.flags.c_contiguous
        part.data[...] *= 2


def sums(step: int, parts: list[Any]) -> dict[str, float]:
    """Numbers for the table; counts its calls."""
    calls.append(step)
    items = sum(float(part.data.size) for part in parts)
    total = sum(float(part.data.sum()) for part in parts)
    return {"total": total, "items": items, "calls": len(calls)}


def largest(step: int, parts: list[Any]) -> dict[str, float]:
    """The largest value."""
    return {"largest": max(float(part.data.max()) for part in parts)}


def types(step: int, parts: list[Any]) -> dict[str, float]:
    """Looks at the index of each item: u = 31 z + 17 y + 7 x."""
    for part in parts:
        z, y, x = np.indices(part.data.shape)
        z0, y0, x0 = part.start
        expected = 31 * (z + z0) + 17 * (y + y0) + 7 * (x + x0)
        assert (part.data == (expected % 101).astype(part.data.dtype)).all()
    return {"fine": 1}


def wrong(step: int, parts: list[Any]) -> None:
    """Fails at step 10."""
    if step == 10:
        raise ValueError("the reservoir is empty")


def text(step: int, parts: list[Any]) -> Any:
    """Returns what is no dict."""
    return "text"


def die(step: int, parts: list[Any]) -> None:
    """Ends its process at step 10."""
    if step == 10:
        os.kill(os.getpid(), signal.SIGKILL)


def sleep(step: int, parts: list[Any]) -> None:
    """Takes too long at step 10."""
    if step == 10:
        time.sleep(60)
