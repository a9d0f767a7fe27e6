# SPDX-License-Identifier: BSD-3-Clause
"""Snapshots of distributed arrays in one HDF5 file, in mpi4py-fft's layout.

Rank 0 makes groups and datasets with any h5py, a parallel one is not needed; the data are written
by all ranks (`tailrace.File`) to where the datasets lie.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

import tailrace
from tailrace.errors import InvalidInput
from tailrace.mpi4py_fft.local_part import WHOLE, local_part
from tailrace.together import on_rank_0, require_comm, together


class FileBase:
    """What kinds of file have in common. `domain`: (origin, length) or points of each axis."""

    def __init__(self, filename: Any = None, domain: Any = None, comm: Any = MPI.COMM_WORLD):
        self.comm = require_comm(comm)
        self.filename = together(comm, lambda: _path_of(filename), same=True)
        self.domain = together(comm, lambda: _domain_of(domain))
        self.f: Any = None

    def write(self, step: int, fields: dict[str, Any], **options: Any) -> None:
        raise NotImplementedError

    def read(self, u: Any, name: str, **options: Any) -> None:
        raise NotImplementedError

    def open(self, mode: str = "r+") -> None:
        """Nothing is kept open between calls."""

    def close(self) -> None:
        """Nothing is kept open between calls."""

    @staticmethod
    def backend() -> str:
        raise NotImplementedError


def _path_of(filename: Any) -> str:
    path = os.fspath(filename)
    if not isinstance(path, str) or not path or "\0" in path:
        raise InvalidInput(f"file {filename!r}: needs the name of a file")
    return path


def _domain_of(domain: Any) -> Any:
    """Return it if it has a pair of numbers, or points, for each axis."""
    if domain is None:
        return None
    axes: Any = domain if np.iterable(domain) else ()
    for axis in axes if len(axes) else [None]:
        values = np.asarray(axis)
        if values.ndim != 1 or len(values) < 2 or values.dtype.kind not in "iuf":
            raise InvalidInput("domain: needs (origin, length), or points, for each axis")
    return domain


def _components(group: str, u: Any, as_scalar: bool) -> list[tuple[str, Any]]:
    if not hasattr(u, "pencil"):
        raise InvalidInput(f"{group}: needs a DistArray, not {type(u).__name__}")
    if not as_scalar or u.rank == 0:
        return [(group, u)]
    indices = np.ndindex(u.shape[: u.rank])
    return [("".join((group, *map(str, index))), u[index]) for index in indices]


class HDF5File(FileBase):
    """Groups NAME/3D/STEP of whole arrays, NAME/2D/slice_4_slice/STEP of slices, NAME/domain."""

    def __init__(self, h5name: Any, domain: Any = None, mode: str = "a", **options: Any) -> None:
        super().__init__(h5name, domain, options.pop("comm", MPI.COMM_WORLD))

        def touch() -> None:
            import h5py  # noqa: PLC0415

            h5py.File(self.filename, mode).close()

        on_rank_0(self.comm, touch)

    @staticmethod
    def backend() -> str:
        return "hdf5"

    def write(self, step: int, fields: dict[str, Any], **options: Any) -> None:
        """Write arrays, or pairs (array, global slice), under their names. Collective."""
        as_scalar = bool(options.get("as_scalar", False))
        parts, tables = together(self.comm, lambda: self._parts(step, fields, as_scalar))
        together(self.comm, lambda: tables, same=True)
        offsets = on_rank_0(self.comm, lambda: self._make(tables))
        with tailrace.File(self.comm, str(self.filename), "update") as file:
            for (shape, part, box), offset in zip(parts, offsets, strict=True):
                file.write(part, shape, box, offset)

    def _parts(self, step: int, fields: Any, as_scalar: bool) -> tuple[list[Any], list[Any]]:
        """Return this rank's parts, and what rank 0 has to make for them."""
        parts: list[Any] = []
        tables: list[tuple[Any, ...]] = []
        for group, u, gslice in fields_of(step, fields, as_scalar):
            path, shape, part, box = self._place(group, u, gslice, step)
            parts.append((merged(shape, u.rank), part, box))
            tables.append((group, path, shape, u.dtype.str, u.rank, u.pencil.shape))
        return parts, tables

    def _place(self, group: str, u: Any, gslice: Any, step: int) -> Any:
        """Return the dataset's name and shape, and this rank's part; components are one axis."""
        index = [WHOLE] * u.rank + (list(gslice) if gslice is not None else [WHOLE] * u.dimensions)
        part, places = local_part(u, index)
        shape = [n for n, i in zip(u.global_shape, index, strict=True) if i == WHOLE]
        kept = len(shape) - u.rank
        words = "_".join("slice" if i == WHOLE else str(i) for i in index[u.rank :])
        path = f"{group}/{kept}D/" + ("" if gslice is None else f"{words}/") + str(step)
        return path, tuple(shape), *_as_part(part, places, u.rank)

    def _make(self, tables: list[tuple[Any, ...]]) -> list[int]:
        """Make what is missing, and return where the datasets' data begin. On rank 0."""
        import h5py  # noqa: PLC0415

        with h5py.File(self.filename, "r+") as file:
            for group, path, shape, dtype, rank, extents in tables:
                self._describe(file.require_group(group), rank, extents)
                if path in file:
                    have = file[path]
                    if have.shape != shape or have.dtype != np.dtype(dtype):
                        raise InvalidInput(
                            f"{self.filename}: {path} is {have.shape} of {have.dtype}, not {shape} "
                            f"of {np.dtype(dtype)}"
                        )
                    continue
                _create(file, path, shape, np.dtype(dtype))
            offsets = [file[path].id.get_offset() for _, path, *_ in tables]
        if None in offsets:
            raise InvalidInput(f"{self.filename}: a dataset is not contiguous")
        return offsets

    def _describe(self, group: Any, rank: int, extents: Any) -> None:
        """Attributes and the domain, as mpi4py-fft writes them."""
        if "shape" not in group.attrs:
            group.attrs["shape"] = extents
            group.attrs["rank"] = rank
        elif tuple(group.attrs["shape"]) != tuple(extents) or group.attrs["rank"] != rank:
            raise InvalidInput(
                f"{self.filename}: {group.name} has fields of shape {tuple(group.attrs['shape'])} "
                f"and rank {group.attrs['rank']}, not {tuple(extents)} and {rank}"
            )
        domain = self.domain if self.domain is not None else ((0, 2 * np.pi),) * len(extents)
        if len(domain) != len(extents):
            raise InvalidInput(f"domain: of {len(domain)} axes; the field has {len(extents)}")
        kind = "mesh" if isinstance(domain[0], np.ndarray) else "domain"
        for axis, values in enumerate(domain):
            name = f"{kind}/x{axis}"
            if name not in group:
                group[name] = np.squeeze(values)

    def read(self, u: Any, name: str, **options: Any) -> None:
        """Fill `u` with the whole array of snapshot `step` (0). Collective."""
        step = options.get("step", 0)
        path = together(self.comm, lambda: _snapshot(u, name, step), same=True)

        def find() -> Any:
            import h5py  # noqa: PLC0415

            with h5py.File(self.filename, "r") as file:
                if path not in file:
                    raise InvalidInput(f"{self.filename}: has no {path}")
                return file[path].shape, file[path].dtype.str, file[path].id.get_offset()

        shape, dtype, offset = on_rank_0(self.comm, find)
        wanted = np.dtype(dtype)

        def fits() -> None:
            if shape != u.global_shape or wanted != u.dtype or offset is None:
                raise InvalidInput(
                    f"{self.filename}: {path} is {shape} of {wanted}; the array is "
                    f"{u.global_shape} of {u.dtype}"
                )

        together(self.comm, fits)
        places = list(zip(u.substart, u.shape, strict=True))
        memory, box = _as_part(np.empty(u.shape, u.dtype), places, u.rank)
        with tailrace.File(self.comm, str(self.filename)) as file:
            file.read(memory, merged(shape, u.rank), box, offset)
        u[...] = memory.reshape(u.shape)


