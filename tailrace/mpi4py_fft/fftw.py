# SPDX-License-Identifier: BSD-3-Clause
"""Serial transforms with the calls of mpi4py_fft.fftw: a plan keeps its two arrays.

They are computed by NumPy, cosine and sine transforms by SciPy; as FFTW's, they are not normalised
unless asked to.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from tailrace.errors import InvalidInput

FFTW_MEASURE, FFTW_DESTROY_INPUT, FFTW_PATIENT, FFTW_ESTIMATE = 0, 1, 32, 64
INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}


def aligned(shape: Any, n: int = 32, dtype: Any = "d", fill: Any = None) -> Any:
    """Return a new array; NumPy aligns to 16 bytes or more (`n` is not needed)."""
    return np.empty(shape, dtype) if fill is None else np.full(shape, fill, dtype)


def aligned_like(array: Any, fill: Any = None) -> Any:
    """Return a new array of the shape and type of `array`."""
    return aligned(np.shape(array), dtype=array.dtype, fill=fill)


def get_fftw_lib(dtype: Any) -> bool | None:
    """Return whether there are transforms of a precision: single and double."""
    return True if np.dtype(dtype).char in "fdFD" else None


def array_fault(array: Any, like: Any, what: str, written: bool = False) -> str:
    """Say why `array` cannot be copied to, or from, the array that is planned for; or nothing."""
    if array is None:
        return ""
    if not isinstance(array, np.ndarray):
        return f"the {what} must be a NumPy array, not {type(array).__name__}"
    if array.shape != like.shape:
        return f"the {what} has shape {array.shape}; needs {like.shape}"
    one, other = (like, array) if written else (array, like)
    if array.dtype.kind not in "biufc" or not np.can_cast(one.dtype, other.dtype, "same_kind"):
        return f"the {what} has items {array.dtype}; needs {like.dtype}"
    return "" if array.flags.writeable or not written else f"the {what} is read-only"


class Plan:
    """A transform of `input_array` to `output_array`."""

    def __init__(
        self, run: Callable[[Any], Any], input_array: Any, output_array: Any, scale: float
    ) -> None:
        fault = array_fault(output_array, output_array, "output", written=True)
        if fault:
            raise InvalidInput(f"fftw: {fault}")
        self._run = run
        self.input_array = input_array
        self.output_array = output_array
        self._scale = scale

    def get_normalization(self) -> float:
        """Return what makes a transform and its inverse the identity."""
        return self._scale

    def __call__(
        self, input_array: Any = None, output_array: Any = None,
        implicit: bool = True, normalize: bool = False, **_: Any,
    ) -> Any:  # fmt: skip
        """Transform, of other arrays if given; returns the output."""
        fault = array_fault(input_array, self.input_array, "input")
        fault = fault or array_fault(output_array, self.output_array, "output", written=True)
        if fault:
            raise InvalidInput(f"fftw: {fault}")
        if input_array is not None:
            self.input_array[...] = input_array
        self.output_array[...] = self._run(self.input_array)
        if normalize:
            self.output_array *= self._scale
        if output_array is not None:
            output_array[...] = self.output_array
            return output_array
        return self.output_array


def _axes_of(input_array: Any, axes: Any) -> tuple[int, ...]:
    """Return the axes, counted from the first; each once."""
    count = np.ndim(input_array)
    listed = tuple(operator.index(axis) for axis in axes)
    if not listed or not all(-count <= axis < count for axis in listed):
        raise InvalidInput(f"fftw: axes {listed} of an array of {count}")
    found = tuple(axis % count for axis in listed)
    if len(set(found)) != len(found):
        raise InvalidInput(f"fftw: axes {listed} of an array of {count}: each once")
    return found


def _whole(input_array: Any, axes: Sequence[int]) -> float:
    return 1.0 / float(math.prod(input_array.shape[axis] for axis in axes))


def _same_shape(input_array: Any, output_array: Any) -> Any:
    """Return the output, by default a new array; of the shape of the input."""
    if output_array is None:
        return aligned_like(input_array)
    fault = array_fault(output_array, input_array, "output", written=True)
    if fault:
        raise InvalidInput(f"fftw: {fault}")
    return output_array


def complex_type(dtype: Any) -> Any:
    """Return the complex type of the same precision."""
    return np.result_type(dtype, "F")


def rfftn(
    input_array: Any, s: Any = None, axes: Any = (-1,), threads: int = 1, flags: Any = (),
    output_array: Any = None,
) -> Plan:  # fmt: skip
    """Plan real to complex."""
    axes = _axes_of(input_array, axes)
    if output_array is None:
        shape = list(input_array.shape)
        shape[axes[-1]] = shape[axes[-1]] // 2 + 1
        output_array = aligned(shape, dtype=complex_type(input_array.dtype))
    return Plan(
        lambda a: np.fft.rfftn(a, axes=axes), input_array, output_array, _whole(input_array, axes)
    )


def irfftn(
    input_array: Any, s: Any = None, axes: Any = (-1,), threads: int = 1, flags: Any = (),
    output_array: Any = None,
) -> Plan:  # fmt: skip
    """Plan complex to real; `s` gives the sizes along `axes` (else the last is even)."""
    axes = _axes_of(input_array, axes)
    shape = list(input_array.shape)
    if output_array is not None:
        if not isinstance(output_array, np.ndarray) or output_array.ndim != len(shape):
            raise InvalidInput(f"fftw: the output is not an array of {len(shape)} axes")
        shape = list(output_array.shape)
    elif s is not None:
        for axis, n in zip(axes, s, strict=True):
            shape[axis] = int(n)
    else:
        shape[axes[-1]] = 2 * (shape[axes[-1]] - 1)
    if output_array is None:
        output_array = aligned(shape, dtype=input_array.real.dtype)
    sizes = [shape[axis] for axis in axes]
    return Plan(
        lambda a: np.fft.irfftn(a, s=sizes, axes=axes, norm="forward"),
        input_array, output_array, _whole(output_array, axes),
    )  # fmt: skip


def fftn(
    input_array: Any, s: Any = None, axes: Any = (-1,), threads: int = 1, flags: Any = (),
    output_array: Any = None,
) -> Plan:  # fmt: skip
    """Plan complex to complex, forward."""
    axes = _axes_of(input_array, axes)
    out = _same_shape(input_array, output_array)
    return Plan(lambda a: np.fft.fftn(a, axes=axes), input_array, out, _whole(input_array, axes))


def ifftn(
    input_array: Any, s: Any = None, axes: Any = (-1,), threads: int = 1, flags: Any = (),
    output_array: Any = None,
) -> Plan:  # fmt: skip
    """Plan complex to complex, backward."""
    axes = _axes_of(input_array, axes)
    out = _same_shape(input_array, output_array)
    return Plan(
        lambda a: np.fft.ifftn(a, axes=axes, norm="forward"),
        input_array, out, _whole(input_array, axes),
    )  # fmt: skip


def _real_to_real(kind: str, input_array: Any, axes: Any, type: int, output_array: Any) -> Plan:
    try:
        import scipy.fft  # noqa: PLC0415
    except ImportError:
        raise ImportError("cosine and sine transforms need SciPy: pip install scipy") from None
    axes = _axes_of(input_array, axes)
    if not isinstance(type, Integral) or type not in INVERSE_TYPE:
        raise InvalidInput(f"fftw: type {type!r} of a transform; needs 1, 2, 3 or 4")
    run = {"dct": scipy.fft.dctn, "dst": scipy.fft.dstn}[kind]
    more = {("dct", 1): -1, ("dst", 1): 1}.get((kind, type), 0)
    scale = 1.0 / math.prod(2 * (input_array.shape[axis] + more) for axis in axes)
    out = _same_shape(input_array, output_array)
    return Plan(lambda a: run(a, type=type, axes=axes), input_array, out, scale)


def dctn(
    input_array: Any, s: Any = None, axes: Any = (-1,), type: int = 2,
    threads: int = 1, flags: Any = (), output_array: Any = None,
) -> Plan:  # fmt: skip
    """Plan a cosine transform of `type` 1 to 4."""
    return _real_to_real("dct", input_array, axes, type, output_array)


def idctn(
    input_array: Any, s: Any = None, axes: Any = (-1,), type: int = 2,
    threads: int = 1, flags: Any = (), output_array: Any = None,
) -> Plan:  # fmt: skip
    """Plan the inverse of `dctn` of `type`."""
    return _real_to_real("dct", input_array, axes, INVERSE_TYPE.get(type, type), output_array)


def dstn(
    input_array: Any, s: Any = None, axes: Any = (-1,), type: int = 2,
    threads: int = 1, flags: Any = (), output_array: Any = None,
) -> Plan:  # fmt: skip
    """Plan a sine transform of `type` 1 to 4."""
    return _real_to_real("dst", input_array, axes, type, output_array)


def idstn(
    input_array: Any, s: Any = None, axes: Any = (-1,), type: int = 2,
    threads: int = 1, flags: Any = (), output_array: Any = None,
) -> Plan:  # fmt: skip
    """Plan the inverse of `dstn` of `type`."""
    return _real_to_real("dst", input_array, axes, INVERSE_TYPE.get(type, type), output_array)
