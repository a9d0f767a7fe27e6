# SPDX-License-Identifier: BSD-3-Clause
"""Writes files with store_program and reads them with h5py, xarray, netCDF4 and VTK.

Usage: check_readers.py FOLDER COMMAND... (the command that runs store_program)
Exit status 77 (skipped) if h5py is not installed.
"""

import importlib
import pathlib
import shutil
import subprocess
import sys

try:
    import h5py
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

EXTENTS = (7, 30, 41)
EXPECTED = np.arange(7 * 30 * 41, dtype=float).reshape(EXTENTS)


def optional(module: str):
    """The module, or None with a visible note if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        print(f"not checked: {module} is not installed")
        return None


def check_h5py(path: pathlib.Path) -> None:
    with h5py.File(path) as file:
        pieces = path.stem == "file_per_rank"
        for name, shift, dtype in (("u", 0, "f8"), ("v", 1, "f4"), ("w", 2, "f8")):
            assert file[name].dtype == np.dtype(dtype)
            assert file[name].chunks is None
            assert file[name].is_virtual == pieces
            np.testing.assert_array_equal(file[name][...], EXPECTED + shift)
        assert pieces or file["u"].id.get_offset() % 4096 == 0
        assert file["u"].dims[0].label == "" and file["u"].dims[0][0].name == "/z"
        assert file.attrs["step"] == 100 and file.attrs["time"] == 1.5
        if pieces:
            check_pieces(path.with_suffix(".h5.pieces"))
            return
        table = file["tailrace/checksums"][...]
        boxes = file["tailrace/boxes"][...] if "boxes" in file["tailrace"] else np.empty((0, 12))
        for variable, name in enumerate(("u", "v", "w")):
            count = table[table[:, 0] == variable][:, 2].sum()
            mine = boxes[boxes[:, 0] == variable]
            assert (count == 0) != (len(mine) == 0)
            items = np.prod(mine[:, 6:11].astype(int), axis=1).sum()
            assert count + items * file[name].dtype.itemsize == file[name].nbytes
        check_checksums(path, file, table)
        check_boxes(file, boxes)


def check_types(path: pathlib.Path) -> None:
    """h5py finds the types of NumPy, complex ones included."""
    index = np.arange(5 * 9).reshape(5, 9)
    with h5py.File(path) as file:
        for name in ("i1", "i2", "u1", "u2", "u4", "u8", "c8", "c16"):
            assert file[name].dtype == np.dtype(name), (name, file[name].dtype)
            expected = index if name.startswith("u") else -index
            if name.startswith("c"):
                expected = expected + 0.5j * index
            np.testing.assert_array_equal(file[name][...], expected)


def check_pieces(folder: pathlib.Path) -> None:
    """Each piece is an ordinary file with its checksums."""
    total = 0
    for path in folder.iterdir():
        with h5py.File(path) as file:
            table = file["tailrace/checksums"][...]
            names = file["tailrace/checksums"].attrs["variables"]
            names = (names.decode() if isinstance(names, bytes) else names).split("\n")[:-1]
            for variable, name in enumerate(names):
                assert table[table[:, 0] == variable][:, 2].sum() == file[name].nbytes
                total += file[name].nbytes
    assert total == EXPECTED.size * (8 + 4 + 8)


def check_boxes(file, boxes) -> None:
    """The checksum of each box is that of its items in row-major order."""
    xxhash = optional("xxhash")
    if xxhash is None:
        return
    for row in boxes:
        start, extents = row[1:6].astype(int), row[6:11].astype(int)
        assert all(start[3:] == 0) and all(extents[3:] == 1)
        place = tuple(slice(s, s + n) for s, n in zip(start[:3], extents[:3], strict=True))
        data = file["uvw"[int(row[0])]][place]
        assert xxhash.xxh3_64_intdigest(np.ascontiguousarray(data).tobytes()) == int(row[11])


def check_checksums(path: pathlib.Path, file, table) -> None:
    xxhash = optional("xxhash")
    if xxhash is None:
        return
    raw = path.read_bytes()
    *pieces, (variable, offset, count, value) = table
    assert (variable, offset) == (3, 0)
    rest = bytearray()
    at = 0
    names = ["u", "v", "w", "tailrace/checksums"]
    names += ["tailrace/boxes"] if "boxes" in file["tailrace"] else []
    data = [file[name] for name in names]
    for start, end in sorted((d.id.get_offset(), d.id.get_offset() + d.nbytes) for d in data):
        rest += raw[at:start]
        at = end
    rest += raw[at:]
    assert len(rest) == count and xxhash.xxh3_64_intdigest(bytes(rest)) == int(value)
    for variable, offset, count, value in pieces:
        start = file["uvw"[int(variable)]].id.get_offset() + int(offset)
        assert xxhash.xxh3_64_intdigest(raw[start : start + int(count)]) == int(value)


def check_xarray(path: pathlib.Path) -> None:
    xr = optional("xarray")
    if xr is None:
        return
    for engine in ("netcdf4", "h5netcdf"):
        if engine not in xr.backends.list_engines():
            print(f"xarray engine {engine} not installed")
            continue
        with xr.open_dataset(path, engine=engine) as data:
            assert data["u"].dims == ("z", "y", "x"), data["u"].dims
            assert data["w"].dims == ("kz", "ky", "kx"), data["w"].dims
            assert set(data.data_vars) == {"u", "v", "w"}, data
            assert set(data.coords) == {"z", "y", "x"}, data
            assert data["u"].attrs["units"] == "m s-1"
            assert data.attrs["title"] == "test file"
            np.testing.assert_array_equal(data["x"], np.arange(41) * 0.125)
            np.testing.assert_array_equal(data["u"].sel(x=0.25, y=0.5), EXPECTED[:, 2, 2])


def check_vtk(path: pathlib.Path) -> None:
    support, xdmf = optional("vtkmodules.util.numpy_support"), optional("vtkmodules.vtkIOXdmf2")
    if support is None or xdmf is None:
        return
    reader = xdmf.vtkXdmfReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    reader.UpdateTimeStep(1.5)
    grid = reader.GetOutputDataObject(0)
    while grid.IsA("vtkCompositeDataSet"):
        iterator = grid.NewIterator()
        iterator.InitTraversal()
        grid = iterator.GetCurrentDataObject()
    assert grid.GetDimensions() == EXTENTS[::-1], grid.GetDimensions()
    assert np.allclose(grid.GetSpacing(), (0.125, 0.25, 0.5)), grid.GetSpacing()
    values = support.vtk_to_numpy(grid.GetPointData().GetArray("u"))
    np.testing.assert_array_equal(values.reshape(EXTENTS), EXPECTED)
    print("VTK read the XDMF series")


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run([*sys.argv[2:], "write", str(folder)], check=True)
    synchronous, hidden = folder / "synchronous.h5", folder / "hidden.h5"
    assert synchronous.read_bytes() == hidden.read_bytes(), "the two modes wrote other bytes"
    assert not list(folder.glob("*.partial"))
    strategies = ("spokesperson", "collective", "shared_independent", "grouped", "file_per_rank")
    for path in (hidden, *(folder / f"{strategy}.h5" for strategy in strategies)):
        check_h5py(path)
        check_xarray(path)
    check_types(folder / "types.h5")
    check_vtk(folder / "series.xdmf")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
