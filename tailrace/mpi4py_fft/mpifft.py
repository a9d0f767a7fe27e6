# SPDX-License-Identifier: BSD-3-Clause
"""PFFT: parallel transforms along any axes of arrays that lie on a grid of ranks."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tailrace.errors import InvalidInput
from tailrace.fft import ArrayTransform
from tailrace.mpi4py_fft.fftw import array_fault
from tailrace.mpi4py_fft.libfft import FFT
from tailrace.mpi4py_fft.pencil import Pencil, Shape, Subcomm, Transfer
from tailrace.together import require_comm, together


class Transform:
    """A chain of serial transforms, and of transfers between them."""

    def __init__(self, xfftn: Sequence[Any], transfer: Sequence[Any], pencil: Sequence[Pencil]):
        self._xfftn = tuple(xfftn)
        self._transfer = tuple(transfer)
        self._pencil = tuple(pencil)

    @property
    def input_array(self) -> Any:
        """Used if a call is given none."""
        return self._xfftn[0].input_array

    @property
    def output_array(self) -> Any:
        """Returned if a call is given none."""
        return self._xfftn[-1].output_array

    @property
    def input_pencil(self) -> Pencil:
        return self._pencil[0]

    @property
    def output_pencil(self) -> Pencil:
        return self._pencil[1]

    def __call__(self, input_array: Any = None, output_array: Any = None, **options: Any) -> Any:
        """Transform; `normalize` is True by default forward, False backward. Collective."""
        self._check(input_array, output_array)
        if input_array is not None:
            self.input_array[...] = input_array
        for step, transfer in enumerate(self._transfer):
            self._xfftn[step](**options)
            transfer(self._xfftn[step].output_array, self._xfftn[step + 1].input_array)
        self._xfftn[-1](**options)
        if output_array is not None:
            output_array[...] = self.output_array
            return output_array
        return self.output_array

    def _check(self, input_array: Any, output_array: Any) -> None:
        """Refuse arrays of another kind before anything moves: the other ranks would wait."""
        fault = array_fault(input_array, self.input_array, "input")
        fault = fault or array_fault(output_array, self.output_array, "output", written=True)
        if fault:
            self._refuse(fault)

    def _refuse(self, fault: str) -> None:
        """Raise if all ranks do; else the job ends, as in any call of a time loop."""
        for move in self._transfer:
            owner = move.__self__
            if owner.comm.Get_size() == 1:
                continue
            owner._exchange(move.__name__ == "forward")._refuse(f"PFFT: {fault}")
        raise InvalidInput(f"PFFT: {fault}")


class Fast:
    """Tailrace's own transform; contiguous arrays are not copied."""

    def __init__(
        self, subcomm: Subcomm, shape: Shape, dtype: Any, axes: Sequence[dict[str, Any]]
    ) -> None:
        self.scale = math.prod(float(axis["scale"]) for axis in axes)
        self.own = ArrayTransform(
            subcomm.whole, shape, dtype, grid=[part.Get_size() for part in subcomm],
            scale=self.scale, **{
                name: [axis[key] for axis in axes]
                for name, key in (("axes", "axis"), ("kinds", "kind"), ("kept", "kept"),
                                  ("swap_with", "swap_with"))
            },
        )  # fmt: skip

    @cached_property
    def physical(self) -> Any:
        return np.zeros(self.own.shape, self.own.dtype)

    @cached_property
    def spectral(self) -> Any:
        return np.zeros(self.own.spectral_shape, self.own.spectral_dtype)


