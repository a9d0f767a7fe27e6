# SPDX-License-Identifier: BSD-3-Clause
"""Heat spreads on blocks with halos that the program itself distributes, as in own_blocks.cpp.

  mpirun -n 4 python own_blocks.py FOLDER LAST_STEP [FILE FIRST_STEP]
Every 10 steps the field is written without the halo, while the program computes the next steps. A
run may start from a file of another run, on any number of ranks. Four lines use the library, all of
them in main.
"""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import tailrace

POINTS, OUTPUT_EVERY = (20, 18, 16), 10  # z, y, x
INNER = (slice(1, -1),) * 3


def fill_halo(u: np.ndarray, comm: MPI.Cartcomm, axis: int) -> None:
    """Send the planes at both ends of `axis` to the neighbours, which keep them in their halos."""
    before, after = comm.Shift(axis, 1)
    planes = np.moveaxis(u, axis, 0)
    planes[0] = comm.sendrecv(planes[-2], after, source=before)
    planes[-1] = comm.sendrecv(planes[1], before, source=after)


def step(u: np.ndarray, comm: MPI.Cartcomm) -> None:
    """One explicit step of du/dt = laplace u."""
    for axis in range(3):
        fill_halo(u, comm, axis)
    here = u[INNER]
    sides = [u[:-2, 1:-1, 1:-1], u[2:, 1:-1, 1:-1], u[1:-1, :-2, 1:-1], u[1:-1, 2:, 1:-1],
             u[1:-1, 1:-1, :-2], u[1:-1, 1:-1, 2:]]  # fmt: skip
    u[INNER] = here + 0.125 * (sum(sides[1:], sides[0]) - 6 * here)


def main(folder: Path, last_step: int, source: str = "", first_step: int = 0) -> None:
    """Run from `first_step` to `last_step`."""
    grid = MPI.Compute_dims(MPI.COMM_WORLD.size, 3)
    comm = MPI.COMM_WORLD.Create_cart(grid, periods=(True,) * 3, reorder=True)
    corners = [
        (n * at // parts, n * (at + 1) // parts)
        for n, at, parts in zip(POINTS, comm.coords, grid, strict=True)
    ]
    start, count = [first for first, _ in corners], [end - first for first, end in corners]
    u = np.zeros([n + 2 for n in count])
    z, y, x = np.meshgrid(*[np.arange(*corner) for corner in corners], indexing="ij")
    u[INNER] = np.where((x == 3) & (y == 4) & (z < 9), 100.0, 0.0)

    layout = tailrace.own_box(comm, POINTS, start, count)
    if source:
        tailrace.Input(comm, source).read("u", layout, u[INNER])
    with tailrace.Output(comm) as output:  # hidden behind the steps
        for s in range(first_step + 1, last_step + 1):
            step(u, comm)
            if s % OUTPUT_EVERY == 0:
                output.write(folder / f"u_{s}.h5", {"u": u[INNER]}, layout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4], *map(int, sys.argv[4:5]))
