# SPDX-License-Identifier: BSD-3-Clause
"""A serial transform along some axes, forward and backward, with truncation if padded."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tailrace.errors import InvalidInput
from tailrace.mpi4py_fft import fftw

BACKENDS = ("fftw", "pyfftw", "numpy", "scipy", "mkl_fft")


class Direction:
    """One of the two: arrays, and a call that transforms them or others."""

    def __init__(self, fft: FFT, forward: bool) -> None:
        self._fft, self._forward = fft, forward

    @property
    def input_array(self) -> Any:
        """Planned for; used if a call is given none."""
        return self._fft.physical if self._forward else self._fft.spectral

    @property
    def output_array(self) -> Any:
        """Planned for; what a call returns if it is given none."""
        return self._fft.spectral if self._forward else self._fft.physical

    def __call__(self, input_array: Any = None, output_array: Any = None, **options: Any) -> Any:
        """Transform; `normalize` is True by default forward, False backward."""
        if input_array is not None:
            self.input_array[...] = input_array
        normalize = options.pop("normalize", self._forward)
        self._fft._run(self._forward)
        if normalize:
            np.multiply(self.output_array, self._fft.M, out=self.output_array)
        if output_array is not None:
            output_array[...] = self.output_array
            return output_array
        return self.output_array


class FFT:
    """Transforms arrays of `shape` and `dtype` along `axes`.

    `padding`: a factor, or one for each axis; the physical array has so many more points than modes
    are kept. `transforms`: {axes: (forward, backward)}, planners of `fftw`, functions such as
    numpy.fft's, or builders of pyfftw. `backend` is accepted and changes nothing. Arrays are made
    when first used.
    """

    def __init__(
        self, shape: Any, axes: Any = None, dtype: Any = float, padding: Any = False,
        backend: str = "fftw", transforms: Mapping[Any, Any] | None = None, **_: Any,
    ) -> None:  # fmt: skip
        self.shape = [operator.index(n) for n in np.atleast_1d(shape)]
        num_axes = len(self.shape)
        wanted = range(num_axes) if axes is None else np.atleast_1d(axes)
        if not num_axes or min(self.shape) < 1 or dtype is None:
            raise InvalidInput(f"FFT: shape {shape}, dtype {dtype}; needs points along each axis")
        if not len(wanted) or not all(-num_axes <= axis < num_axes for axis in wanted):
            raise InvalidInput(f"FFT: axes {axes} of an array of {num_axes}")
        self.axes = tuple(operator.index(axis) % num_axes for axis in wanted)
        self.dtype = np.dtype(dtype)
        if backend not in BACKENDS or self.dtype.char not in "fdFD":
            raise InvalidInput(
                f"FFT: backend '{backend}', dtype {self.dtype}; needs one of "
                f"{', '.join(BACKENDS)}, and float32, float64, complex64 or complex128"
            )
        self.backend = backend
        self.padding = padding
        factor = 1.0
        if padding is not False:
            factor = float(padding[self.axes[-1]] if np.ndim(padding) else padding)
        self.padding_factor = factor
        self.padded = abs(factor - 1) > 1e-8
        if not factor >= 1 - 1e-8 or not math.isfinite(factor):
            raise InvalidInput(f"FFT: padding {padding}; needs factors of 1 or more")
        if self.padded and len(self.axes) != 1:
            raise InvalidInput(f"FFT: padding along axes {self.axes}; needs one axis at a time")
        self._pair = _pair_of(transforms, self.axes)
        self.real_transform = self.dtype.kind == "f"
        self.M = self._scale()
        self.forward = Direction(self, True)
        self.backward = Direction(self, False)

    def _scale(self) -> float:
        if self._pair is not None and _is_planner(self._pair[0]):
            plan: fftw.Plan = self._pair[0](np.empty(self.shape, self.dtype), axes=self.axes)
            return plan.get_normalization()
        return 1.0 / math.prod(self.shape[axis] for axis in self.axes)

    @cached_property
    def spectral_like(self) -> tuple[tuple[int, ...], Any]:
        """Shape and type of the spectral array."""
        shape = list(self.shape)
        axis = self.axes[-1]
        if self.padded:
            shape[axis] = round(shape[axis] / self.padding_factor)
        if self._pair is None:
            if self.real_transform:
                shape[axis] = shape[axis] // 2 + 1
            return tuple(shape), fftw.complex_type(self.dtype)
        if _is_planner(self._pair[0]):
            plan = self._pair[0](np.empty(self.shape, self.dtype), axes=self.axes)
            made, dtype = plan.output_array.shape, plan.output_array.dtype
        else:
            result = self._pair[0](np.zeros(self.shape, self.dtype), axes=self.axes)
            made, dtype = result.shape, result.dtype
        if self.padded:
            made = tuple(n if d != axis else shape[axis] for d, n in enumerate(made))
            if dtype.kind == "c" and self.real_transform:
                made = tuple(n if d != axis else n // 2 + 1 for d, n in enumerate(made))
        return tuple(made), dtype

    @cached_property
    def own_kind(self) -> str | None:
        """What `tailrace.fft.ArrayTransform` calls this transform, or None if it has no such."""
        if self._pair is None:
            return "fourier"
        if not all(map(_is_planner, self._pair)):
            return None
        forward, backward = map(_name_and_type, self._pair)
        if self.real_transform and (forward, backward) == (("rfftn", 0), ("irfftn", 0)):
            return "fourier"
        if not self.real_transform and (forward, backward) == (("fftn", 0), ("ifftn", 0)):
            return "fourier"
        name, number = forward
        inverse = {("i" + name, number), (name, fftw.INVERSE_TYPE.get(number, 0))}
        waves = name in ("dctn", "dstn") and number in fftw.INVERSE_TYPE
        if not waves or backward not in inverse or (self.padded and not self.real_transform):
            return None
        return f"{name[:3]}{number}"

    @cached_property
    def physical(self) -> Any:
        return np.zeros(self.shape, self.dtype)

    @cached_property
    def spectral(self) -> Any:
        return np.zeros(*self.spectral_like)

    @cached_property
    def _half(self) -> bool:
        """Whether the last axis of modes is that of a real transform."""
        if self._pair is None:
            return bool(self.real_transform)
        axis = self.axes[-1]
        shape, dtype = self.spectral_like
        points = round(self.shape[axis] / self.padding_factor)
        return bool(self.real_transform and dtype.kind == "c" and shape[axis] != points)

    @cached_property
    def _functions(self) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        """Forward and backward, both not normalised, of arrays that are not truncated."""
        axes = self.axes
        sizes = [self.shape[axis] for axis in axes]
        if self._pair is not None and _is_planner(self._pair[0]):
            forward = self._pair[0](np.empty(self.shape, self.dtype), axes=axes)
            backward = self._pair[1](
                np.empty_like(forward.output_array), axes=axes, output_array=forward.input_array
            )
            return forward, backward
        if self._pair is not None:
            one, other = self._pair
            options = {"s": sizes} if self._half else {}
            return (
                lambda a: one(a, axes=axes),
                lambda a: other(a, axes=axes, **options) * math.prod(sizes),
            )
        if self.real_transform:
            return (
                lambda a: np.fft.rfftn(a, axes=axes),
                lambda a: np.fft.irfftn(a, s=sizes, axes=axes, norm="forward"),
            )
        return (
            lambda a: np.fft.fftn(a, axes=axes),
            lambda a: np.fft.ifftn(a, axes=axes, norm="forward"),
        )

    def _run(self, forward: bool) -> None:
        if forward:
            modes = self._functions[0](self.physical)
            if self.padded:
                self._truncate(modes)
            else:
                self.spectral[...] = modes
            return
        modes = self._pad() if self.padded else self.spectral
        field = self._functions[1](modes)
        self.physical[...] = field.real if self.real_transform else field

    def _part(self, start: int | None, stop: int | None) -> tuple[slice, ...]:
        """Modes start to stop of the last axis."""
        axis = self.axes[-1]
        return tuple(
            slice(start, stop) if d == axis else slice(None) for d in range(len(self.shape))
        )

    def _counts(self) -> tuple[int, int, bool]:
        """Kept points, modes below the highest, and whether there is a highest one (n even)."""
        kept = round(self.shape[self.axes[-1]] / self.padding_factor)
        return kept, (kept + 1) // 2, kept % 2 == 0

    def _truncate(self, modes: Any) -> None:
        """Keep the lower modes; the two highest of an even number fall together."""
        kept, low, even = self._counts()
        out, part = self.spectral, self._part
        if self._pair is not None and not self._half and self.real_transform:
            out[...] = modes[part(0, kept)]
            return
        out[part(0, low)] = modes[part(0, low)]
        if self._half:
            if even:
                out[part(low, low + 1)] = 2 * modes[part(low, low + 1)].real
            return
        if kept > 2:
            out[part(-((kept - 1) // 2), None)] = modes[part(-((kept - 1) // 2), None)]
        if even:
            size = modes.shape[self.axes[-1]]
            high = modes[part(low, low + 1)] + modes[part(size - low, size - low + 1)]
            out[part(low, low + 1)] = high

    def _pad(self) -> Any:
        """Modes with zeros above; the highest of an even number is halved between two."""
        kept, low, even = self._counts()
        given, part, axis = self.spectral, self._part, self.axes[-1]
        size = self.shape[axis]
        shape = list(given.shape)
        shape[axis] = size // 2 + 1 if self._half else size
        modes = np.zeros(shape, given.dtype)
        if self._pair is not None and not self._half and self.real_transform:
            modes[part(0, kept)] = given
            return modes
        modes[part(0, low)] = given[part(0, low)]
        if self._half:
            if even:
                modes[part(low, low + 1)] = 0.5 * given[part(low, low + 1)].real
            return modes
        if kept > 2:
            modes[part(-((kept - 1) // 2), None)] = given[part(-((kept - 1) // 2), None)]
        if even:
            half = 0.5 * given[part(low, low + 1)]
            modes[part(low, low + 1)] = half
            modes[part(size - low, size - low + 1)] = half
        return modes


def _pair_of(transforms: Any, axes: tuple[int, ...]) -> tuple[Any, Any] | None:
    """Return those of `axes`, forward and backward, or None."""
    if transforms is not None and not isinstance(transforms, Mapping):
        raise InvalidInput("FFT: transforms are a dict: {axes: (forward, backward)}")
    pair = (transforms or {}).get(axes)
    if pair is None:
        return None
    if not isinstance(pair, Sequence) or len(pair) != 2 or not all(callable(one) for one in pair):
        raise InvalidInput(f"FFT: transforms[{axes}] are {pair}; needs (forward, backward)")
    return _as_function(pair[0]), _as_function(pair[1])


def _home(function: Any) -> str:
    inner = function.func if isinstance(function, functools.partial) else function
    return str(getattr(inner, "__module__", ""))


def _is_planner(function: Any) -> bool:
    return _home(function) == fftw.__name__


def _name_and_type(planner: Any) -> tuple[str, int]:
    """Return the name of a planner of `fftw`, and the type of a cosine or sine transform, else 0.

    The type is -1 if it was given arguments that change more.
    """
    words: dict[str, Any] = {}
    if isinstance(planner, functools.partial):
        words, positional = planner.keywords, planner.args
        planner = planner.func
        if positional or set(words) - {"type", "threads", "flags"}:
            return str(getattr(planner, "__name__", "")), -1
    name = str(getattr(planner, "__name__", ""))
    number = words.get("type", 2) if name.lstrip("i") in ("dctn", "dstn") else 0
    return name, number if isinstance(number, int) else -1


def _as_function(function: Any) -> Any:
    """Return a builder of pyfftw as a function such as numpy.fft's; others as they are."""
    if not _home(function).startswith("pyfftw.builders"):
        return function
    plans: dict[Any, Any] = {}

    def transform(a: Any, **options: Any) -> Any:
        key = (a.shape, a.dtype, repr(options))
        if key not in plans:
            plans[key] = function(np.empty_like(a), **options)
        plans[key].input_array[...] = a  # transforms back destroy what they read
        return plans[key]()

    return transform
