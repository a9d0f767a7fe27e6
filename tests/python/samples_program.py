# SPDX-License-Identifier: BSD-3-Clause
"""Reads the files of release 0.1 in the folder of argument 1, on any number of ranks."""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import tailrace

comm = MPI.COMM_WORLD
layout = tailrace.slabs((4, 6), 0, comm.size)
rows, columns = np.ogrid[0:4, 0:6]
expected = (10.0 * rows + columns + 0.5)[layout.boxes(comm.rank)[0].slices]
for name in ("u.h5", "u.nc"):
    with tailrace.Input(comm, Path(sys.argv[1]) / name) as file:
        u = file.read("u", layout)
        assert (u == expected).all(), (name, u)
        assert file.attribute("time") == 0.25
        assert file.attribute("title") == "a sample"
        assert list(file.attribute("numbers")) == [1, 2, 3]
