# SPDX-License-Identifier: BSD-3-Clause
"""DistArray: this rank's part of a global array, which knows where it belongs."""

from __future__ import annotations

import operator
import warnings
from numbers import Integral, Number
from typing import Any

import numpy as np
from mpi4py import MPI

from tailrace.errors import InvalidInput
from tailrace.mpi4py_fft.files import FileBase, HDF5File
from tailrace.mpi4py_fft.local_part import WHOLE, local_part
from tailrace.mpi4py_fft.mpifft import PFFT
from tailrace.mpi4py_fft.ncfile import NCFile
from tailrace.mpi4py_fft.pencil import Pencil, Subcomm, Transfer
from tailrace.together import require_comm, together


def _listed(subcomm: Any) -> Any:
    """Return communicators, numbers of ranks, or None. Local."""
    if subcomm is None:
        return None
    parts = list(subcomm) if np.iterable(subcomm) else []
    if parts and all(isinstance(part, MPI.Intracomm) for part in parts):
        return tuple(map(require_comm, parts))
    if parts and all(isinstance(part, Integral) for part in parts):
        return [int(part) for part in parts]
    raise InvalidInput(f"DistArray: subcomm {subcomm!r}; needs communicators, or ranks of axes")


def _arguments(
    global_shape: Any, dtype: Any, alignment: Any, rank: Any
) -> tuple[tuple[int, ...], Any, int | None, int]:
    """Return shape, dtype, alignment and rank as they should be. Local."""
    extents = tuple(operator.index(n) for n in global_shape)
    rank = operator.index(rank)
    axes = len(extents) - rank
    whole = None if alignment is None else operator.index(alignment)
    if not 0 <= rank <= 2 or axes < 1 or any(n < 0 for n in extents):
        raise InvalidInput(f"DistArray: shape {extents} of rank {rank}; needs 0 to 2, and an axis")
    if whole is not None and not -axes <= whole < axes:
        raise InvalidInput(f"DistArray: alignment {whole} of {axes} axes")
    if dtype is None:
        raise InvalidInput("DistArray: needs a dtype")
    return extents, np.dtype(dtype), None if whole is None else whole % axes, rank


def _communicators(subcomm: Any, num_axes: int, alignment: int | None) -> tuple[Any, int]:
    """Return a communicator for each axis, and the axis that is whole."""
    if subcomm is None:
        alignment = num_axes - 1 if alignment is None else alignment
        subcomm = Subcomm(MPI.COMM_WORLD, [int(axis == alignment) for axis in range(num_axes)])
    elif isinstance(subcomm, list):
        subcomm = Subcomm(MPI.COMM_WORLD, subcomm)
    if len(subcomm) != num_axes:
        raise InvalidInput(f"DistArray: {len(subcomm)} communicators for {num_axes} axes")
    sizes = [part.Get_size() for part in subcomm]
    if alignment is None:
        if 1 not in sizes:
            raise InvalidInput(f"DistArray: a grid of {sizes} ranks; needs an axis that is whole")
        alignment = max(axis for axis, size in enumerate(sizes) if size == 1)
    return subcomm, int(alignment)


