# SPDX-License-Identifier: BSD-3-Clause
"""Writes steps of a series: `series_program.py FOLDER SERVERS STRATEGY ATTEMPT STEPS
[STEPS_PER_FILE [COMPRESS [SUFFIX]]]`, with steps such as 0,5,12 or 3:100.

All items of step S are 10 S + ATTEMPT. Rank 0 prints the number of each step that it knows to be
complete.
"""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import tailrace

FOLDER = Path(sys.argv[1])
SERVERS, STRATEGY = sys.argv[2:4]
ATTEMPT = int(sys.argv[4])
COMM = MPI.COMM_WORLD
first, colon, last = sys.argv[5].partition(":")
STEPS = range(int(first), int(last)) if colon else map(int, sys.argv[5].split(","))
SUFFIX = sys.argv[8] if len(sys.argv) > 8 else "h5"
SERIES = str(FOLDER / f"fields.{SUFFIX}")
if int(sys.argv[6] if len(sys.argv) > 6 else 1) > 1:
    SERIES += f" steps_per_file={sys.argv[6]}"
COMPRESS = sys.argv[7] if len(sys.argv) > 7 else ""
SHAPE = (6, 4, 5)


def path_of(step: int) -> Path:
    return FOLDER / "fields" / f"u_{step:06d}.{SUFFIX}"


def main() -> None:
    layout = tailrace.slabs(SHAPE, axis=0, num_ranks=COMM.size)
    coordinates = {"z": np.arange(6.0), "y": np.arange(4.0) / 2, "x": np.arange(5.0) / 8}
    told = ""
    with tailrace.Output(
        COMM, SERVERS, strategy=STRATEGY, series=SERIES, compress=COMPRESS
    ) as output:
        for step in STEPS:
            u = np.full(layout.shape(COMM.rank), 10.0 * step + ATTEMPT)
            fill = {"_FillValue": -1.0, "units": "m/s"}
            output.write(
                path_of(step),
                {"u": tailrace.Variable(u, layout, attributes=fill), "n": u.astype("int32")},
                layout, step=step, coordinates=coordinates,
                attributes={"time": 0.25 * step, "title": "a series"},
            )  # fmt: skip
            output.progress()
            if COMM.rank == 0 and output.last_complete != told:
                told = output.last_complete
                print(Path(told).stem[2:], flush=True)
        output.finish()
    if COMM.rank == 0:
        print("done", flush=True)


main()
