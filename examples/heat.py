# SPDX-License-Identifier: BSD-3-Clause
"""Heat spreads from a hot spot in a periodic box, as in heat.cpp: du/dt = laplace u.

  mpirun -n 2 python heat.py [points along each axis] [folder]
Exactly solved in Fourier space, with the field written to HDF5 files while the program computes.
Fails if the result differs from the exact solution.
"""

import math
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import tailrace
from tailrace.fft import Transform

START_TIME, TIME_STEP, NUM_STEPS, OUTPUT_EVERY = 0.1, 0.005, 40, 10


def exact_field(box: tailrace.Box, n: int, t: float) -> np.ndarray:
    """This rank's part of the exact solution at time t, the product of three such lines."""
    # math's functions are those of heat.cpp to the last bit; NumPy's may differ there.
    line = np.ones(n)
    for i in range(n):
        x = 2 * math.pi * i / n
        for k in range(1, n // 2):
            line[i] += 2 * math.exp(-t * k * k) * math.cos(k * x)
    z, y, x = (line[part] for part in box.slices)
    return z[:, None, None] * y[:, None] * x


def main(n: int, folder: Path) -> int:
    """Return 0 if the result is the exact solution."""
    comm = MPI.COMM_WORLD
    transform = Transform(comm, (n, n, n))
    u = exact_field(transform.box, n, START_TIME)
    u_hat = transform.forward(u)
    u_hat.view("float64")[...] /= n**3  # transforms do not normalise
    ky, kz, kx = transform.wave_numbers
    k2 = kx**2 + ky[:, None, None] ** 2 + kz[:, None] ** 2
    decay = np.vectorize(math.exp)(-k2 * TIME_STEP)

    with tailrace.Output(comm, servers="hidden") as output:
        for step in range(1, NUM_STEPS + 1):
            u_hat *= decay
            if step % OUTPUT_EVERY == 0:
                transform.backward(u_hat, u)
                attributes = {"time": step * TIME_STEP}
                output.write(
                    folder / f"heat_{step}.h5", {"u": u}, transform.layout,
                    step=step, attributes=attributes,
                )  # fmt: skip
            output.progress()  # never waits
        output.finish()  # waits for the last file
        cost = output.statistics

    exact = exact_field(transform.box, n, START_TIME + NUM_STEPS * TIME_STEP)
    error = math.sqrt(comm.allreduce(float(((u - exact) ** 2).sum())) / n**3)
    if comm.rank == 0:
        print(f"the computation spent {cost['call_s']:.4f} s on its files, "
              f"the background {cost['write_s']:.4f} s")  # fmt: skip
        print(f"difference from the exact solution: {error:.1e}")
    return 0 if error < 1e-10 else 1


if __name__ == "__main__":
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 128
    sys.exit(main(points, Path(sys.argv[2] if len(sys.argv) > 2 else ".")))
