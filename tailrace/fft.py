# SPDX-License-Identifier: BSD-3-Clause
"""Parallel transforms: Fourier of three axes, and of any axes of arrays (docs/bindings.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailrace.extension import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    import mpi4py.MPI
    import numpy.typing

    from tailrace._core import (
        ArrayTransformDouble,
        ArrayTransformSingle,
        TransformDouble,
        TransformSingle,
        inverse,
        transform,
    )
else:
    load()
    from tailrace._core import (
        ArrayTransformDouble,
        ArrayTransformSingle,
        TransformDouble,
        TransformSingle,
        inverse,
        transform,
    )

__all__ = [
    "ArrayTransform",
    "ArrayTransformDouble",
    "ArrayTransformSingle",
    "Transform",
    "TransformDouble",
    "TransformSingle",
    "inverse",
    "transform",
]


def Transform(
    comm: mpi4py.MPI.Intracomm,
    extents: Sequence[int],
    dtype: numpy.typing.DTypeLike = "float64",
    **options: Any,
) -> TransformDouble | TransformSingle:
    """Return a transform of fields of `extents` (nz, ny, nx) and `dtype`.

    Real fields (float32, float64) have half a spectrum, complex fields (complex64, complex128) a
    full one. Options: cutoff, grid, max_fields, kernel, method, threads, mode_order ("ky_kz_kx" or
    "kz_ky_kx"), and scale, by which forward multiplies the modes. Collective, blocking.
    """
    name = _dtype_name("Transform", comm, dtype)
    kind = "real_to_complex" if name in _REAL else "complex_to_complex"
    if name in _SINGLE:
        return TransformSingle(comm, extents, kind, **options)
    return TransformDouble(comm, extents, kind, **options)


def ArrayTransform(
    comm: mpi4py.MPI.Intracomm,
    shape: Sequence[int],
    dtype: numpy.typing.DTypeLike = "float64",
    **options: Any,
) -> ArrayTransformDouble | ArrayTransformSingle:
    """Return a transform of some axes of arrays of `shape` (1 to 5 axes) and `dtype`.

    `axes` lists the transformed axes (default: all). As in scipy.fft, the last one is transformed
    first; axes that are not listed are batches. For each of these axes, `kinds` is "fourier",
    "dct1" to "dct4" or "dst1" to "dst4" (as scipy.fft defines them, not normalised), `kept` is the
    number of points whose modes are kept, and `swap_with` is the axis that is divided instead when
    this axis is transformed. `grid` is the number of ranks along each axis of the field (0:
    choose). Other options: scale, kernel, method, threads. Modes of a real field are complex from
    its first Fourier axis on, and real without Fourier axes. Collective, blocking.
    """
    name = _dtype_name("ArrayTransform", comm, dtype)
    if name in _SINGLE:
        return ArrayTransformSingle(comm, shape, name not in _REAL, **options)
    return ArrayTransformDouble(comm, shape, name not in _REAL, **options)


_REAL = ("float32", "float64")
_SINGLE = ("float32", "complex64")


def _dtype_name(what: str, comm: Any, dtype: Any) -> str:
    """Return the name of a type of items, the same on all ranks. Collective."""
    import numpy as np  # noqa: PLC0415

    from tailrace.errors import InvalidInput  # noqa: PLC0415
    from tailrace.together import require_comm, together  # noqa: PLC0415

    def read() -> str:
        name = "None" if dtype is None else np.dtype(dtype).name
        if name not in ("float32", "float64", "complex64", "complex128"):
            raise InvalidInput(
                f"{what}: dtype {name}; needs one of float32, float64, complex64, complex128"
            )
        return name

    return str(together(require_comm(comm), read, same=True))
