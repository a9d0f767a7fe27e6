# SPDX-License-Identifier: BSD-3-Clause
"""Forward + backward transforms of arrays by libraries of Python: a driver of `bench fft`.

``python -m bench.studies.array_libraries --library scipy.fft --extents 64x64x64 ...``, the others
on all ranks of mpirun. Prints the line of JSON of a driver.
"""

import argparse
import functools
import importlib
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Pair = Callable[[], Any]  # forward and backward; returns what comes back


def scipy_pair(args: argparse.Namespace, u: Any) -> Pair:
    """Cosine and sine transforms of the field, then the Fourier transforms, as fast as they go."""
    import scipy.fft  # noqa: PLC0415

    waves = [(a, k) for a, k in zip(args.axes, args.kinds, strict=True) if k != "fourier"]
    fourier = [a for a, k in zip(args.axes, args.kinds, strict=True) if k == "fourier"]
    words = {"workers": args.threads, "overwrite_x": True}
    grouped: dict[str, list[int]] = {}
    for axis, kind in waves:
        grouped.setdefault(kind, []).append(axis)

    def pair() -> Any:
        v, is_own = u, False
        for kind, axes in grouped.items():
            run = scipy.fft.dctn if kind.startswith("dct") else scipy.fft.dstn
            v = run(v, int(kind[3]), axes=axes, workers=args.threads, overwrite_x=is_own)
            is_own = True
        if fourier and np.iscomplexobj(u):
            v = scipy.fft.fftn(v, axes=fourier, workers=args.threads, overwrite_x=is_own)
            v = scipy.fft.ifftn(v, axes=fourier, **words)
        elif fourier:
            sizes = [u.shape[axis] for axis in fourier]
            v = scipy.fft.rfftn(v, axes=fourier, workers=args.threads, overwrite_x=is_own)
            v = scipy.fft.irfftn(v, sizes, axes=fourier, **words)
        for kind, axes in reversed(grouped.items()):
            back = scipy.fft.idctn if kind.startswith("dct") else scipy.fft.idstn
            v = back(v, int(kind[3]), axes=axes, **words)
        return v

    return pair


def mpi4py_fft_pair(args: argparse.Namespace, comm: Any) -> tuple[Any, Pair]:
    """`PFFT` of mpi4py-fft, or of `tailrace.mpi4py_fft`; returns the field, too."""
    module = importlib.import_module(args.library.replace("-", "_"))
    fftw = importlib.import_module(f"{module.__name__}.fftw")
    kinds: dict[tuple[int, ...], Any] = {}
    for axis, kind in zip(args.axes, args.kinds, strict=True):
        if kind != "fourier":
            pair = [getattr(fftw, f"{name}{kind[:3]}n") for name in ("", "i")]
            kinds[(axis,)] = tuple(functools.partial(one, type=int(kind[3])) for one in pair)
    # The last one is transformed first: FFTW's cosine and sine transforms take real items.
    groups = sorted(((axis,) for axis in args.axes), key=lambda group: group in kinds)
    fft = module.PFFT(comm, args.extents, axes=groups, dtype=args.dtype, transforms=kinds or None)
    u, u_hat = module.newDistArray(fft, False), module.newDistArray(fft, True)

    def run() -> Any:
        fft.forward(u, u_hat)
        return fft.backward(u_hat, args.back)

    args.back = module.newDistArray(fft, False)
    return u, run


def arguments() -> argparse.Namespace:
    """Read the words of `tailrace.benchmarks.fft`."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("library", "label", "extents", "axes", "kinds"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--kind", choices=["r2c", "c2c"], default="r2c")
    parser.add_argument("--precision", choices=["double", "single"], default="double")
    for name, value in (("repeats", 5), ("warmups", 1), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    args.extents = tuple(int(n) for n in args.extents.split("x"))
    args.axes = [int(axis) for axis in args.axes.split(",")]
    args.kinds = args.kinds.split(",")
    size = {"double": 8, "single": 4}[args.precision] * (2 if args.kind == "c2c" else 1)
    args.dtype = np.dtype(f"{'c' if args.kind == 'c2c' else 'f'}{size}")
    return args


def main() -> None:
    """Time one library; the ranks together."""
    args = arguments()
    comm = None
    if args.library == "scipy.fft":
        u = np.empty(args.extents, args.dtype)
        pair = scipy_pair(args, u)
    else:
        from mpi4py import MPI  # noqa: PLC0415

        comm = MPI.COMM_WORLD
        u, pair = mpi4py_fft_pair(args, comm)
    rank = comm.rank if comm is not None else 0
    u[...] = np.random.default_rng(rank).uniform(-1, 1, u.shape)
    seconds, error = [], 0.0
    for run in range(args.warmups + args.repeats):
        if comm is not None:
            comm.Barrier()
        start_s = time.perf_counter()
        found = pair()
        taken = time.perf_counter() - start_s
        if comm is not None:
            taken = comm.allreduce(taken, importlib.import_module("mpi4py.MPI").MAX)
        if run >= args.warmups:
            seconds.append(taken)
        error = max(error, float(np.abs(found - u).max(initial=0)))
    if rank == 0:
        points = float(np.prod([float(n) for n in args.extents]))
        record = {"entry": args.label, "seconds": seconds, "error": error, "points": points}
        print(json.dumps(record))


if __name__ == "__main__":
    main()
