# SPDX-License-Identifier: BSD-3-Clause
"""References to the bytes of a series, read by programs that know neither HDF5 nor Tailrace."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from test_series import write

from tailrace.errors import TailraceError
from tailrace.series import references

xarray = pytest.importorskip("xarray")
pytest.importorskip("kerchunk")


def same(folder: Path, shown: Any) -> None:
    """`shown` is the data set that the index is for readers of HDF5."""
    with xarray.open_dataset(folder / "fields.h5", engine="h5netcdf") as data:
        assert set(shown.variables) == set(data.variables)
        assert shown.attrs == data.attrs
        for name, array in data.variables.items():
            assert shown[name].dims == array.dims, name
            assert shown[name].dtype == array.dtype, name
            assert shown[name].attrs == array.attrs, name
            assert (shown[name].values == array.values).all(), name
        assert shown["u"].encoding["_FillValue"] == -1.0


@pytest.mark.parametrize(
    ("steps_per_file", "compress"),
    [(1, ""), (4, ""), (1, "deflate:1"), (1, "deflate:1 shuffle=no fletcher32=yes chunk=4x3x2"),
     (1, "zstd:3"), (4, "zstd:3"), (4, "deflate:1"), (4, "deflate:1 fletcher32=yes chunk=4x3x2")],
)  # fmt: skip
def test_references_show_what_the_index_shows(
    tmp_path: Path, steps_per_file: int, compress: str
) -> None:
    write(tmp_path, range(11), steps_per_file=steps_per_file, compress=compress)
    write(tmp_path, (9, 12), 1, attempt=1, steps_per_file=steps_per_file, compress=compress)
    file = tmp_path / "fields.json"
    assert references(tmp_path / "fields.h5", file) == json.loads(file.read_text())
    with xarray.open_dataset(str(file), engine="kerchunk") as data:
        assert data["step"].values.tolist() == [*range(10), 12]
        assert (data["u"].values[9] == 91).all()
        if "zstd" not in compress:  # stock HDF5 lacks this filter
            same(tmp_path, data)


def test_the_folder_of_readers_may_be_another(tmp_path: Path) -> None:
    write(tmp_path / "run", range(6), steps_per_file=4)
    references(tmp_path / "run/fields.h5", tmp_path / "run.json", f"file://{tmp_path}/moved")
    (tmp_path / "run").rename(tmp_path / "moved")
    with xarray.open_dataset(str(tmp_path / "run.json"), engine="kerchunk") as data:
        same(tmp_path / "moved", data)


def test_virtualizarr_takes_them(tmp_path: Path) -> None:
    virtualizarr = pytest.importorskip("virtualizarr")
    registry = pytest.importorskip("obspec_utils.registry")
    stores = pytest.importorskip("obstore.store")
    write(tmp_path, range(6), steps_per_file=4)
    references(tmp_path / "fields.h5", tmp_path / "fields.json", f"file://{tmp_path}")
    shown = virtualizarr.open_virtual_dataset(
        f"file://{tmp_path}/fields.json",
        registry=registry.ObjectStoreRegistry({"file://": stores.LocalStore()}),
        parser=virtualizarr.parsers.KerchunkJSONParser(skip_variables=[*"xyz", "step", "time"]),
    )
    assert dict(shown.sizes) == {"time": 6, "z": 6, "y": 4, "x": 5}
    paths = {Path(entry["path"]).name for entry in shown["u"].data.manifest.dict().values()}
    assert paths == {"000000-000003.h5", "u_000004.h5", "u_000005.h5"}


def test_what_references_cannot_show_is_refused_by_name(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["u"] = np.zeros(3)
    with pytest.raises(TailraceError, match="not the index of a series"):
        references(tmp_path / "other.h5")
    write(tmp_path, range(2), strategy="file_per_rank")
    with pytest.raises(TailraceError, match=r"u_000000.h5: .* lies in other files"):
        references(tmp_path / "fields.h5")
