# SPDX-License-Identifier: BSD-3-Clause
"""Makes an aquifer as a file in PFLOTRAN's layout.

``python -m tailrace.apps.groundwater.aquifer_file FILE --cells 250 200 200`` writes FILE.

The permeability is log-normal in layers: each layer has a mean of its own, and in it ln k varies
with the correlation lengths along x, y, z. It depends on the seed and the aquifer alone, not on
how many planes are made at a time. FILE gets `Cell Ids` and `Permeability` [m^2], `Materials`
(the layers, repeated after --materials) and `Regions` (west, east, bottom, top). Cell ids count
from 1, along x first, then y, then z.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from tailrace.runs.folder import Floats

PLANE_ITEMS = 1 << 22  # cells made at a time, about


@dataclass(frozen=True)
class Aquifer:
    """A box of cells; `cells`, `size` [m] and `correlation` [m] along x, y, z."""

    cells: tuple[int, int, int]
    size: tuple[float, float, float]
    correlation: tuple[float, float, float]
    median: float = 1e-12  # of the permeability [m^2]
    sigma: float = 1.0  # standard deviation of ln k in a layer
    layers: int = 5
    layer_sigma: float = 1.0  # standard deviation of the mean ln k of the layers
    materials: int = 2
    seed: int = 1

    @property
    def num_cells(self) -> int:
        """Return the number of cells."""
        return int(np.prod(self.cells, dtype=np.int64))

    def layer_of(self, z: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the layer of each plane of cells."""
        return z * self.layers // self.cells[2]


def _numbers(seed: int, stream: int, shape: tuple[int, ...]) -> Floats:
    """Return normal numbers by a counter (Philox): the same on every machine for a seed."""
    key = np.random.SeedSequence([seed, stream])
    return np.random.Generator(np.random.Philox(key)).standard_normal(shape)


def permeability_planes(aquifer: Aquifer, at_once: int) -> Iterator[tuple[int, Floats]]:
    """Yield (first plane, k of shape (planes, ny, nx)) [m^2], `at_once` planes at a time.

    ln k is interpolated between normal numbers on a lattice of the correlation lengths, and
    divided by the length of the weights, so that its variance is the same everywhere.
    """
    node, part = [], []
    for cells, size, length in zip(aquifer.cells, aquifer.size, aquifer.correlation, strict=True):
        at = (np.arange(cells) + 0.5) * (size / cells / length)
        node.append(at.astype(np.int64))
        part.append(at - node[-1])
    lattice = _numbers(aquifer.seed, 0, tuple(int(n[-1]) + 2 for n in reversed(node)))
    means = aquifer.layer_sigma * _numbers(aquifer.seed, 1, (aquifer.layers,))
    for first in range(0, aquifer.cells[2], at_once):
        z = np.arange(first, min(first + at_once, aquifer.cells[2]))
        values = lattice
        squares = np.ones(())
        # One axis after the other: z, of these planes alone, then y, then x.
        for axis, (low, far) in enumerate(
            ((node[2][z], part[2][z]), (node[1], part[1]), (node[0], part[0]))
        ):
            shape = [1, 1, 1]
            shape[axis] = -1
            weight = far.reshape(shape)
            values = values.take(low, axis) * (1 - weight) + values.take(low + 1, axis) * weight
            squares = squares * (weight**2 + (1 - weight) ** 2)
        of_layer = means[aquifer.layer_of(z)].reshape(-1, 1, 1)
        yield first, aquifer.median * np.exp(of_layer + aquifer.sigma * values / np.sqrt(squares))


def region_ids(aquifer: Aquifer) -> dict[str, NDArray[np.int64]]:
    """Return the cells along four faces, as ids from 1, by the name of the region."""
    nx, ny, nz = aquifer.cells
    plane = np.arange(nx * ny) + 1
    rows = np.arange(ny * nz) * nx + 1
    return {
        "west": rows,
        "east": rows + nx - 1,
        "bottom": plane,
        "top": plane + (nz - 1) * nx * ny,
    }


