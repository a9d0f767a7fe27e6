# SPDX-License-Identifier: BSD-3-Clause
"""Parallel Fourier transforms of three axes (docs/bindings.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailrace.extension import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    import mpi4py.MPI
    import numpy.typing

    from tailrace._core import TransformDouble, TransformSingle
else:
    load()
    from tailrace._core import TransformDouble, TransformSingle

__all__ = ["Transform", "TransformDouble", "TransformSingle"]


def Transform(
    comm: mpi4py.MPI.Intracomm,
    extents: Sequence[int],
    dtype: numpy.typing.DTypeLike = "float64",
    **options: Any,
) -> TransformDouble | TransformSingle:
    """Return a transform of fields of `extents` (nz, ny, nx) and `dtype`.

    Real fields (float32, float64) have a half spectrum, complex ones (complex64, complex128) a full
    one. Options: cutoff, grid, max_fields, kernel, method, threads, mode_order ("ky_kz_kx" or
    "kz_ky_kx"), scale (what forward multiplies modes by). Collective, blocking.
    """
    import numpy as np  # noqa: PLC0415

    from tailrace.errors import InvalidInput  # noqa: PLC0415
    from tailrace.together import require_comm, together  # noqa: PLC0415

    kinds = {
        "float32": "real_to_complex",
        "float64": "real_to_complex",
        "complex64": "complex_to_complex",
        "complex128": "complex_to_complex",
    }

    def read() -> str:
        name = "None" if dtype is None else np.dtype(dtype).name
        if name not in kinds:
            raise InvalidInput(f"Transform: dtype {name}; needs one of {', '.join(kinds)}")
        return name

    name = together(require_comm(comm), read, same=True)
    if name in ("float32", "complex64"):
        return TransformSingle(comm, extents, kinds[name], **options)
    return TransformDouble(comm, extents, kinds[name], **options)