class DistArray(np.ndarray[Any, Any]):
    """A NumPy array that is part of a global one of `global_shape`.

    `subcomm`: communicators, or ranks along each axis (0: choose); `alignment`: the axis that is
    whole; `rank`: the first so many axes are components, and whole; `val`: its items. Collective,
    but local where communicators are given.
    """

    _p0: Pencil | None
    _rank: int

    def __new__(
        cls, global_shape: Any, subcomm: Any = None, val: Any = None, dtype: Any = float,
        buffer: Any = None, strides: Any = None, alignment: int | None = None, rank: int = 0,
    ) -> DistArray:  # fmt: skip
        listed = subcomm if isinstance(subcomm, Subcomm) else _listed(subcomm)

        def read() -> tuple[tuple[int, ...], Any, int | None, int]:
            return _arguments(global_shape, dtype, alignment, rank)

        local = isinstance(listed, tuple)  # nobody to agree with: made of communicators
        extents, dtype, alignment, rank = (
            read() if local else together(MPI.COMM_WORLD, read, same=True)
        )
        pencil = None
        shape = extents
        if len(extents) - rank >= 2:
            comms, axis = _communicators(listed, len(extents) - rank, alignment)
            pencil = Pencil(comms, extents[rank:], axis)
            shape = extents[:rank] + pencil.subshape
        if val is not None and not isinstance(val, Number):
            raise InvalidInput(f"DistArray: val {val!r}; needs a number, or None")
        if strides is not None and buffer is None:
            raise InvalidInput("DistArray: strides need a buffer; give both")
        made = super().__new__(cls, shape, dtype=dtype, buffer=buffer, strides=strides)
        if buffer is None and isinstance(val, Number):
            made.fill(val)
        made._p0, made._rank = pencil, rank
        return made

    def __array_finalize__(self, other: Any) -> None:
        self._p0 = getattr(other, "_p0", None)
        self._rank = getattr(other, "_rank", 0)

    @property
    def pencil(self) -> Pencil:
        """How it lies on the ranks."""
        if self._p0 is None:
            raise InvalidInput("DistArray: of one axis, is not distributed")
        return self._p0

    @property
    def rank(self) -> int:
        """Number of axes of components: 0 scalars, 1 vectors, 2 matrices."""
        return self._rank

    @property
    def alignment(self) -> int:
        """The axis that is whole, components not counted."""
        return self.pencil.axis

    @property
    def global_shape(self) -> tuple[int, ...]:
        return tuple(self.shape[: self.rank]) + self.pencil.shape

    @property
    def substart(self) -> tuple[int, ...]:
        return (0,) * self.rank + self.pencil.substart

    @property
    def subcomm(self) -> tuple[Any, ...]:
        return (MPI.COMM_SELF,) * self.rank + self.pencil.subcomm

    @property
    def commsizes(self) -> list[int]:
        return [comm.Get_size() for comm in self.subcomm]

    @property
    def dimensions(self) -> int:
        """Number of axes, components not counted."""
        return len(self.pencil.shape)

    @property
    def v(self) -> Any:
        """The plain NumPy array."""
        return self.view(np.ndarray)

    def __getitem__(self, index: Any) -> Any:
        """A component is a DistArray; else a plain array, or an item."""
        plain = isinstance(index, (Integral, slice)) or (
            isinstance(index, tuple) and all(isinstance(i, (Integral, slice)) for i in index)
        )
        length = len(index) if isinstance(index, tuple) else 1
        if self._p0 is None or not plain or length > self.rank:
            return self.v[index]
        part = super().__getitem__(index)
        part._rank = self.rank - (self.ndim - part.ndim)
        return part

    def local_slice(self) -> tuple[slice, ...]:
        """Return this rank's part of the global array."""
        return tuple(slice(s, s + n) for s, n in zip(self.substart, self.shape, strict=True))

    def get(self, gslice: Any) -> Any:
        """Return a global slice (of slice(None) and integers) on rank 0, None elsewhere."""
        comm = MPI.COMM_WORLD
        own, place = together(comm, lambda: local_part(self, gslice))
        parts = comm.gather((own, place))
        if parts is None:
            return None
        shape = [n for n, i in zip(self.global_shape, gslice, strict=True) if i == WHOLE]
        whole = np.empty(shape, self.dtype)
        for part, where in parts:
            if where is not None:
                whole[tuple(slice(s, s + n) for s, n in where)] = part
        return whole

    def get_pencil_and_transfer(self, axis: int) -> tuple[Pencil, Transfer]:
        """Return the pencil that is whole along `axis`, and the way to it."""
        pencil = self.pencil.pencil(axis)
        return pencil, self.pencil.transfer(pencil, self.dtype)

    def redistribute(self, axis: int | None = None, out: Any = None) -> DistArray:
        """Return the array whole along `axis`: itself, a new one, or `out`. Collective."""
        target = together(self.pencil.subcomm, lambda: self._target(axis, out), same=True)
        if axis is not None and target == self.alignment:
            return self
        if out is None and self.pencil.subcomm[target].Get_size() == 1:
            self.pencil.axis = target  # both are whole
            return self
        if out is not None and out.commsizes == self.commsizes:
            out[...] = self
            return out  # type: ignore[no-any-return]
        pencil, transfer = self.get_pencil_and_transfer(target)
        if out is None:
            out = DistArray(
                self.global_shape, pencil.subcomm, dtype=self.dtype, alignment=target,
                rank=self.rank,
            )  # fmt: skip
        for index in np.ndindex(self.shape[: self.rank]):
            transfer.forward(self.v[index], out.v[index])
        transfer.destroy()
        return out  # type: ignore[no-any-return]

    def _target(self, axis: Any, out: Any) -> int:
        """Return the axis that is to be whole. Local."""
        if axis is None and out is None:
            raise InvalidInput("redistribute: needs an axis, or an array")
        if axis is not None:
            axis = operator.index(axis)
            if not -self.dimensions <= axis < self.dimensions:
                raise InvalidInput(f"redistribute: axis {axis} of {self.dimensions}")
            axis %= self.dimensions
        if out is not None and (
            not isinstance(out, DistArray)
            or out.global_shape != self.global_shape
            or out.dtype != self.dtype
            or not out.flags.writeable
            or (axis is not None and axis != out.alignment)
        ):
            raise InvalidInput(
                "redistribute: `out` has another global shape, dtype or alignment, or is read-only"
            )
        return int(axis if out is None else out.alignment)

    def write(
        self, filename: Any, name: str = "darray", step: int = 0, global_slice: Any = None,
        domain: Any = None, as_scalar: bool = False,
    ) -> None:  # fmt: skip
        """Write it, or a global slice of it, as snapshot `step` of `name`. Collective."""
        file = filename
        if not isinstance(filename, FileBase):
            kind = HDF5File if str(filename).endswith(".h5") else NCFile
            file = kind(filename, domain=domain, mode="a")
        field: Any = [self] if global_slice is None else [(self, global_slice)]
        # What is no text is refused there, on all ranks.
        file.write(step, {name if isinstance(name, str) else "": field}, as_scalar=as_scalar)

    def read(self, filename: Any, name: str = "darray", step: int = 0) -> None:
        """Fill it with snapshot `step` of `name`. Collective."""
        file = filename
        if not isinstance(filename, FileBase):
            kind = HDF5File if str(filename).endswith(".h5") else NCFile
            file = kind(filename, mode="r")
        file.read(self, name, step=step)


def newDistArray(
    pfft: PFFT, forward_output: bool = True, val: Any = 0, rank: int = 0, view: bool = False
) -> Any:
    """Return an array for the modes of `pfft`, or for its field (forward_output=False).

    `view`: as a plain NumPy array.
    """
    if not isinstance(pfft, PFFT) or operator.index(rank) not in (0, 1, 2):
        raise InvalidInput(
            "newDistArray: needs a PFFT, and a rank of 0 to 2, not "
            f"{type(pfft).__name__} and {rank}"
        )
    pencil = pfft.pencil[bool(forward_output)]
    extents = (pfft.dimensions,) * rank + pfft.global_shape(forward_output)
    dtype = pfft.dtype(forward_output)
    made = DistArray(
        extents, subcomm=pencil.subcomm, val=val, dtype=dtype, alignment=pencil.axis, rank=rank
    )
    return made.v if view else made


def Function(*arguments: Any, **options: Any) -> Any:
    """As newDistArray, by its older name."""
    warnings.warn("Function() is newDistArray()", FutureWarning, stacklevel=2)
    if options.pop("tensor", None) is not None:
        options["rank"] = 1
    return newDistArray(*arguments, **options)
