# SPDX-License-Identifier: BSD-3-Clause
"""Tiles: each node holds a box of the grid, whose shape is found by trying all divisors."""

from collections.abc import Callable

import numpy as np

from tailrace.placement.traffic import Grid, Ints


def shapes(extents: tuple[int, ...], volume: int) -> list[tuple[int, ...]]:
    """Return all boxes of `volume` points whose edges divide those of the grid, ascending.

    Examples
    --------
    >>> shapes((16, 16), 16)
    [(1, 16), (2, 8), (4, 4), (8, 2), (16, 1)]
    """
    if not extents:
        return [()] if volume == 1 else []
    return [
        (edge, *rest)
        for edge in range(1, min(extents[0], volume) + 1)
        if extents[0] % edge == 0 and volume % edge == 0
        for rest in shapes(extents[1:], volume // edge)
    ]


def off_node_bytes(grid: Grid, tile: tuple[int, ...]) -> float:
    """Return the bytes that leave nodes which hold tiles of this shape."""
    total = 0.0
    for extent, edge, size in zip(grid.extents, tile, grid.bytes, strict=True):
        if edge == extent:
            continue
        if grid.pattern == "lines":
            total += grid.num_ranks * (extent - edge) * size
        else:
            cuts = extent // edge - (0 if grid.periodic else 1)
            total += 2 * grid.num_ranks / extent * cuts * size
    return total


def tiles_along(grid: Grid, tile: tuple[int, ...], key: Callable[[Ints], Ints]) -> Ints:
    """Return the ranks tile after tile, the tiles along a space-filling curve."""
    at = grid.coordinates()
    edges = np.array(tile)
    return np.lexsort([*(at % edges).T[::-1], key(at // edges)])


def tile_order(grid: Grid, tile: tuple[int, ...], axes: tuple[int, ...] | None = None) -> Ints:
    """Return the ranks tile after tile, row-major inside a tile.

    `axes` says in which order the tiles themselves follow one another, the axis that runs slowest
    first; row-major without it.
    """
    at = grid.coordinates()
    edges = np.array(tile)
    slowest_first = list(axes or range(len(tile)))
    across = (at // edges).T[slowest_first]
    return np.lexsort([*(at % edges).T[::-1], *across[::-1]])  # the last key counts most
