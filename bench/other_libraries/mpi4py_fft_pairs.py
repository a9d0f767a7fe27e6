# SPDX-License-Identifier: BSD-3-Clause
"""Forward and backward transforms by mpi4py-fft, shenfun and `tailrace.mpi4py_fft`, in turn.

`mpirun -n 2 python bench/other_libraries/mpi4py_fft_pairs.py 128` (pip install mpi4py-fft; with
shenfun where it is installed) prints the medians of interleaved rounds, the spread, and how many
times as fast Tailrace is.
"""

import argparse
import importlib
import importlib.util
from typing import Any

import mpi4py_fft
import numpy as np
from mpi4py import MPI

import tailrace.mpi4py_fft


def problem(name: str, comm: MPI.Comm, n: int) -> tuple[Any, Any, Any]:
    """Return what transforms, points and modes."""
    if name == "shenfun":
        shenfun = importlib.import_module("shenfun")
        bases = [shenfun.FunctionSpace(n, "F", dtype=kind) for kind in "DDd"]
        space = shenfun.TensorProductSpace(comm, bases)
        return space, shenfun.Array(space), shenfun.Function(space)
    module = mpi4py_fft if name == "mpi4py-fft" else tailrace.mpi4py_fft
    fft = module.PFFT(comm, (n, n, n))
    return fft, module.newDistArray(fft, False), module.newDistArray(fft, True)


def main() -> None:
    """Time all, after the spectra have been compared."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int, help="points along each axis")
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    names = ["mpi4py-fft", *["shenfun"] * bool(importlib.util.find_spec("shenfun")), "tailrace"]
    problems, spectra = {}, []
    for name in names:
        fft, u, u_hat = problem(name, comm, args.n)
        slices = fft.local_slice(False)
        z, y, x = np.meshgrid(*(np.arange(s.start, s.stop) for s in slices), indexing="ij")
        u[:] = np.cos(0.1 * z * z + 0.2 * y + 0.3 * x * y)  # the same, however it is shared out
        fft.forward(u, u_hat)
        spectra.append(comm.allreduce(float(np.sum(np.abs(u_hat)))))
        fft.backward(u_hat, u)
        problems[name] = (fft, u, u_hat)
    if not np.allclose(spectra, spectra[0], rtol=1e-10):
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
        for name in names[:-1]:
            ratios = np.divide(seconds[name], seconds["tailrace"])
            print(f"{np.median(ratios):.2f} times as fast as {name} (median of the rounds' ratios)")


if __name__ == "__main__":
    main()
