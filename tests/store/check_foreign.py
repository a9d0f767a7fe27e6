# SPDX-License-Identifier: BSD-3-Clause
"""Writes files with h5py and netCDF4 as people do, and lets read_program read them.

Usage: check_foreign.py FOLDER COMMAND... (the command that runs read_program)
Exit status 77 (skipped) if h5py is not installed.
"""

import importlib.util
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

SHAPE = (6, 31, 43)


def counting(first: int, kind: str, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    return (np.arange(np.prod(shape)) + first).reshape(shape).astype(kind)


def write_h5py(path: pathlib.Path) -> dict[str, int]:
    """Return the names of what was written and their first items."""
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        file["plain"] = counting(1, "<f8")
        file["group/deeper/big_endian"] = counting(2, ">i4")
        file.create_dataset("half", data=counting(3, "<f2", (20, 30)))
        file.create_dataset("gzip", data=counting(4, "<u2"), compression="gzip", shuffle=True)
        file.create_dataset("lzf", data=counting(5, "<i8"), compression="lzf", chunks=(1, 31, 43))
        file.create_dataset(
            "growing", data=counting(6, "<f4"), maxshape=(None, 31, 43), fletcher32=True
        )
        file.create_dataset("scale_offset", data=counting(7, "<i4"), scaleoffset=0)
        file.attrs["variable"] = "text of variable length"
    return {
        "plain": 1, "group/deeper/big_endian": 2, "half": 3, "gzip": 4, "growing": 6,
        "scale_offset": 7,
    }  # fmt: skip


def write_netcdf(path: pathlib.Path) -> dict[str, int]:
    if importlib.util.find_spec("netCDF4") is None:
        print("not checked: netCDF4 is not installed")
        return {}
    import netCDF4  # noqa: PLC0415

    with netCDF4.Dataset(path, "w") as file:
        for name, extent in zip(("time", "y", "x"), (None, *SHAPE[1:]), strict=True):
            file.createDimension(name, extent)
        file.createVariable("x", "f8", ("x",))[:] = np.arange(SHAPE[2]) + 8
        u = file.createVariable("u", "f4", ("time", "y", "x"), zlib=True, shuffle=True)
        u[:] = counting(9, "f4")
        file.createVariable("v", "i2", ("time", "y", "x"), endian="big")[:] = counting(10, "i2")
        group = file.createGroup("flow")
        group.createVariable("w", "f8", ("time", "y", "x"))[:] = counting(11, "f8")
        file.title = "by netCDF4"
    return {"x": 8, "u": 9, "v": 10, "flow/w": 11}


def main() -> int:
    folder, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, write in (("h5py.h5", write_h5py), ("netcdf.nc", write_netcdf)):
        path = folder / name
        for dataset, first in write(path).items():
            words = ["counting", str(path), dataset, str(first)]
            done = subprocess.run(
                [*command, *words], capture_output=True, text=True, check=False, timeout=100
            )
            assert done.returncode == 0, f"{name}, {dataset}: {done.stderr}"
            print(f"{name}: {dataset} read")
    words = ["counting", str(folder / "h5py.h5"), "lzf", "5"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "lzf is compressed by filter lzf (32000), which is not installed" in done.stderr, (
        done.stderr
    )
    # A library that is too old for a file says so; it may also be new enough.
    path = folder / "newest.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file["plain"] = counting(1, "<f8")
        file.attrs["flag"] = True
    words = ["counting", str(path), "plain", "1"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        assert "written in a newer HDF5 format than the library of this program" in done.stderr
        assert "damaged" not in done.stderr, done.stderr
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
