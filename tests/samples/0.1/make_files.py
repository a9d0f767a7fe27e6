# SPDX-License-Identifier: BSD-3-Clause
"""Wrote the files here, on 2 ranks: u[i, j] = 10 i + j + 0.5."""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import tailrace

folder = Path(sys.argv[1])
comm = MPI.COMM_WORLD
layout = tailrace.slabs((4, 6), 0, comm.size)
rows, columns = np.ogrid[0:4, 0:6]
u = (10.0 * rows + columns + 0.5)[layout.boxes(comm.rank)[0].slices]
attributes = {"time": 0.25, "title": "a sample", "numbers": [1, 2, 3]}
with tailrace.Output(comm) as output:
    for name in ("u.h5", "u.nc"):
        output.write(
            folder / name, {"u": np.ascontiguousarray(u)}, layout, step=7, attributes=attributes
        )
    output.finish()
with tailrace.Session(comm, servers="thread") as session:
    stream = session.open("u")
    stream.write(folder / "u.zarr", {"u": np.ascontiguousarray(u)}, layout, attributes=attributes)
    stream.finish()