class FastDirection(Transform):
    """One of the two directions of `Fast`."""

    def __init__(self, fast: Fast, forward: bool, pencil: Sequence[Pencil]) -> None:
        super().__init__((), (), pencil)
        self._fast, self._forward = fast, forward

    @property
    def input_array(self) -> Any:
        return self._fast.physical if self._forward else self._fast.spectral

    @property
    def output_array(self) -> Any:
        return self._fast.spectral if self._forward else self._fast.physical

    def _refuse(self, fault: str) -> None:
        own: Any = self._fast.own
        own._refuse(f"PFFT: {fault}")

    def _memory(self, array: Any, spectral: bool) -> Any:
        """Return the plain array if it is contiguous and of the kind that is needed, else None."""
        plain = np.asarray(array)
        own = self._fast.own
        fits = plain.dtype == (own.spectral_dtype if spectral else own.dtype)
        fits = fits and plain.shape == (own.spectral_shape if spectral else own.shape)
        return plain if fits and plain.flags.c_contiguous else None

    def __call__(self, input_array: Any = None, output_array: Any = None, **options: Any) -> Any:
        """Transform; `normalize` is True by default forward, False backward. Collective."""
        forward, own = self._forward, self._fast.own
        self._check(input_array, output_array)
        given = self.input_array if input_array is None else input_array
        source = self._memory(given, spectral=not forward)
        if source is None:
            self.input_array[...] = given
            source = self._memory(self.input_array, spectral=not forward)
        wanted = self.output_array if output_array is None else output_array
        result: Any = self._memory(wanted, spectral=forward) if _writable(wanted) else None
        direct = result is not None and not np.may_share_memory(source, result)
        if not direct:
            result = self._memory(self.output_array, spectral=forward)
        if forward:
            own.forward(source, result)
        else:
            own.backward(source, result)
        normalize = options.pop("normalize", forward)
        if normalize != forward:  # modes come normalised, fields do not
            result *= 1 / self._fast.scale if forward else self._fast.scale
        if not direct:
            wanted[...] = result
        return wanted


def _writable(array: Any) -> bool:
    return bool(np.asarray(array).flags.writeable)


def _grouped(axes: Any, num_axes: int) -> list[tuple[int, ...]]:
    """Return axes as groups that are transformed together, each once."""
    if axes is None:
        axes = range(num_axes)
    listed: list[Any] = [axes] if isinstance(axes, (int, np.integer)) else list(axes)
    groups: list[tuple[int, ...]] = []
    for group in listed:
        members = [group] if isinstance(group, (int, np.integer)) else list(group)
        groups.append(tuple(int(axis) + (num_axes if axis < 0 else 0) for axis in members))
    for one in groups:
        if not one or len(set(one)) != len(one) or not all(0 <= a < num_axes for a in one):
            raise InvalidInput(f"PFFT: axes {axes} of an array of {num_axes} axes")
    return groups


_MOST_AXES = 5  # of a layout


