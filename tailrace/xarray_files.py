# SPDX-License-Identifier: BSD-3-Clause
"""What engines of xarray find in a file, on rank 0: the structure, and items that are not numbers.

`tailrace.Input` reads numbers, truth values and enumerations, each rank its part. Texts and other
items, rarely large, are read by rank 0 through an engine of xarray and sent to the ranks.
"""

from __future__ import annotations

import importlib
import pickle
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray

from tailrace.together import on_rank_0

Slices = tuple[slice, ...]


@dataclass
class Described:
    """The variables of a file: their dimensions, attributes and types of items."""

    sizes: dict[str, int]
    variables: dict[str, tuple[tuple[str, ...], dict[str, Any], np.dtype[Any]]]
    attributes: dict[str, Any]
    left_out: dict[str, str] = field(default_factory=dict)  # and why


def _engine() -> str:
    engines = xarray.backends.list_engines()
    for engine in ("h5netcdf", "netcdf4"):
        if engine in engines:
            return engine
    raise ImportError("reading datasets needs h5netcdf or netCDF4: pip install h5netcdf")


def _names(path: str, engine: str) -> list[str]:
    if engine == "h5netcdf":
        with importlib.import_module("h5netcdf").File(path, "r", phony_dims="access") as file:
            return list(file.variables)
    with importlib.import_module("netCDF4").Dataset(path) as file:
        return list(file.variables)


def _open(path: str, engine: str, drop: Sequence[str]) -> Any:
    # What the engine warns of here it warns of again where a user opens the file by it.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return xarray.open_dataset(path, engine=engine, decode_cf=False, drop_variables=list(drop))


def _open_most(path: str, drop: Sequence[str]) -> tuple[Any, dict[str, str]]:
    """Return the dataset without `drop` and variables that the engine fails at, and why it does."""
    engine = _engine()
    try:
        return _open(path, engine, drop), {}
    except OSError:
        raise
    except Exception as error:
        names, failing = _names(path, engine), {}
        for name in set(names) - set(drop):
            try:
                _open(path, engine, [other for other in names if other != name]).close()
            except Exception as its_error:
                failing[name] = f"{type(its_error).__name__}: {its_error}"
        if not failing:
            raise error
        return _open(path, engine, [*drop, *failing]), failing


class FileOnRank0:
    """A file that rank 0 has opened by an engine of xarray. A context manager; collective."""

    def __init__(self, comm: Any, path: str, drop: Sequence[str]) -> None:
        """Open it and describe it to all ranks."""
        self._comm = comm
        self._dataset: Any = None
        self.described: Described = on_rank_0(comm, lambda: self._describe(path, drop))

    def _describe(self, path: str, drop: Sequence[str]) -> Described:
        self._dataset, failing = _open_most(path, drop)
        variables = {
            str(name): (tuple(map(str, v.dims)), dict(v.attrs), v.dtype)
            for name, v in self._dataset.variables.items()
        }
        sizes = {str(dim): int(n) for dim, n in self._dataset.sizes.items()}
        return Described(sizes, variables, dict(self._dataset.attrs), failing)

    def read(self, name: str, parts: Sequence[Slices]) -> Any:
        """Return this rank's part of a variable; None if it cannot be read, which is noted."""
        rank, failure, mine = self._comm.Get_rank(), None, None
        for other, slices in enumerate(parts):
            if rank == 0 and failure is None:
                try:
                    part = self._part(name, slices)
                except Exception as error:
                    failure, part = f"{type(error).__name__}: {error}", None
            elif rank == 0:
                part = None
            if rank == 0 and other == 0:
                mine = part
            elif rank == 0:
                self._comm.send(part, other)
            elif rank == other:
                mine = self._comm.recv(source=0)
        failure = self._comm.bcast(failure)
        if failure is not None:
            self.described.left_out[name] = failure
            return None
        return mine

    def _part(self, name: str, slices: Slices) -> Any:
        part = self._dataset.variables[name][slices].values
        if part.ndim != len(slices):
            raise TypeError(f"items of {self._dataset.variables[name].dtype}")
        if part.dtype.kind == "O":
            pickle.dumps(part)  # raises if other ranks cannot get it, such as references
        return part

    def __enter__(self) -> FileOnRank0:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; warn, on rank 0, of the variables that were left out."""
        if self._dataset is not None:
            self._dataset.close()
        left_out = self.described.left_out
        if left_out and self._comm.Get_rank() == 0:
            words = "; ".join(f"{name} ({why})" for name, why in sorted(left_out.items()))
            warnings.warn(f"variables that cannot be read are left out: {words}", stacklevel=3)


__all__ = ["Described", "FileOnRank0"]
