# SPDX-License-Identifier: BSD-3-Clause
"""Forward and backward transforms of any axes, compared with serial scipy.fft in pairs.

`array_transforms.py [NUM_PAIRS]`

Real double fields on one rank and one thread. Prints for each shape the median times of both, and
the median and range over pairs of scipy's time by Tailrace's: above 1 Tailrace is faster.
"""

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import scipy.fft
from mpi4py import MPI

from tailrace.fft import ArrayTransform

CASES = {
    "1024^2, Fourier": ((1024, 1024), ["fourier", "fourier"]),
    "128^3, cosine along the middle axis": ((128, 128, 128), ["fourier", "dct2", "fourier"]),
    "128^3, cosine": ((128, 128, 128), ["dct2", "dct2", "dct2"]),
    "32^4, Fourier": ((32, 32, 32, 32), ["fourier"] * 4),
}


def with_scipy(field: np.ndarray, kinds: list[str]) -> np.ndarray:
    if set(kinds) == {"fourier"}:
        return np.asarray(scipy.fft.irfftn(scipy.fft.rfftn(field), s=field.shape))
    if set(kinds) == {"dct2"}:
        return np.asarray(scipy.fft.idctn(scipy.fft.dctn(field)))
    modes = scipy.fft.rfft(scipy.fft.dct(field, axis=1), axis=2)
    modes = scipy.fft.ifft(scipy.fft.fft(modes, axis=0), axis=0)
    return np.asarray(scipy.fft.idct(scipy.fft.irfft(modes, n=field.shape[2], axis=2), axis=1))


def seconds(action: Callable[[], np.ndarray], right: np.ndarray) -> float:
    start = time.perf_counter()
    found = action()
    taken = time.perf_counter() - start
    assert np.allclose(found, right)
    return taken


def compare(name: str, num_pairs: int) -> None:
    shape, kinds = CASES[name]
    transform = ArrayTransform(MPI.COMM_SELF, shape, kinds=kinds)
    field = np.random.default_rng(1).random(shape)

    def ours() -> np.ndarray:
        return np.asarray(transform.backward(transform.forward(field)))

    def theirs() -> np.ndarray:
        return with_scipy(field, kinds)

    right = ours() * transform.normalization  # the first uses of both
    assert np.allclose(theirs(), right)
    unscaled = right / transform.normalization
    pairs = [(seconds(ours, unscaled), seconds(theirs, field)) for _ in range(num_pairs)]
    transform.close()
    ratios = sorted(other / own for own, other in pairs)
    times = [1e3 * statistics.median(column) for column in zip(*pairs, strict=True)]
    print(
        f"{name:<36}{times[0]:8.1f} ms {times[1]:8.1f} ms  {statistics.median(ratios):.2f} "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f})",
        flush=True,
    )


if __name__ == "__main__":
    for case in CASES:
        compare(case, int(sys.argv[1]) if len(sys.argv) > 1 else 15)