class PFFT:
    """Transforms arrays of `shape` along `axes`, the last of them first, on the ranks of `comm`.

    Arguments are those of mpi4py-fft: `axes` (an axis, several, or groups), `dtype`, `grid` (ranks
    along each axis, 0 or -1: choose), `padding` (a factor for each axis), `collapse`, `backend`
    (accepted, changes nothing), `transforms` ({axes: (forward, backward)}), `darray` (in place of
    shape, dtype and grid). `method` says what computes it. Collective, blocking.
    """

    def __init__(
        self, comm: Any, shape: Any = None, axes: Any = None, dtype: Any = float, grid: Any = None,
        padding: Any = False, collapse: bool = False, backend: str = "fftw",
        transforms: Any = None, darray: Any = None, **options: Any,
    ) -> None:  # fmt: skip
        everybody = comm if isinstance(comm, Subcomm) else require_comm(comm)
        slab = options.pop("slab", False)

        def read() -> tuple[list[int], list[tuple[int, ...]], Any, Any, Any, bool]:
            return _arguments(shape, axes, dtype, grid, padding, darray, everybody, slab, collapse)

        extents, groups, first, factors, dims, collapse = together(everybody, read, same=True)
        self._input_shape: Shape = tuple(extents)
        if darray is not None:
            self.subcomm = darray.subcomm[darray.rank :]
        else:
            self.subcomm = comm if isinstance(comm, Subcomm) else Subcomm(comm, dims)
        self.collapse = collapse
        if collapse:
            groups = _collapsed(groups, self.subcomm)
        self.axes = tuple(groups)

        def plan() -> None:
            if any(self.subcomm[axis].Get_size() != 1 for axis in groups[-1]):
                raise InvalidInput(
                    f"PFFT: axes {groups[-1]} are transformed first, and must not be distributed"
                )
            self._plan(extents, first, factors, backend, transforms, options)

        together(everybody, plan)
        self._make_directions(first)

    def _plan(
        self, extents: list[int], dtype: Any, factors: Any, backend: str, transforms: Any,
        options: dict[str, Any],
    ) -> None:  # fmt: skip
        self.xfftn: list[FFT] = []
        self.transfer: list[Transfer] = []
        pencil = start = Pencil(self.subcomm, extents, self.axes[-1][-1])
        for group in reversed(self.axes):
            if self.xfftn:
                there = pencil.pencil(group[-1]) if pencil.axis != group[-1] else pencil
                self.transfer.append(pencil.transfer(there, dtype))
                pencil = there
            fft = FFT(pencil.subshape, group, dtype, factors, backend, transforms, **options)
            self.xfftn.append(fft)
            made, dtype = fft.spectral_like
            if made != pencil.subshape:
                extents[group[-1]] = made[group[-1]]
                pencil = Pencil(pencil.subcomm, extents, group[-1])
        self._output_shape: Shape = tuple(extents)
        self.pencil = [start, pencil]

    def _make_directions(self, first: Any) -> None:
        self._fast: Fast | None = None
        own_axes = self._own_axes(first)
        if own_axes is not None and isinstance(self.subcomm, Subcomm):
            self._fast = Fast(self.subcomm, self._input_shape, first, own_axes)
            self.forward: Transform = FastDirection(self._fast, True, self.pencil)
            self.backward: Transform = FastDirection(self._fast, False, self.pencil[::-1])
            return
        self.forward = Transform(
            [fft.forward for fft in self.xfftn], [way.forward for way in self.transfer], self.pencil
        )
        self.backward = Transform(
            [fft.backward for fft in self.xfftn[::-1]],
            [way.backward for way in self.transfer[::-1]],
            self.pencil[::-1],
        )

    def _own_axes(self, dtype: Any) -> list[dict[str, Any]] | None:
        """Return what Tailrace's own transform does along each axis, or None if it has no such."""
        members = [axis for group in self.axes for axis in group]
        num_axes = len(self._input_shape)
        if (
            not isinstance(self.subcomm, Subcomm)
            or num_axes > _MOST_AXES
            or len(set(members)) != len(members)
            or dtype.char not in "fdFD"
        ):
            return None
        sizes = [part.Get_size() for part in self.subcomm]
        found: list[dict[str, Any]] = []
        before = -1  # the axis that was made whole for the group before
        for group, fft in zip(reversed(self.axes), self.xfftn, strict=True):
            last = group[-1]
            if any(sizes[axis] != 1 for axis in group[:-1]):
                return None
            kind = fft.own_kind
            if kind is None:
                return None
            if sizes[last] > 1:
                sizes[last], sizes[before] = sizes[before], sizes[last]
            axes = [
                {"axis": axis, "kind": kind, "kept": 0, "swap_with": -1, "scale": 1.0}
                for axis in group
            ]
            axes[-1] |= {"swap_with": before, "scale": fft.M}
            if fft.padded:
                axes[-1]["kept"] = round(fft.shape[last] / fft.padding_factor)
            found = axes + found
            before = last
        return found

    @property
    def method(self) -> str:
        """What computes it: Tailrace's own transform, or serial functions and exchanges."""
        if self._fast is not None:
            return self._fast.own.describe()
        return f"{len(self.xfftn)} serial transforms, {len(self.transfer)} transfers"

    def destroy(self) -> None:
        """Free communicators, buffers and exchanges. Collective."""
        if self._fast is not None:
            self._fast.own.close()
        for transfer in self.transfer:
            transfer.destroy()
        if isinstance(self.subcomm, Subcomm):
            self.subcomm.destroy()

    def shape(self, forward_output: bool = True) -> Shape:
        """Return the shape of this rank's part of the modes, or of the field."""
        return self.pencil[bool(forward_output)].subshape

    def local_slice(self, forward_output: bool = True) -> tuple[slice, ...]:
        """Return this rank's part of the global array."""
        pencil = self.pencil[bool(forward_output)]
        return tuple(slice(s, s + n) for s, n in zip(pencil.substart, pencil.subshape, strict=True))

    def global_shape(self, forward_output: bool = False) -> Shape:
        """Return the shape of all modes, or of the whole field."""
        return self._output_shape if forward_output else self._input_shape

    @property
    def dimensions(self) -> int:
        """Number of axes."""
        return len(self._input_shape)

    def dtype(self, forward_output: bool = False) -> Any:
        """Return the type of the modes, or of the field."""
        return self.xfftn[-1].spectral_like[1] if forward_output else self.xfftn[0].dtype


