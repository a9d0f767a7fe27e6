# SPDX-License-Identifier: BSD-3-Clause
"""Snapshots of distributed arrays in one netCDF-4 file, in mpi4py-fft's layout.

Its variables grow along `time`, which raw writing cannot do: rank 0 gathers a field at a time and
writes it with any netCDF4, a parallel one is not needed.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from tailrace.errors import InvalidInput
from tailrace.mpi4py_fft.files import WHOLE, FileBase, _components, on_rank_0


def _dataset(*arguments: Any, **options: Any) -> Any:
    return importlib.import_module("netCDF4").Dataset(*arguments, **options)


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
        at = on_rank_0(self.comm, lambda: self._begin(step))
        try:
            for name, several in fields.items():
                for field in several:
                    u, gslice = field if isinstance(field, (tuple, list)) else (field, None)
                    for group, part in _components(name, u, as_scalar):
                        self._gather(at, group, part, gslice)
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

    def _gather(self, at: int, group: str, u: Any, gslice: Any) -> None:
        from tailrace.mpi4py_fft.distarray import local_part  # noqa: PLC0415

        index = [WHOLE] * u.rank + (list(gslice) if gslice is not None else [WHOLE] * u.dimensions)
        part, places = local_part(u, index)
        parts = self.comm.gather((None if places is None else np.array(part), places))
        axes = "ijk"[: u.rank] + "xyzrst"[: u.dimensions]
        words = ["slice" if i == WHOLE else str(i) for i in index[u.rank :]]
        title = group if gslice is None else "_".join((group, *words))
        kept = [axis for axis, i in zip(axes, index, strict=True) if i == WHOLE]
        table = (title, u.dtype, ["time", *kept])
        on_rank_0(self.comm, lambda: self._store(at, table, self._axes(u, axes), parts))

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
        at = int(options.get("step", 0))

        def check() -> None:
            with _dataset(self.filename) as file:
                have = file.variables[name].shape if name in file.variables else None
                if have is None or have[1:] != u.global_shape or not 0 <= at < have[0]:
                    raise InvalidInput(
                        f"{self.filename}: {name} has shape {have} (time first); needs snapshot "
                        f"{at} of {u.global_shape}"
                    )

        on_rank_0(self.comm, check)
        with _dataset(self.filename) as file:
            u[...] = file.variables[name][(at, *u.local_slice())]