def _snapshot(u: Any, name: str, step: int) -> str:
    if not hasattr(u, "pencil") or not u.flags.writeable:
        raise InvalidInput("read: needs a DistArray that can be written to")
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"read: the name of a field is a text, not {name!r}")
    return f"{name}/{u.dimensions}D/{operator.index(step)}"


def fields_of(step: int, fields: Any, as_scalar: bool) -> list[tuple[str, Any, Any]]:
    """Return name, array and global slice (None: whole) of all that is to be written."""
    if operator.index(step) < 0:
        raise InvalidInput(f"step {step}: needs 0 or more")
    listed: list[tuple[str, Any, Any]] = []
    for name, several in fields.items():
        if not isinstance(name, str) or not name or "\0" in name:
            raise InvalidInput(f"field {name!r}: needs a text as name")
        if not isinstance(several, (tuple, list)):
            raise InvalidInput(f"{name}: needs a list of arrays, not {type(several).__name__}")
        for field in several:
            array, gslice = field if isinstance(field, (tuple, list)) else (field, None)
            listed += [(group, u, gslice) for group, u in _components(name, array, as_scalar)]
    return listed


def _create(file: Any, path: str, shape: Any, dtype: Any) -> None:
    """Make a dataset whose place in the file is known at once."""
    import h5py  # noqa: PLC0415

    group, _, name = path.rpartition("/")
    settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    settings.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    settings.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    kind = h5py.h5t.py_create(dtype, logical=True)
    space = h5py.h5s.create_simple(shape)
    h5py.h5d.create(file.require_group(group).id, name.encode(), kind, space, settings)


def merged(shape: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return `shape` with the axes of components as one: a file of at most five axes."""
    return (math.prod(shape[:rank]), *shape[rank:])


def _as_part(part: Any, places: Any, rank: int) -> tuple[Any, tailrace.Box | None]:
    """Return contiguous memory, and its box; nothing if the slice has no part here."""
    if places is None:
        return None, None
    starts = merged([start for start, _ in places], 0)
    extents = [extent for _, extent in places]
    box = tailrace.Box((0, *starts[1 + rank :]), merged(extents, rank))
    return np.ascontiguousarray(part).reshape(box.extents), box
