# SPDX-License-Identifier: BSD-3-Clause
"""What the cases of the Python face share: the ranks, a folder, arrays, and `refused`."""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import tailrace

COMM = MPI.COMM_WORLD
FOLDER = Path(sys.argv[1])
SHAPE = (7, 9, 8)


def refused(action: Callable[[], object], *words: str, kind: type = tailrace.InvalidInput) -> None:
    """`action` raises `kind` on this rank, with a message of these words."""
    try:
        action()
    except kind as error:
        for word in words:
            assert word in str(error), f"{word!r} not in: {error}"
        return
    raise AssertionError(f"nothing was raised; expected {kind.__name__} with {words}")


def deprecated(action: Callable[[], Any], *words: str) -> Any:
    """What `action` returns, which warns that something is deprecated, in these words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = action()
    texts = [str(one.message) for one in caught if one.category is DeprecationWarning]
    assert any(all(word in text for word in words) for text in texts), texts
    return made


def whole(dtype: str = "float64", shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """The same array on all ranks."""
    values = np.random.default_rng(7).random(shape)
    if dtype.startswith("complex"):
        values = values + 1j * values[::-1]
    return (values * 100).astype(dtype)


def slabs(axis: int = 0) -> tailrace.Layout:
    return tailrace.slabs(SHAPE, axis, COMM.size)


def mine(layout: tailrace.Layout, dtype: str = "float64") -> np.ndarray:
    return np.ascontiguousarray(whole(dtype)[layout.box(COMM.rank).slices])
