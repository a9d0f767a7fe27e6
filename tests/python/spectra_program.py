# SPDX-License-Identifier: BSD-3-Clause
"""Shell spectra of boxes that are not cubes, compared with NumPy.

`mpirun -n N python spectra_program.py FOLDER`. Modes of each box lie exactly on the edge of a
shell, which round-off must not decide: here shells are found by whole numbers.
"""

import sys
from pathlib import Path

import h5py
import numpy as np
from mpi4py import MPI

import tailrace

COMM = MPI.COMM_WORLD
FOLDER = Path(sys.argv[1])

# Periods as multiples of one length, and points, both (z, y, x).
BOXES = [
    ((4, 4, 6), (8, 8, 12)),
    ((6, 5, 4), (12, 5, 8)),
    ((8, 12, 6), (8, 12, 6)),
    ((10, 4, 6), (10, 8, 6)),
    ((2, 2, 3), (8, 6, 9)),
    ((2, 3, 3), (8, 9, 7)),
    ((5, 2, 2), (10, 9, 8)),
    ((7, 2, 4), (8, 8, 8)),
    ((4, 6, 3), (8, 8, 8)),
    ((10, 6, 4), (9, 8, 7)),
    ((3, 2), (10, 12)),
    ((4, 10), (16, 9)),
]
SCALES = {"one": 1.0, "tenth": 0.1, "two_pi": 2 * np.pi, "sevenths": 2 * np.pi / 7, "odd": 1234.567}


def shells_of(periods: tuple[int, ...], extents: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """Shell of each mode by the rule of docs/servers.md, and how many modes lie on an edge.

    Shell s holds (s - 1/2)^2 <= (|k| / dk)^2 < (s + 1/2)^2; `square` is the middle times common^2.
    """
    common, longest = int(np.prod(periods)), max(periods)
    square = np.zeros(extents, int)
    for axis, (period, n) in enumerate(zip(periods, extents, strict=True)):
        shape = [1] * len(extents)
        shape[axis] = n
        k = np.rint(np.fft.fftfreq(n, 1 / n)).astype(int)
        square = square + ((k * longest * (common // period)) ** 2).reshape(shape)
    shell = np.zeros(extents, int)
    on_edge = 0
    for s in range(sum(extents) * longest):
        edge = ((2 * s + 1) * common) ** 2
        shell += edge <= 4 * square
        on_edge += int(np.count_nonzero(edge == 4 * square))
    return shell, on_edge


def expected(u: np.ndarray, shell: np.ndarray, dk: float) -> np.ndarray:
    power = np.abs(np.fft.fftn(u) / u.size) ** 2
    return np.bincount(shell.ravel(), power.ravel()) / dk


def check(number: int, periods: tuple[int, ...], extents: tuple[int, ...]) -> None:
    u = np.random.default_rng(number).random(extents)
    shell, on_edge = shells_of(periods, extents)
    assert on_edge > 0, (periods, extents)
    products = [
        tailrace.Product(
            name,
            ["spectrum lengths=" + ",".join(repr(scale * period) for period in periods)],
            path=f"{{path}}_{name}.h5",
        )
        for name, scale in SCALES.items()
    ]
    layout = tailrace.slabs(extents, 0, COMM.size)
    boxes = layout.boxes(COMM.rank)
    part = np.ascontiguousarray(u[boxes[0].slices]) if boxes else u[:0]
    path = FOLDER / f"box{number}.h5"
    with tailrace.Output(COMM, "thread", products=products, variables=False) as output:
        output.write(path, {"u": part}, layout)
    for name, scale in SCALES.items():
        dk = 2 * np.pi / (scale * max(periods))
        with h5py.File(FOLDER / f"box{number}_{name}.h5") as file:
            found, k = file["u_spectrum"][:], file["k"][:]
        right = expected(u, shell, dk)
        assert found.shape == right.shape, (periods, extents, name)
        assert np.allclose(found, right, rtol=1e-12, atol=1e-13 * scale), (periods, extents, name)
        assert np.allclose(k, dk * np.arange(right.size), rtol=1e-14), (periods, extents, name)


def main() -> None:
    for number, (periods, extents) in enumerate(BOXES):
        check(number, periods, extents)
    if COMM.rank == 0:
        print(f"{len(BOXES)} boxes with {len(SCALES)} scales equal NumPy")


if __name__ == "__main__":
    main()
