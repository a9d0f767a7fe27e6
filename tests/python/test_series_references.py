# SPDX-License-Identifier: BSD-3-Clause
"""References to the bytes of a series, read by programs that know neither HDF5 nor Tailrace."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from test_face import HERE, run
from test_series import write

import tailrace.series
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


@pytest.mark.parametrize("steps_per_file", [1, 8])
def test_small_steps_come_together(tmp_path: Path, steps_per_file: int) -> None:
    """Readers need as many chunks as there are files of several steps, and one for the others."""
    write(tmp_path, range(45), steps_per_file=steps_per_file)
    write(tmp_path, (20, 30), attempt=1, steps_per_file=steps_per_file)  # in the middle of a file
    file = tmp_path / "fields.json"
    refs = references(tmp_path / "fields.h5", file)["refs"]
    chunks = {key: value for key, value in refs.items() if key.startswith("u/") and key[2] != "."}
    in_files = [value for value in chunks.values() if isinstance(value, list)]
    if steps_per_file == 1:
        assert len(chunks) == 1 and not in_files
    else:
        assert len(chunks) == 3 and len(in_files) == 2  # steps 16 to 19, 20 and 30 are copied
        assert all(count == 8 * 6 * 4 * 5 * 8 for _, _, count in in_files)
    with xarray.open_dataset(str(file), engine="kerchunk") as data:
        assert data["step"].values.tolist() == [*range(21), 30]
        same(tmp_path, data)
    separate = references(tmp_path / "fields.h5", file, chunk_bytes=0)["refs"]
    assert len([key for key in separate if key.startswith("u/") and key[2] != "."]) == 22
    with xarray.open_dataset(str(file), engine="kerchunk") as data:
        same(tmp_path, data)


def test_large_steps_are_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tailrace.series, "_COPIED_BYTES", 1000)
    write(tmp_path, range(7), steps_per_file=4)
    file = tmp_path / "fields.json"
    refs = references(tmp_path / "fields.h5", file)["refs"]
    assert all(isinstance(refs[f"u/{step}.0.0.0"], list) for step in range(7))
    with xarray.open_dataset(str(file), engine="kerchunk") as data:
        same(tmp_path, data)


def test_texts_are_shown(tmp_path: Path) -> None:
    done = run(2, HERE / "series_kept_program.py", tmp_path, 0, 5, 3)
    assert done.returncode == 0, done.stdout + done.stderr
    references(tmp_path / "fields.h5", tmp_path / "fields.json")
    with xarray.open_dataset(str(tmp_path / "fields.json"), engine="kerchunk") as data:
        assert data["station"].values.tolist() == ["Ems", "Weser", "Elbe \u00e4"]
        assert data["flag"].dims == ("x",) and data["flag"].values.tolist() == ["", "b", "cc", "d"]
        assert str(data["run"].values[()]) == "spin-up"
        assert (data["lat"].values == np.arange(12).reshape(3, 4)).all()
        assert (data["u"][:, 0, 0].values == np.arange(5)).all()


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
    file = tmp_path / "fields.json"
    references(tmp_path / "fields.h5", file, f"file://{tmp_path}", chunk_bytes=0)
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
    with pytest.raises(TailraceError, match=r"u_000000.h5: the data of .* is in other files"):
        references(tmp_path / "fields.h5")
