# SPDX-License-Identifier: BSD-3-Clause
"""Snapshots of distributed arrays in one netCDF-4 file, in mpi4py-fft's layout.

Its variables grow along `time`, which raw writing cannot do: rank 0 gathers a field at a time and
writes it with any netCDF4, a parallel one is not needed.
"""

from __future__ import annotations

import functools
import importlib
import operator
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from tailrace.errors import InvalidInput
from tailrace.mpi4py_fft.files import FileBase, fields_of
from tailrace.mpi4py_fft.local_part import WHOLE, local_part
from tailrace.together import on_rank_0, together


def _dataset(*arguments: Any, **options: Any) -> Any:
    return importlib.import_module("netCDF4").Dataset(*arguments, **options)


def _number(u: Any, name: str, step: int) -> int:
    """Return the number of a snapshot. The array and its name are those of the call."""
    if not hasattr(u, "pencil") or not u.flags.writeable or not isinstance(name, str):
        raise InvalidInput("read: needs a DistArray that can be written to, and a name")
    _require_real(u)
    return operator.index(step)


def _require_real(u: Any) -> None:
    if u.dtype.kind not in "biuf":
        raise InvalidInput(f"NCFile: items of {u.dtype}; needs real numbers")


class NCFile(FileBase):
    """Variables NAME(time, x, y, z) of whole arrays, NAME_slice_4_slice(time, x, z) of slices.

    `mode`: "r", "w" or "a"; `clobber`: whether "w" may replace a file. Real fields. Collective.
    """

    def __init__(
        self, ncname: Any, domain: Any = None, mode: str = "a", clobber: bool = True, **options: Any
    ) -> None:
        super().__init__(ncname, domain, options.pop("comm", MPI.COMM_WORLD))

        def touch() -> None:
            new = mode == "a" and not Path(str(self.filename)).exists()
            with _dataset(self.filename, "w" if new else mode, clobber=clobber, **options) as file:
                if mode != "r" and "time" not in file.variables:
                    file.createDimension("time", None)
                    file.createVariable("time", float, ("time",))

        on_rank_0(self.comm, touch)

    @staticmethod
    def backend() -> str:
        return "netcdf4"

    def write(self, step: int, fields: dict[str, Any], **options: Any) -> None:
        """Write arrays, or pairs (array, global slice), under their names. Collective."""
        as_scalar = bool(options.get("as_scalar", False))
        listed = together(self.comm, lambda: self._parts(step, fields, as_scalar))
        together(self.comm, lambda: [one[:2] for one in listed], same=True)
        at = on_rank_0(self.comm, lambda: self._begin(step))
        try:
            for table, axes, part in listed:
                parts = self.comm.gather(part)
                on_rank_0(self.comm, functools.partial(self._store, at, table, axes, parts))
        finally:
            if self.f is not None:
                self.f.close()
                self.f = None

    def _begin(self, step: int) -> int:
        """Open the file; return the place of `step` along time. On rank 0."""
        self.f = _dataset(self.filename, "r+")
        times = self.f.variables["time"]
        found = np.flatnonzero(np.asarray(times[:]) == step)
        if found.size:
            return int(found[0])
        times[times.size] = step
        return int(times.size) - 1

    def _parts(self, step: int, fields: Any, as_scalar: bool) -> list[Any]:
        """Return name, type and axes of all variables, and this rank's part of each."""
        return [self._part(*one) for one in fields_of(step, fields, as_scalar)]

    def _part(self, group: str, u: Any, gslice: Any) -> Any:
        _require_real(u)
        index = [WHOLE] * u.rank + (list(gslice) if gslice is not None else [WHOLE] * u.dimensions)
        part, places = local_part(u, index)
        axes = "ijk"[: u.rank] + "xyzrst"[: u.dimensions]
        words = ["slice" if i == WHOLE else str(i) for i in index[u.rank :]]
        title = group if gslice is None else "_".join((group, *words))
        kept = [axis for axis, i in zip(axes, index, strict=True) if i == WHOLE]
        table = (title, u.dtype.str, ["time", *kept])
        return table, self._axes(u, axes), (None if places is None else np.array(part), places)

    def _axes(self, u: Any, axes: str) -> dict[str, Any]:
        """Return the points along each axis; pairs of `domain` are its two ends."""
        extents = u.global_shape[u.rank :]
        domain = self.domain if self.domain is not None else ((0, 2 * np.pi),) * len(extents)
        if len(domain) != len(extents):
            raise InvalidInput(f"domain: of {len(domain)} axes; the field has {len(extents)}")
        points = [np.arange(float(n)) for n in u.shape[: u.rank]]
        points += [
            np.linspace(one[0], one[1], n) if len(one) == 2 else np.asarray(one)
            for one, n in zip(domain, extents, strict=True)
        ]
        return dict(zip(axes, points, strict=True))

    def _store(self, at: int, table: Any, axes: dict[str, Any], parts: Any) -> None:
        title, dtype, dims = table
        if title in ("time", *axes):
            raise InvalidInput(f"{self.filename}: {title} is the name of an axis")
        for name, points in axes.items():
            if name not in self.f.dimensions:
                self.f.createDimension(name, len(points))
                self.f.createVariable(name, float, (name,))[:] = points
            elif len(self.f.dimensions[name]) != len(points):
                raise InvalidInput(
                    f"{self.filename}: axis {name} has {len(self.f.dimensions[name])} points, "
                    f"not {len(points)}"
                )
        if title not in self.f.variables:
            self.f.createVariable(title, dtype, dims)
        for part, places in parts:
            if places is not None:
                self.f.variables[title][(at, *(slice(s, s + n) for s, n in places))] = part

    def read(self, u: Any, name: str, **options: Any) -> None:
        """Fill `u` with the whole array of snapshot number `step` (0). Collective."""
        at = together(self.comm, lambda: _number(u, name, options.get("step", 0)), same=True)

        def check() -> None:
            with _dataset(self.filename) as file:
                have = file.variables[name].shape if name in file.variables else None
                if have is None or have[1:] != u.global_shape or not 0 <= at < have[0]:
                    raise InvalidInput(
                        f"{self.filename}: {name} has shape {have} (time first); needs snapshot "
                        f"{at} of {u.global_shape}"
                    )

        together(self.comm, check)
        with _dataset(self.filename) as file:
            u[...] = file.variables[name][(at, *u.local_slice())]
