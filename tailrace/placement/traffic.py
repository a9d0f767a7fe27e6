# SPDX-License-Identifier: BSD-3-Clause
"""Who sends how much to whom: from a grid of ranks, or from a measured profile."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.errors import TailraceError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PATTERNS = ("neighbours", "lines")
MOST_MESSAGES = 50_000_000


@dataclass(frozen=True)
class Grid:
    """A Cartesian grid of ranks as MPI_Cart_create numbers them: the last axis runs fastest."""

    extents: tuple[int, ...]
    periodic: bool = False
    pattern: str = "neighbours"  # or "lines": each rank to all others along each axis
    bytes: tuple[float, ...] = (1.0,)  # of a message along each axis

    @property
    def num_ranks(self) -> int:
        """Return the number of ranks."""
        return math.prod(self.extents)

    @property
    def text(self) -> str:
        """Return the extents as in 16x16x16."""
        return "x".join(map(str, self.extents))

    def coordinates(self) -> Ints:
        """Return the coordinates of every rank: (num_ranks, axes)."""
        return np.stack(np.unravel_index(np.arange(self.num_ranks), self.extents), axis=1)


@dataclass(frozen=True)
class Traffic:
    """Bytes from rank to rank; each pair once, none from a rank to itself."""

    num_ranks: int
    sender: Ints
    receiver: Ints
    bytes: Floats
    grid: Grid | None = None


def parse_extents(text: str, option: str) -> tuple[int, ...]:
    """Return 16x16x4 as numbers."""
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*){0,4}", text):
        raise TailraceError(
            f"{option} {text}: expected 1 to 5 extents of a rank grid, e.g. 16x16x4", status=2
        )
    return tuple(int(word) for word in text.split("x"))


def make_grid(text: str, periodic: bool, pattern: str, amounts: list[float]) -> Grid:
    """Return the grid that the command line describes; `amounts` for all axes or for each."""
    extents = parse_extents(text, "--grid")
    if pattern not in PATTERNS:
        raise TailraceError(f"--pattern {pattern}: expected {' or '.join(PATTERNS)}", status=2)
    if len(amounts) not in (1, len(extents)):
        raise TailraceError(
            f"--bytes names {len(amounts)} sizes: expected one, or one for each of the "
            f"{len(extents)} axes of --grid {text}",
            status=2,
        )
    sizes = tuple(amounts) * (len(extents) if len(amounts) == 1 else 1)
    grid = Grid(extents, periodic, pattern, sizes)
    partners = sum(n - 1 for n in extents) if pattern == "lines" else 2 * len(extents)
    if grid.num_ranks * partners > MOST_MESSAGES:
        raise TailraceError(
            f"--grid {text}: {grid.num_ranks * partners} messages are too many (at most "
            f"{MOST_MESSAGES})",
            status=2,
        )
    return grid


def grid_traffic(grid: Grid) -> Traffic:
    """Return what the ranks of a grid send to their neighbours, or along lines."""
    at = grid.coordinates()
    senders, receivers, sizes = [], [], []
    for axis, extent in enumerate(grid.extents):
        steps = (-1, 1) if grid.pattern == "neighbours" else range(1, extent)
        for step in steps if extent > 1 else ():
            moved = at.copy()
            moved[:, axis] += step
            wraps = grid.periodic or grid.pattern == "lines"
            inside = (moved[:, axis] >= 0) & (moved[:, axis] < extent) | wraps
            moved[:, axis] %= extent
            senders.append(np.flatnonzero(inside))
            receivers.append(np.ravel_multi_index(tuple(moved[inside].T), grid.extents))
            sizes.append(np.full(int(inside.sum()), grid.bytes[axis]))
    return _summed(grid.num_ranks, _joined(senders), _joined(receivers), _joined(sizes), grid)


def read_traffic(path: Path, grid: Grid | None = None) -> Traffic:
    """Return the messages of a profile that ``tailrace profile --json`` wrote.

    With what its all-to-alls and allgathers must bring from rank to rank.

    `grid` is how the program lays its ranks out, if that is known: orders of grids then apply.
    """
    try:
        found = json.loads(path.read_text())
        ranks = int(found["ranks"])
        cells = [*found["matrix"], *found.get("collective_matrix", [])]
        rows = [(int(m["from"]), int(m["to"]), float(m["bytes"])) for m in cells]
    except OSError as error:
        raise TailraceError(f"{path}: {error.strerror}", status=2) from error
    except (ValueError, KeyError, TypeError) as error:
        raise TailraceError(
            f"{path} is not a profile (expected a file of `tailrace profile --json FILE`, "
            "with ranks and matrix)",
            status=2,
        ) from error
    if not found["matrix"] and found.get("node_matrix"):
        raise TailraceError(
            f"{path}: with {ranks} ranks its matrix is between nodes only; "
            "give the rank grid with --grid",
            status=2,
        )
    wrong = [row for row in rows if not (0 <= min(row[:2]) <= max(row[:2]) < ranks and row[2] >= 0)]
    if wrong or ranks < 1:
        raise TailraceError(f"{path}: damaged (a message {wrong[:1]} among {ranks} ranks)")
    if grid is not None and grid.num_ranks != ranks:
        raise TailraceError(
            f"--grid {grid.text}: has {grid.num_ranks} ranks, the profile {path} {ranks}", status=2
        )
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    ends = table[:, :2].astype(np.int64)
    traffic = _summed(ranks, ends[:, 0], ends[:, 1], table[:, 2], grid)
    if not traffic.bytes.size:
        raise TailraceError(
            f"{path} has no messages between ranks, all-to-alls or allgathers, "
            "so all placements are equal; give the rank grid with --grid",
            status=2,
        )
    return traffic


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0)


def _summed(
    ranks: int,
    sender: NDArray[Any],
    receiver: NDArray[Any],
    sizes: NDArray[Any],
    grid: Grid | None,
) -> Traffic:
    """Return the messages with each pair once, and without those of a rank to itself."""
    key = sender.astype(np.int64) * ranks + receiver.astype(np.int64)
    pairs, where = np.unique(key, return_inverse=True)
    total = np.bincount(where.ravel(), weights=sizes.astype(np.float64), minlength=pairs.size)
    keep = (pairs // ranks != pairs % ranks) & (total > 0)
    pairs, total = pairs[keep], total[keep]
    return Traffic(ranks, pairs // ranks, pairs % ranks, total, grid)
