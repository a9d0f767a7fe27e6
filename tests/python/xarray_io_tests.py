# SPDX-License-Identifier: BSD-3-Clause
"""xarray's own tests of its netCDF engines, on files that Tailrace writes.

`test_xarray.py` runs them in a process of their own, as they start MPI.
"""

import contextlib
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import tailrace.xarray as face

theirs = importlib.import_module("xarray.tests.test_backends")

# Tests of xarray that are about something else than what a file holds, and what that is.
LEFT_OUT = {
    "test_append_overwrite_values": "files are written at once: mode='a'",
    "test_append_with_invalid_dim_raises": "files are written at once: mode='a'",
    "test_append_write": "files are written at once: mode='a'",
    "test_write_store": "the classes of a store",
    "test_pickle": "handles of open files",
    "test_pickle_dataarray": "handles of open files",
    "test_encoding_unlimited_dims": "the argument unlimited_dims=",
    "test_roundtrip_string_with_fill_value_nchar": "an error of xarray's netCDF classes",
    "test_load_async": "needs pytest-asyncio",
    "test_encoding_kwarg": "keys of encoding that no file of netCDF has",
    "test_roundtrip_None_variable": "names that are no texts are refused",
    "test_invalid_dataarray_names_raise": "refused, as another kind of error",
    "test_multiindex_not_implemented": "refused, as another kind of error",
}


class Tests(theirs.CFEncodedBase):  # type: ignore[misc, name-defined]
    """xarray's tests for every engine, with files that Tailrace writes."""

    engine: Any = "h5netcdf"

    def save(self, dataset: Any, path: Any, **options: Any) -> None:
        """Write a file; xarray's tests expect its kinds of errors."""
        dataset = dataset.copy()
        for name, encoding in options.pop("encoding", {}).items():  # as to_netcdf does
            dataset[name].encoding = encoding
        assert not options, f"unknown to tailrace.xarray.write: {options}"
        face.write(dataset, path)

    @contextlib.contextmanager
    def open(self, path: Any, **options: Any) -> Iterator[Any]:
        """Read it by the engine under test."""
        with xarray.open_dataset(path, engine=self.engine, **options) as found:
            yield found


for _name in LEFT_OUT:
    assert hasattr(Tests, _name), f"{_name} is no test of this version of xarray"
    setattr(Tests, _name, None)


class TestReadByH5netcdf(Tests):
    """By h5netcdf."""

    test_roundtrip_bytes_with_fill_value = None  # it reads a _FillValue of bytes as a text


class TestReadByNetcdf4(Tests):
    """By the netCDF-4 library."""

    engine = "netcdf4"
    test_roundtrip_endian = None  # this library writes big-endian numbers as native ones


class TestReadByTailrace(Tests):
    """By this library."""

    engine = "tailrace"
    test_vectorized_indexing = None  # it reads all at once
    test_vectorized_indexing_negative_step = None
    test_roundtrip_bytes_with_fill_value = None  # as h5netcdf


del Tests


def test_strategies_of_xarray(tmp_path: Path) -> None:
    """Variables that xarray's strategies for hypothesis make."""
    hypothesis = pytest.importorskip("hypothesis")
    strategies = importlib.import_module("xarray.testing.strategies")
    path = tmp_path / "one.nc"

    # Their attributes are nested, or None, which no file of netCDF holds.
    no_attributes = importlib.import_module("hypothesis.strategies").just({})
    types = strategies.supported_dtypes() | strategies.pandas_index_dtypes()
    settings = hypothesis.settings(max_examples=150, deadline=None, derandomize=True, database=None)

    def check(variable: Any) -> None:
        data = xarray.Dataset({"a_variable": variable.copy(deep=True)})
        face.write(data, path)
        with xarray.open_dataset(path, engine="tailrace") as found:
            xarray.testing.assert_identical(found, data)
            assert kind(found["a_variable"]) == kind(data["a_variable"])

    settings(hypothesis.given(strategies.variables(dtype=types, attrs=no_attributes))(check))()


def kind(variable: Any) -> object:
    """The type of numbers; one for all kinds of text and times, which have several in xarray."""
    dtype = np.dtype(variable.dtype)
    dtype = np.dtype("float32") if dtype.char == "e" else dtype
    return dtype if dtype.kind in "biufc" else {"U": "O"}.get(dtype.kind, dtype.kind)
