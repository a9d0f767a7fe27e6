# SPDX-License-Identifier: BSD-3-Clause
"""The part of a global slice that this rank holds."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from tailrace.errors import InvalidInput

WHOLE = slice(None)


def local_part(array: Any, gslice: Any) -> tuple[Any, list[tuple[int, int]] | None]:
    """Return this rank's part of a global slice, and its (start, extent) there; None: no part."""
    whole = array.global_shape
    if (
        not isinstance(gslice, (tuple, list))
        or len(gslice) != len(whole)
        or not all(
            i == WHOLE or (isinstance(i, Integral) and 0 <= int(i) < n)
            for i, n in zip(gslice, whole, strict=True)
        )
    ):
        raise InvalidInput(
            f"global slice {gslice}: needs slice(None), or an index, for each axis of {whole}"
        )
    places: list[tuple[int, int]] = []
    index: list[Any] = []
    for i, start, extent in zip(gslice, array.substart, array.shape, strict=True):
        if i == WHOLE:
            index.append(WHOLE)
            places.append((start, extent))
        elif not start <= int(i) < start + extent:
            return None, None
        else:
            index.append(int(i) - start)
    return array.v[tuple(index)], places
