# SPDX-License-Identifier: BSD-3-Clause
"""Writes a compressed file: `compress_program.py PATH SERVERS COMPRESS`."""

import sys

import numpy as np
from mpi4py import MPI

import tailrace

PATH, SERVERS, COMPRESS = sys.argv[1:4]
PLAIN = "" if PATH.endswith(".zarr") else "none"  # a store compresses all of its arrays alike
COMM = MPI.COMM_WORLD
SHAPE = (40, 36, 50)


def main() -> None:
    layout = tailrace.slabs(SHAPE, axis=0, num_ranks=COMM.size)
    part = layout.box(COMM.rank)
    z, y, x = np.indices(SHAPE)[
        :, part.start[0] : part.start[0] + part.extents[0], :, :
    ]  # of this rank
    u = np.sin(0.1 * x) * np.cos(0.2 * y) + 0.01 * z
    noisy = np.random.default_rng(COMM.rank).random(u.shape) * 0.1 + 10 + u
    with tailrace.Output(COMM, SERVERS, compress=COMPRESS) as output:
        output.write(
            PATH,
            {
                "u": tailrace.Variable(u, layout, attributes={"_FillValue": -1.0}),
                "noisy": noisy,
                "n": (x + y + z).astype("int16"),
                "plain": tailrace.Variable(u.astype("f4"), layout, compress=PLAIN),
            },
            layout,
            coordinates={"x": np.arange(50.0)},
        )
        output.finish()


main()
