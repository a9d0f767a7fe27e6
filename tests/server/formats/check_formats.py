# SPDX-License-Identifier: BSD-3-Clause
"""Writes files with format_program and reads them with zarr, xarray, netCDF4 and h5py.

Usage: check_formats.py FOLDER PROGRAM
Exit status 77 (skipped) if zarr is not installed.
"""

import json
import math
import pathlib
import random
import shutil
import subprocess
import sys
import warnings

try:
    import h5py
    import numcodecs
    import numpy as np
    import xarray as xr
    import zarr
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

warnings.filterwarnings("ignore", category=UserWarning)  # zarr: codecs of numcodecs


def expected(case: dict) -> np.ndarray:
    """What the servers had; 0 where none had anything."""
    shape = tuple(case["extents"])
    linear = np.arange(np.prod(shape)).reshape(shape)
    values = np.sin(0.01 * linear) if case["smooth"] else linear * 7919 % 1000003 % 127
    if case["parts"] == "triangle":
        i, j = np.indices(shape)
        values = np.where(i // 8 <= j // 8, values, 0)
    if case["parts"] == "few":
        i, j = np.indices(shape)
        corners = (i < 3) & (j < 5) | (i >= shape[0] - 4) & (j >= shape[1] - 2)
        values = np.where(corners, values, 0)
    return values.astype(case["type"])


def compare(found: np.ndarray, case: dict) -> float:
    """The largest error. Rounding of sin is not ours."""
    right = expected(case)
    assert found.dtype == right.dtype, (found.dtype, case)
    assert found.shape == right.shape
    if not case["smooth"] and case["tolerance"] == 0:
        np.testing.assert_array_equal(found, right, err_msg=str(case))
        return 0.0
    lossy = case["tolerance"] if right.dtype.kind == "f" else 0
    error = np.abs(found.astype("f8") - right.astype("f8")).max()
    assert error <= lossy + np.finfo(right.dtype).eps if right.dtype.kind == "f" else error == 0, (
        error,
        case,
    )
    return float(error)


def check_attributes(data: xr.Dataset, case: dict) -> None:
    dims = tuple("abcxy"[-len(case["extents"]) :])
    assert data["u"].dims == dims, (data["u"].dims, case)
    assert data["u"].attrs["units"] == "m s-1"
    assert data.attrs["title"] == 'a "test"\n' and data.attrs["step"] == 7
    assert data.attrs["time"] == 1.5 and list(data.attrs["spectrum"]) == [1, 0.5]
    assert set(data.coords) == {dims[-1]} and data[dims[-1]].attrs["units"] == "m"
    np.testing.assert_array_equal(data[dims[-1]], 0.25 * np.arange(case["extents"][-1]))


def check_zarr(path: pathlib.Path, case: dict) -> None:
    group = zarr.open_group(path, mode="r")
    assert group.metadata.consolidated_metadata is not None
    error = compare(group["u"][...], case)
    alone = zarr.open_array(path / "u", mode="r")
    compare(alone[...], case)
    lossy = case["tolerance"] > 0 and case["type"].startswith("float")
    assert ("tailrace_error_bound" in alone.attrs) == lossy
    assert not lossy or alone.attrs["tailrace_error_bound"] == case["tolerance"]
    if lossy and case["smooth"]:
        assert error > 0, "a tolerance should cost exactness"
    with xr.open_zarr(path) as data:
        compare(data["u"].to_numpy(), case)
        check_attributes(data, case)
    with xr.open_zarr(path, consolidated=False) as data:
        check_attributes(data, case)
    stored = sum(f.stat().st_size for f in (path / "u" / "c").rglob("*") if f.is_file())
    assert stored == case["bytes"], (stored, case)


def check_hdf5(path: pathlib.Path, case: dict) -> bool:
    """Whether the file is compressed by a filter that every HDF5 library has."""
    with h5py.File(path) as file:
        array = file["u"]
        assert (array.chunks is not None) == (case["codec"] != ""), case
        if case["codec"] == "zstd":  # a filter that not every HDF5 library has
            check_zstd(array, case)
            return False
        compare(array[...], case)
        assert case["codec"] != "deflate" or array.compression == "gzip"
        if array.chunks:
            ids = range(array.id.get_num_chunks())
            held = sum(array.id.get_chunk_info(n).size for n in ids)
            # A row of 96 bytes of the table of boxes for each chunk, also those without items.
            along = (-(-n // c) for n, c in zip(array.shape, array.chunks, strict=True))
            assert held <= case["bytes"] <= held + 96 * math.prod(along), case
    if path.suffix == ".nc":
        for engine in ("netcdf4", "h5netcdf"):
            with xr.open_dataset(path, engine=engine) as data:
                compare(data["u"].to_numpy(), case)
                check_attributes(data, case)
    return case["codec"] == "deflate"


def check_zstd(array: h5py.Dataset, case: dict) -> None:
    """Undoes the filters of all chunks by hand."""
    found = np.zeros(array.shape, array.dtype)
    for n in range(array.id.get_num_chunks()):
        info = array.id.get_chunk_info(n)
        skipped, packed = array.id.read_direct_chunk(info.chunk_offset)
        items = (
            numcodecs.Zstd().decode(packed[:-4] if array.fletcher32 else packed)
            if skipped == 0
            else packed[:-4]
            if array.fletcher32
            else packed
        )
        items = np.frombuffer(items, np.uint8)
        if array.shuffle and skipped != 3:
            items = items.reshape(array.dtype.itemsize, -1).T.copy()
        values = items.reshape(-1).view(array.dtype).reshape(array.chunks)
        place = tuple(
            slice(start, min(start + chunk, extent))
            for start, chunk, extent in zip(
                info.chunk_offset, array.chunks, array.shape, strict=True
            )
        )
        found[place] = values[tuple(slice(0, one.stop - one.start) for one in place)]
    compare(found, case)


def read_all(path: pathlib.Path) -> None:
    group = zarr.open_group(path, mode="r")
    for _, array in group.arrays():
        array[...]


def damage_is_found(path: pathlib.Path, chance: random.Random) -> None:
    """A flipped bit in a file of chunks is an error of zarr's, by the CRC-32C of chunk or index."""
    file = chance.choice(sorted(f for f in path.rglob("c/**/*") if f.is_file()))
    raw = file.read_bytes()
    damaged = bytearray(raw)
    at = chance.randrange(len(raw))
    damaged[at] ^= 1 << chance.randrange(8)
    for what, found in ("flipped", bytes(damaged)), ("cut", raw[:at]):
        file.write_bytes(found)
        try:
            read_all(path)
        except Exception:  # its kind is zarr's choice
            continue
        raise AssertionError(f"{file}: byte {at} {what}, and it was not noticed")
    file.write_bytes(raw)
    read_all(path)


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = subprocess.run(
        [*sys.argv[2:], str(folder)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    cases = [json.loads(line) for line in lines]
    shards = compressed = 0
    for case in cases:
        path = folder / case["name"]
        if path.suffix == ".zarr":
            check_zarr(path, case)
            shards += "sharding_indexed" in (path / "u" / "zarr.json").read_text()
        else:
            compressed += check_hdf5(path, case)
    assert compressed > 40, f"only {compressed} files of HDF5 are compressed"
    assert shards > 20, f"only {shards} stores have shards"
    left = [path.name for path in folder.iterdir() if path.suffix in {".partial", ".old"}]
    assert not left, left
    assert not list(folder.rglob(".shared"))
    stores, chance = sorted(folder.glob("*.zarr")), random.Random(5)
    for n in range(120):
        damage_is_found(stores[n % len(stores)], chance)
    print(f"{len(cases)} files, {shards} with shards, are as they should be")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
