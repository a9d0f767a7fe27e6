# SPDX-License-Identifier: BSD-3-Clause
"""Forward and backward transforms by mpi4py-fft and by `tailrace.mpi4py_fft`, in turn.

`mpirun -n 2 python bench/peers/mpi4py_fft_pairs.py 128` (pip install mpi4py-fft) prints the medians
of interleaved rounds, the spread, and how many times as fast ours is.
"""

import argparse

import mpi4py_fft
import numpy as np
from mpi4py import MPI

import tailrace.mpi4py_fft


def main() -> None:
    """Time both, after the spectra have been compared."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int, help="points along each axis")
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    problems, spectra = {}, []
    for name, module in (("mpi4py-fft", mpi4py_fft), ("tailrace", tailrace.mpi4py_fft)):
        fft = module.PFFT(comm, (args.n, args.n, args.n))
        u, u_hat = module.newDistArray(fft, False), module.newDistArray(fft, True)
        z, y, x = np.meshgrid(*(np.arange(s.start, s.stop) for s in u.local_slice()), indexing="ij")
        u[:] = np.cos(0.1 * z * z + 0.2 * y + 0.3 * x * y)  # the same, however it is shared out
        fft.forward(u, u_hat)
        spectra.append(comm.allreduce(float(np.sum(np.abs(u_hat)))))
        fft.backward(u_hat, u)
        problems[name] = (fft, u, u_hat)
    if not np.isclose(*spectra, rtol=1e-10):
        raise SystemExit(f"the spectra differ: {spectra}")
    seconds: dict[str, list[float]] = {name: [] for name in problems}
    for _ in range(args.rounds):
        for name, (fft, u, u_hat) in problems.items():
            comm.Barrier()
            start_s = MPI.Wtime()
            fft.forward(u, u_hat)
            fft.backward(u_hat, u)
            comm.Barrier()
            seconds[name].append(MPI.Wtime() - start_s)
    if comm.rank == 0:
        for name, values in seconds.items():
            spread = f"{min(values):.4f} .. {max(values):.4f}"
            print(f"{args.n}^3, {comm.size} ranks, {name}: {np.median(values):.4f} s ({spread})")
        ratios = np.divide(seconds["mpi4py-fft"], seconds["tailrace"])
        print(f"ours is {np.median(ratios):.2f} times as fast (median of the rounds' ratios)")


if __name__ == "__main__":
    main()