def write_aquifer(path: Path, aquifer: Aquifer, *, shuffled: bool = False) -> None:
    """Write the file; `shuffled` puts the cells in a random order, as meshes from elsewhere are."""
    count, (nx, ny, _) = aquifer.num_cells, aquifer.cells
    integers = np.int32 if count < 2**31 else np.int64
    order = None
    if shuffled:
        key = np.random.SeedSequence([aquifer.seed, 2])
        order = np.random.Generator(np.random.Philox(key)).permutation(count)
    with h5py.File(path, "w") as file:
        ids = file.create_dataset("Cell Ids", (count,), integers)
        values = file.create_dataset("Permeability", (count,), np.float64)
        group = file.create_group("Materials")
        same_ids = group.create_dataset("Cell Ids", (count,), integers)
        materials = group.create_dataset("Material Ids", (count,), np.int32)
        whole = np.empty(count) if shuffled else None
        for first, planes in permeability_planes(aquifer, max(1, PLANE_ITEMS // (nx * ny))):
            run = slice(first * nx * ny, first * nx * ny + planes.size)
            if whole is None:
                values[run] = planes.ravel()
            else:
                whole[run] = planes.ravel()
        if whole is not None and order is not None:
            values[:] = whole[order]
        for start in range(0, count, PLANE_ITEMS):
            run = slice(start, min(start + PLANE_ITEMS, count))
            cells = np.arange(run.start, run.stop) if order is None else order[run]
            ids[run] = same_ids[run] = cells + 1
            materials[run] = aquifer.layer_of(cells // (nx * ny)) % aquifer.materials + 1
        for name, cells in region_ids(aquifer).items():
            file.create_dataset(f"Regions/{name}/Cell Ids", data=cells.astype(integers))


def _parser() -> argparse.ArgumentParser:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m tailrace.apps.groundwater.aquifer_file",
        description=__doc__.split(": ", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    three = ("X", "Y", "Z")
    parser.add_argument("file", type=Path, help="the file to write")
    parser.add_argument("--cells", type=int, nargs=3, metavar=three, default=(200, 250, 20))
    parser.add_argument("--size", type=float, nargs=3, metavar=three, default=(2000, 2500, 100),
                        help="[m]")  # fmt: skip
    parser.add_argument("--correlation", type=float, nargs=3, metavar=three,
                        default=(100, 100, 10), help="lengths [m]")  # fmt: skip
    parser.add_argument("--median", type=float, default=1e-12, help="permeability [m^2]")
    parser.add_argument("--sigma", type=float, default=1.0, help="of ln k in a layer")
    parser.add_argument("--layers", type=int, default=5)
    parser.add_argument("--layer-sigma", type=float, default=1.0, help="of the layers' mean ln k")
    parser.add_argument("--materials", type=int, default=2, help="numbers that the layers get")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shuffled", action="store_true", help="cells in random order")
    return parser


def main(words: list[str]) -> int:
    """Write the file that the command line asks for."""
    parser = _parser()
    args = parser.parse_args(words)
    for name in ("cells", "size", "correlation"):
        if min(getattr(args, name)) <= 0:
            parser.error(f"--{name} must be three numbers above 0")
    for name, least in (("median", 0), ("layers", 0), ("materials", 0)):
        if getattr(args, name) <= least:
            parser.error(f"--{name} must be above 0")
    for name in ("sigma", "layer_sigma", "seed"):
        if getattr(args, name) < 0:
            parser.error(f"--{name.replace('_', '-')} must be at least 0")
    aquifer = Aquifer(
        tuple(args.cells), tuple(args.size), tuple(args.correlation), args.median, args.sigma,
        args.layers, args.layer_sigma, args.materials, args.seed,
    )  # fmt: skip
    try:
        write_aquifer(args.file, aquifer, shuffled=args.shuffled)
    except OSError as error:
        parser.error(f"{args.file}: {error}")
    print(f"{args.file}: {aquifer.num_cells} cells, {args.file.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
