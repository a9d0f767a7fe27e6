# SPDX-License-Identifier: BSD-3-Clause
"""Writes files by h5py and netCDF4, not parallel: ``serial_files.py FOLDER [mpi | ROUNDS]``.

With ``mpi``, rank 0 writes and all ranks read after a barrier. With a number of rounds, the same
files are made so often, with other content in each round.
"""

import os
import sys
import traceback
from pathlib import Path

import h5py
import netCDF4
import numpy as np


def write_hdf5(folder: Path) -> None:
    """Write new files, and one that each step adds to."""
    for step in range(4):
        with h5py.File(folder / f"step{step}.h5", "w") as file:
            file.create_dataset("plain", data=np.arange(40000.0) + step)
            rows = np.arange(60000).reshape(600, 100) * step
            packed = file.create_dataset("packed", data=rows, chunks=(50, 10), compression="gzip")
            packed.attrs["step"] = step
            for number in range(30):
                file.create_group(f"group{number}").attrs["name"] = f"a group {number}"
            if step == 1:
                file.flush()
        with h5py.File(folder / "all.h5", "a") as file:
            file.create_dataset(f"step{step}", data=np.ones(5000) * step)
            assert float(file["step0"][:].sum()) == 0.0, "what an earlier step wrote"
    assert len(list(folder.glob("step*.h5"))) == 4, "names of closed files"


def write_netcdf(folder: Path) -> None:
    """Write files of each format, and read one while it is open."""
    for name in ("NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"):
        path = folder / f"{name}.nc"
        with netCDF4.Dataset(path, "w", format=name) as file:
            file.createDimension("time", None)
            file.createDimension("x", 5000)
            values = file.createVariable("values", "f8", ("time", "x"))
            for step in range(12):
                values[step] = np.arange(5000.0) * step
                if step == 6:
                    file.sync()
                    assert path.stat().st_size > 0
            assert float(values[5][-1]) == 4999.0 * 5
        with netCDF4.Dataset(path, "a") as file:
            file.title = "added later"


def write_rounds(folder: Path, rounds: int) -> None:
    """Make the same files again and again; print a line after each."""
    for value in range(rounds):
        for number in range(6):
            with h5py.File(folder / f"hdf{number}.h5", "w") as file:
                file["plain"] = np.arange(20000.0) + value
                file.create_dataset("chunks", data=np.full((100, 100), value), chunks=(10, 20))
            with netCDF4.Dataset(folder / f"net{number}.nc", "w") as file:
                file.createDimension("x", 9000)
                file.createVariable("values", "f8", ("x",))[:] = value
            print(number, flush=True)


def by_rank_0(folder: Path) -> None:
    """Rank 0 writes while the other ranks wait; all of them read."""
    from mpi4py import MPI  # noqa: PLC0415

    comm = MPI.COMM_WORLD
    for step in range(6):
        path = folder / f"rank0_{step}.h5"
        if comm.rank == 0:
            with h5py.File(path, "w") as file:
                file["data"] = np.arange(100000) + step
        comm.Barrier()
        with h5py.File(path, "r") as file:
            assert int(file["data"][-1]) == 99999 + step, "what rank 0 wrote"
        own = folder / f"own{step}_{comm.rank}.h5"
        with h5py.File(own, "w") as file:
            file["data"] = np.arange(20000) * comm.rank
        shared = folder / f"shared{step}.h5"
        flags = os.O_RDWR | os.O_CREAT | (os.O_TRUNC if step % 2 else 0)
        descriptor = os.open(shared, flags)  # by all ranks at the same time
        comm.Barrier()
        os.pwrite(descriptor, bytes([65 + comm.rank]) * 5000, 5000 * comm.rank)
        assert shared.stat().st_size >= 5000 * (comm.rank + 1)
        os.close(descriptor)
        comm.Barrier()
        expected = b"".join(bytes([65 + rank]) * 5000 for rank in range(comm.size))
        assert shared.read_bytes() == expected, "what each rank wrote into one file"
        with h5py.File(folder / f"own{step}_{(comm.rank + 1) % comm.size}.h5", "r") as file:
            assert int(file["data"][-1]) == 19999 * ((comm.rank + 1) % comm.size)


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[2].isdigit():
        write_rounds(Path(sys.argv[1]), int(sys.argv[2]))
    elif len(sys.argv) > 2:
        from mpi4py import MPI

        try:
            by_rank_0(Path(sys.argv[1]))
        except Exception:  # other ranks would wait for ever
            traceback.print_exc()
            sys.stderr.flush()
            MPI.COMM_WORLD.Abort(1)
    else:
        write_hdf5(Path(sys.argv[1]))
        write_netcdf(Path(sys.argv[1]))
