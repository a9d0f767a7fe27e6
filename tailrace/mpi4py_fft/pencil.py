# SPDX-License-Identifier: BSD-3-Clause
"""Pencils: how an array lies on a grid of ranks, and its way from one alignment to another."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

import tailrace
from tailrace.errors import InvalidInput
from tailrace.together import require_comm, together

Shape = tuple[int, ...]


def split(num_items: int, num_parts: int, part: int) -> tuple[int, int]:
    """Return items and start of a part; the first parts get one item more."""
    each, more = divmod(num_items, num_parts)
    return each + (part < more), part * each + min(part, more)


class Subcomm(tuple[MPI.Intracomm, ...]):
    """A communicator for each axis of a grid of ranks.

    `dims`: ranks along each axis (0: choose), a number of axes, or None for a communicator that is
    Cartesian already. `whole` is the communicator of the grid. Collective.
    """

    whole: MPI.Intracomm

    def __new__(cls, comm: Any, dims: Any = None, reorder: bool = True) -> Subcomm:
        own = require_comm(comm).Get_topology() != MPI.CART
        grid = together(comm, lambda: _grid(comm, own, dims), same=True)
        if own:
            comm = comm.Create_cart(grid, reorder=bool(reorder))
        num_axes = comm.Get_dim()
        parts = [comm.Sub([axis == other for other in range(num_axes)]) for axis in range(num_axes)]
        made = super().__new__(cls, parts)
        made.whole = comm
        made._own = own
        return made

    _own: bool

    def destroy(self) -> None:
        """Free the communicators. Collective."""
        for comm in (*self, self.whole) if self._own else self:
            if comm:
                comm.Free()


def _grid(comm: Any, own: bool, dims: Any) -> list[int]:
    """Return ranks along each axis of a new grid."""
    if not own and dims is not None:
        raise InvalidInput("Subcomm: dims are those of the Cartesian communicator")
    if not own:
        return []
    if dims is None:
        dims = [0]
    elif np.ndim(dims) == 0:
        dims = [0] * min(operator.index(dims), 33)
    wanted = [max(0, operator.index(d)) for d in dims]
    fixed = math.prod(d for d in wanted if d > 0)
    if (
        not 0 < len(wanted) <= 32
        or comm.Get_size() % fixed
        or (0 not in wanted and fixed != comm.Get_size())
    ):
        raise InvalidInput(f"Subcomm: a grid of {wanted} (0: choose) for {comm.Get_size()} ranks")
    return list(MPI.Compute_dims(comm.Get_size(), wanted))


class Transfer:
    """Moves an array from alignment along one axis to another, and back, by two `Exchange`s.

    `comm` has the ranks among which `shape`, aligned along `axisA` with `subshapeA`, is to become
    aligned along `axisB` with `subshapeB`.
    """

    def __init__(
        self, comm: MPI.Intracomm, shape: Sequence[int], dtype: Any,
        subshapeA: Sequence[int], axisA: int, subshapeB: Sequence[int], axisB: int,
    ) -> None:  # fmt: skip
        self.comm = comm
        self.shape = tuple(shape)
        if dtype is None:
            raise InvalidInput("Transfer: needs a dtype")
        self.dtype = np.dtype(dtype)
        self.subshapeA, self.axisA = tuple(subshapeA), axisA
        self.subshapeB, self.axisB = tuple(subshapeB), axisB
        self._exchanges: dict[bool, tailrace.Exchange] = {}

    def _layouts(self) -> tuple[tailrace.Layout, tailrace.Layout]:
        """Return those of A and B; axes that stay as they are become one, as few as may be."""
        low, high = sorted((self.axisA, self.axisB))
        around = (self.shape[:low], self.shape[low + 1 : high], self.shape[high + 1 :])
        before, between, after = (math.prod(part) for part in around)
        extents = (before, self.shape[low], between, self.shape[high], after)
        place = {low: 1, high: 3}
        ranks = self.comm.Get_size()
        return (
            tailrace.slabs(extents, place[self.axisB], ranks),
            tailrace.slabs(extents, place[self.axisA], ranks),
        )

    def _move(self, source: Any, destination: Any, forward: bool) -> None:
        exchange = self._exchange(forward)
        fault = self._fault(source, destination, forward)
        if fault:
            exchange._refuse(f"Transfer: {fault}")
        given = np.ascontiguousarray(source).reshape(-1)
        if destination.flags.c_contiguous:
            exchange.run(given, np.asarray(destination).reshape(-1))
            return
        arrived = np.empty(destination.size, self.dtype)
        exchange.run(given, arrived)
        destination[...] = arrived.reshape(destination.shape)

    def _exchange(self, forward: bool) -> Any:
        """Return that of one direction, made when it is first used. Collective then."""
        if forward not in self._exchanges:
            one, other = self._layouts()
            pair = (one, other) if forward else (other, one)
            self._exchanges[forward] = tailrace.Exchange(self.comm, pair[0], pair[1], self.dtype)
        return self._exchanges[forward]

    def _fault(self, source: Any, destination: Any, forward: bool) -> str:
        """Say what is wrong with the arrays of a call, or nothing."""
        shapes = (self.subshapeA, self.subshapeB)[:: 1 if forward else -1]
        for array, shape, what in zip(
            (source, destination), shapes, ("source", "destination"), strict=True
        ):
            if not isinstance(array, np.ndarray):
                return f"the {what} must be a NumPy array, not {type(array).__name__}"
            if array.shape != shape or array.dtype != self.dtype:
                return (
                    f"the {what} has shape {array.shape} of {array.dtype}; needs {shape} of "
                    f"{self.dtype}"
                )
        return "" if destination.flags.writeable else "the destination is read-only"

    def forward(self, arrayA: Any, arrayB: Any) -> None:
        """Move `arrayA` to `arrayB`. Collective."""
        self._move(arrayA, arrayB, forward=True)

    def backward(self, arrayB: Any, arrayA: Any) -> None:
        """Move `arrayB` to `arrayA`. Collective."""
        self._move(arrayB, arrayA, forward=False)

    def destroy(self) -> None:
        """Free the exchanges. Collective."""
        for exchange in self._exchanges.values():
            exchange.close()
        self._exchanges.clear()


class Pencil:
    """The part of this rank of an array of `shape` that is whole along `axis`.

    `subcomm` has a communicator for each axis; axes without one are whole.
    """

    def __init__(self, subcomm: Sequence[MPI.Intracomm], shape: Sequence[int], axis: int = -1):
        num_axes = len(shape)
        if num_axes < 2 or not -num_axes <= axis < num_axes or not 0 < len(subcomm) <= num_axes:
            raise InvalidInput(
                f"Pencil: shape {tuple(shape)}, axis {axis}, {len(subcomm)} communicators; needs "
                "at least two axes, one of them whole, and at most a communicator for each"
            )
        axis %= num_axes
        comms = list(subcomm)
        if len(comms) < num_axes:
            comms += [MPI.COMM_SELF] * (num_axes - 1 - len(comms))
            comms.insert(axis, MPI.COMM_SELF)
        sizes = [comm.Get_size() for comm in comms]
        if sizes[axis] != 1 or any(n < p for n, p in zip(shape, sizes, strict=True)):
            raise InvalidInput(
                f"Pencil: shape {tuple(shape)} on a grid of {tuple(sizes)} ranks, whole along axis "
                f"{axis}: needs one rank along that axis, and an item for each along the others"
            )
        parts = [
            split(n, comm.Get_size(), comm.Get_rank()) for n, comm in zip(shape, comms, strict=True)
        ]
        self.shape: Shape = tuple(int(n) for n in shape)
        self.axis = axis
        self.subcomm = tuple(comms)
        self.subshape: Shape = tuple(int(n) for n, _ in parts)
        self.substart: Shape = tuple(int(s) for _, s in parts)

    def pencil(self, axis: int) -> Pencil:
        """Return the pencil that is whole along `axis` instead."""
        if not -len(self.shape) <= operator.index(axis) < len(self.shape):
            raise InvalidInput(f"Pencil: axis {axis} of {len(self.shape)}")
        axis %= len(self.shape)
        comms = list(self.subcomm)
        comms[axis], comms[self.axis] = comms[self.axis], comms[axis]
        return Pencil(comms, self.shape, axis)

    def transfer(self, pencil: Pencil, dtype: Any) -> Transfer:
        """Return the way from here to `pencil`, for items of `dtype`."""
        others = [axis for axis in range(len(self.shape)) if axis not in (self.axis, pencil.axis)]
        if (
            self.shape != pencil.shape
            or self.axis == pencil.axis
            or any(self.subcomm[axis] != pencil.subcomm[axis] for axis in others)
            or self.subcomm[pencil.axis] != pencil.subcomm[self.axis]
        ):
            raise InvalidInput("Pencil: the two differ in more than the axis that is whole")
        shape = list(self.subshape)
        shape[pencil.axis] = self.shape[pencil.axis]
        return Transfer(
            self.subcomm[pencil.axis], shape, dtype,
            self.subshape, self.axis, pencil.subshape, pencil.axis,
        )  # fmt: skip
