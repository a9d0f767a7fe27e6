# SPDX-License-Identifier: BSD-3-Clause
"""Writes a series with texts and coordinates of several axes.

`series_kept_program.py FOLDER FROM TO STEPS_PER_FILE`
"""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import tailrace

FOLDER = Path(sys.argv[1])
FIRST, LAST, STEPS_PER_FILE = map(int, sys.argv[2:])
COMM = MPI.COMM_WORLD
SHAPE = (3, 4)


def main() -> None:
    layout = tailrace.slabs(SHAPE, axis=0, num_ranks=COMM.size)
    lat = np.arange(12, dtype="f4").reshape(SHAPE)
    series = f"{FOLDER}/fields.h5 steps_per_file={STEPS_PER_FILE}"
    with tailrace.Output(COMM, "hidden", series=series) as output:
        for step in range(FIRST, LAST):
            u = np.full(layout.shape(COMM.rank), float(step))
            output.write(
                FOLDER / f"u_{step}.h5",
                {"u": tailrace.Variable(u, layout, dims=("station", "x"))},
                layout,
                step=step,
                coordinates={
                    "station": (("station",), ["Ems", "Weser", "Elbe \u00e4"]),
                    "flag": (("x",), ["", "b", "cc", "d"]),
                    "lat": (("station", "x"), lat, {"units": "degrees_north"}),
                    "level": (("kept",), np.array([2**60, 3], "i8")),
                    "run": "spin-up",
                    "dt": np.float32(0.5 * step),
                },
                attributes={"time": 0.25 * step},
            )
        output.finish()


main()
