# SPDX-License-Identifier: BSD-3-Clause
"""Vorticity magnitude on one plane of a field file, read a few planes at a time.

Inside the plane the derivatives are spectral; across it they are central differences of fourth
order from two planes on each side (the box is periodic). So the memory is that of a few planes,
whatever the size of the field.
"""

from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from tailrace.errors import TailraceError
from tailrace.runs.folder import Floats

AXES = ("z", "y", "x")  # index order of the arrays
# u, v, w are the components along x, y, z; this is their number by index axis.
COMPONENT_ALONG = ("w", "v", "u")
CENTRAL = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))


@dataclass(frozen=True)
class Plane:
    """|vorticity| on the plane `axis` = `position`; rows are `vertical`, columns `horizontal`."""

    values: Floats
    axis: str
    position: float
    horizontal: str
    vertical: str
    lengths: tuple[float, float]  # along horizontal, vertical
    time: float | None


def has_velocity(path: Path) -> bool:
    """Tell whether the file holds u, v and w."""
    try:
        with h5py.File(path) as file:
            return all(name in file for name in COMPONENT_ALONG)
    except OSError:
        return False


def spectral_derivative(values: Floats, axis: int, length: float) -> Floats:
    """Differentiate a periodic array along `axis`; the Nyquist mode has no derivative."""
    n = values.shape[axis]
    k = 2 * np.pi / length * np.arange(n // 2 + 1)
    if n % 2 == 0:
        k[-1] = 0.0
    shape = [1, 1]
    shape[axis] = len(k)
    modes = np.fft.rfft(values, axis=axis) * (1j * k.reshape(shape))
    return np.fft.irfft(modes, n=n, axis=axis)


def vorticity_plane(path: Path, axis: str = "z", part: float = 0.5) -> Plane:
    """Return |curl u| on the plane at `part` of the box along `axis` (z, y or x)."""
    normal = AXES.index(axis)
    others = [i for i in range(3) if i != normal]
    try:
        with h5py.File(path) as file:
            extents = file["u"].shape
            index = int(part * extents[normal]) % extents[normal]
            lengths = [_length(file, name, n) for name, n in zip(AXES, extents, strict=True)]
            spacing = lengths[normal] / extents[normal]
            gradient: dict[tuple[str, int], Floats] = {}
            for name in COMPONENT_ALONG:
                plane = _plane(file[name], normal, index)
                for position, other in enumerate(others):
                    gradient[name, other] = spectral_derivative(plane, position, lengths[other])
                gradient[name, normal] = sum(
                    (c * _plane(file[name], normal, index + shift) for shift, c in CENTRAL),
                    start=np.zeros_like(plane),
                ) / np.float64(spacing)
            time = _time(file)
    except (OSError, KeyError) as error:
        raise TailraceError(f"{path}: cannot read u, v, w ({error})") from error
    z, y, x = 0, 1, 2
    curl = (
        gradient["w", y] - gradient["v", z],
        gradient["u", z] - gradient["w", x],
        gradient["v", x] - gradient["u", y],
    )
    magnitude = np.sqrt(sum((c**2 for c in curl), start=np.zeros_like(curl[0])))
    vertical, horizontal = others
    return Plane(
        magnitude,
        axis,
        index * spacing,
        AXES[horizontal],
        AXES[vertical],
        (lengths[horizontal], lengths[vertical]),
        time,
    )


def _plane(dataset: h5py.Dataset, normal: int, index: int) -> Floats:
    where: list[int | slice] = [slice(None)] * 3
    where[normal] = index % dataset.shape[normal]
    return np.asarray(dataset[tuple(where)], dtype=np.float64)


def _length(file: h5py.File, name: str, n: int) -> float:
    """Length of the box along an axis from its coordinate, else 2 pi."""
    if name in file and file[name].shape == (n,) and n > 1:
        coordinate = np.asarray(file[name], dtype=np.float64)
        return float((coordinate[-1] - coordinate[0]) * n / (n - 1))
    return 2 * np.pi


def _time(file: h5py.File) -> float | None:
    if "time" in file.attrs:
        return float(np.ravel(file.attrs["time"])[0])
    if "time" in file and file["time"].size == 1:
        return float(np.ravel(file["time"][()])[0])
    return None