def _arguments(
    shape: Any, axes: Any, dtype: Any, grid: Any, padding: Any, darray: Any, comm: Any, slab: Any,
    collapse: Any,
) -> tuple[list[int], list[tuple[int, ...]], Any, Any, Any, bool]:  # fmt: skip
    """Return extents, groups of axes, dtype, padding, ranks along each axis, collapse. Local."""
    if darray is not None:
        if not hasattr(darray, "pencil"):
            raise InvalidInput(f"PFFT: darray must be a DistArray, not {type(darray).__name__}")
        shape = darray.pencil.shape
        if axes is None:
            axes = np.roll(range(len(shape)), len(shape) - 1 - darray.alignment).tolist()
        dtype = darray.dtype
    if shape is None or dtype is None:
        raise InvalidInput("PFFT: needs a shape and a dtype, or a darray")
    extents = [operator.index(n) for n in shape]
    if not extents or any(n < 1 for n in extents):
        raise InvalidInput(f"PFFT: shape {tuple(extents)}; needs a point along each axis")
    groups = _grouped(axes, len(extents))
    factors = _factors(padding, extents, groups) if darray is None else padding
    dims = None if darray is not None else _dims(comm, len(extents), groups[-1], grid, slab)
    return extents, groups, np.dtype(dtype), factors, dims, bool(collapse)


def _factors(padding: Any, extents: list[int], groups: Any) -> Any:
    """Return the padding that comes out; `extents` become those of the padded field."""
    if padding is False:
        return False
    factors = (
        [float(padding)] * len(extents) if np.ndim(padding) == 0 else list(map(float, padding))
    )
    if len(factors) != len(extents):
        raise InvalidInput(f"PFFT: {len(factors)} factors of padding for {len(extents)} axes")
    if not all(1 - 1e-6 <= factor <= 64 for factor in factors):
        raise InvalidInput(f"PFFT: padding {padding}; needs factors of 1 to 64")
    for group in groups:
        axis = group[0]
        if len(group) == 1 and factors[axis] > 1 + 1e-6:
            kept = extents[axis]
            extents[axis] = int(np.floor(kept * factors[axis]))
            factors[axis] = extents[axis] / kept
    return factors


def _dims(comm: Any, num_axes: int, whole: Sequence[int], grid: Any, slab: Any) -> Any:
    """Return ranks along each axis (0: choose); None if `comm` has them."""
    if isinstance(comm, Subcomm):
        if grid is not None or len(comm) != num_axes:
            raise InvalidInput(f"PFFT: a Subcomm of {len(comm)} for {num_axes} axes, grid {grid}")
        return None
    if grid is not None:
        dims = [operator.index(n) for n in grid]
        if len(dims) > num_axes:
            raise InvalidInput(f"PFFT: grid {tuple(dims)} for {num_axes} axes")
        return dims + [1] * (num_axes - len(dims))
    if slab is not False and slab is not None:
        axis = (whole[-1] + 1 if slab is True else int(slab)) % num_axes
        return [comm.Get_size() if d == axis else 1 for d in range(num_axes)]
    return [1 if axis in whole else 0 for axis in range(num_axes)]


def _collapsed(groups: list[tuple[int, ...]], subcomm: Any) -> list[tuple[int, ...]]:
    """Return the groups with those joined to the last one that are whole on ranks."""
    joined: list[list[int]] = [[]]
    for group in reversed(groups):
        if all(subcomm[axis].Get_size() == 1 for axis in group):
            joined[0] = [*group, *joined[0]]
        else:
            joined.insert(0, list(group))
    return [tuple(group) for group in joined if group]
