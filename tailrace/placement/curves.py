# SPDX-License-Identifier: BSD-3-Clause
"""Space-filling curves through grids of any extents and number of axes.

Each function returns a key a point; the points in the order of their keys lie along the curve. A
grid that does not fill the curve's cube (of 2^k or 3^k points along each axis) takes its points in
the curve's order and skips the rest.
"""

import numpy as np

from tailrace.placement.traffic import Ints


def _levels(points: Ints, base: int) -> int:
    """Return how many digits the largest coordinate has."""
    levels, reach = 1, base
    while reach <= points.max(initial=0):
        levels, reach = levels + 1, reach * base
    return levels


def z_key(points: Ints) -> Ints:
    """Return the place on the Z (Morton) curve: the bits of the coordinates, interleaved."""
    axes = points.shape[1]
    key = np.zeros(len(points), dtype=np.int64)
    for level in reversed(range(_levels(points, 2))):
        for axis in range(axes):
            key = 2 * key + ((points[:, axis] >> level) & 1)
    return key


def hilbert_key(points: Ints) -> Ints:
    """Return the place on the Hilbert curve, by J. Skilling's transform (AIP Conf. Proc. 707).

    In a cube of 2^k points along each axis, points that follow one another are neighbours.
    """
    x = points.T.copy()
    axes, levels = len(x), _levels(points, 2)
    for level in range(levels - 1, 0, -1):  # undo the rotations and reflections
        low = (1 << level) - 1
        for axis in range(axes):
            reflected = (x[axis] >> level) & 1 == 1
            swapped = (x[0] ^ x[axis]) & low
            x[0] = np.where(reflected, x[0] ^ low, x[0] ^ swapped)
            if axis:
                x[axis] = np.where(reflected, x[axis], x[axis] ^ swapped)
    for axis in range(1, axes):  # Gray code
        x[axis] ^= x[axis - 1]
    parity = np.zeros_like(x[0])
    for level in range(levels - 1, 0, -1):
        parity ^= np.where((x[-1] >> level) & 1 == 1, (1 << level) - 1, 0)
    return z_key((x ^ parity).T)


def peano_key(points: Ints) -> Ints:
    """Return the place on Peano's curve: digits of base 3, reflected by the parity of the others.

    In a cube of 3^k points along each axis, points that follow one another are neighbours.
    """
    axes = points.shape[1]
    key = np.zeros(len(points), dtype=np.int64)
    sums = np.zeros_like(points)  # of the digits of each axis so far
    for level in reversed(range(_levels(points, 3))):
        for axis in range(axes):
            digit = points[:, axis] // 3**level % 3
            others = sums.sum(axis=1) - sums[:, axis]
            key = 3 * key + np.where(others % 2 == 1, 2 - digit, digit)
            sums[:, axis] += digit
    return key
