# SPDX-License-Identifier: BSD-3-Clause
"""Energies of the electrons that have left a helium atom, from a checkpoint after the pulse.

``python -m tailrace.apps.helium.photoelectrons RUN`` writes RUN/photoelectrons.csv of the newest
checkpoint.

The wave is projected onto products (Feist et al., Phys. Rev. A 77, 043420 (2008)):
of a bound state of He+ and a Coulomb wave of charge Z - 1 for single ionisation, of two Coulomb
waves of charge Z for double ionisation. The products hold no correlation, so the electrons should
be far apart: some time after the pulse, in a box that they have not come to the end of. L = 0 is
left out as it holds the ground state, which is not orthogonal to the products: one photon leads to
L = 1. What double ionisation there is below its threshold is not real: products overlap a little
with single ionisation.
"""

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from tailrace.errors import TailraceError
from tailrace.runs.folder import Floats

HARTREE_EV = 27.211386
FINER = 8  # points of a Coulomb wave for one of the run
FAR = 300.0  # where its amplitude is taken [bohr]
SHELLS = 3  # bound states of the ion of each l


@dataclass(frozen=True)
class Wave:
    """A checkpoint: `channels` of (L, l1, l2), `values` (channel, r1, r2), the sum of squares 1."""

    charge: float
    step: float
    channels: list[tuple[int, int, int]]
    values: np.ndarray


@dataclass(frozen=True)
class Spectra:
    """Populations per energy [1/hartree] at `energies` [hartree] of an electron."""

    energies: Floats
    single: Floats  # ion in one of its lowest shells
    double: Floats  # (energy, energy) of both; symmetric

    @property
    def single_yield(self) -> float:
        """Population of single ionisation."""
        return float(np.trapezoid(self.single, self.energies))

    @property
    def double_yield(self) -> float:
        """Population of double ionisation."""
        inner = np.trapezoid(self.double, self.energies, axis=1)
        return float(np.trapezoid(inner, self.energies))

    @property
    def momentum(self) -> tuple[Floats, Floats]:
        """Momenta k and populations of single ionisation per k: k dP/dE."""
        k = np.sqrt(2 * self.energies)
        return k, k * self.single


def read_wave(path: Path) -> Wave:
    """Read a checkpoint whole; `TailraceError` if it is none of helium."""
    with h5py.File(path) as file:
        if file.attrs.get("kind") not in (
            "tailrace helium checkpoint",
            b"tailrace helium checkpoint",
        ):
            raise TailraceError(f"{path} is not a checkpoint of a helium run")
        n = int(file.attrs["grid.points"])
        packed = file["f_re"][:] + 1j * file["f_im"][:]
        numbers = [file[f"channel_{name}"][:].astype(int).tolist() for name in ("L", "l1", "l2")]
        symmetry = file.attrs["atom.symmetry"]
        charge, step = float(file.attrs["atom.charge"]), float(file.attrs["grid.step"])
    channels = list(zip(*numbers, strict=True))
    sign = -1 if symmetry in ("triplet", b"triplet") else 1
    upper = np.triu_indices(n)
    values = np.zeros((len(channels), n, n), complex)
    values[:, *upper] = packed
    for c, (total, l1, l2) in enumerate(channels):
        mirror = channels.index((total, l2, l1))
        other = np.zeros((n, n), complex)
        other[upper] = packed[mirror]
        values[c] += sign * np.tril(other.T, -1)
    return Wave(charge, step, channels, values)


def ion_states(charge: float, step: float, points: int, momentum: int) -> Floats:
    """Return the lowest bound states of the ion on the grid of the run: exact waves, of norm 1."""
    r = step * np.arange(1, points + 1)
    states = []
    for n in range(momentum + 1, momentum + 1 + SHELLS):
        x = 2 * charge * r / n
        laguerre, before = np.ones_like(x), np.zeros_like(x)
        a = 2 * momentum + 1
        for k in range(n - momentum - 1):
            laguerre, before = (
                ((2 * k + 1 + a - x) * laguerre - (k + a) * before) / (k + 1),
                laguerre,
            )
        state = x ** (momentum + 1) * np.exp(-x / 2) * laguerre
        states.append(state / np.linalg.norm(state))
    return np.array(states).T


def coulomb_waves(
    charge: float, step: float, points: int, momentum: int, energies: Floats
) -> Floats:
    """Return regular Coulomb waves per energy, (point, energy), times the root of the step.

    Numerov's method on a finer grid; far out the amplitude is that of the WKB wave,
    (2 / (pi k(r)))^(1/2).
    """
    h = step / FINER
    count = max(points * FINER, int(FAR / h)) + 1
    r = h * np.arange(1, count + 1)
    k_squared = 2 * energies + (2 * charge / r - momentum * (momentum + 1) / r**2)[:, None]
    weight = 1 + h * h / 12 * k_squared
    u = np.empty((count, len(energies)))
    first = -charge / (momentum + 1)  # u = r^(l + 1) (1 + first r + second r^2 + third r^3)
    second = -(2 * energies + 2 * charge * first) / (4 * momentum + 6)
    third = -(2 * energies * first + 2 * charge * second) / (6 * momentum + 12)
    for i in (0, 1):
        u[i] = r[i] ** (momentum + 1) * (1 + r[i] * (first + r[i] * (second + r[i] * third)))
    for i in range(1, count - 1):
        u[i + 1] = ((12 - 10 * weight[i]) * u[i] - weight[i - 1] * u[i - 1]) / weight[i + 1]
    at = count - 3
    k = np.sqrt(k_squared[at])
    slope = (8 * (u[at + 1] - u[at - 1]) - (u[at + 2] - u[at - 2])) / (12 * h)
    k_slope = (np.sqrt(k_squared[at + 1]) - np.sqrt(k_squared[at - 1])) / (2 * h)
    amplitude = np.sqrt(k * u[at] ** 2 + (slope + u[at] * k_slope / (2 * k)) ** 2 / k)
    u *= np.sqrt(2 / np.pi) / amplitude
    waves: Floats = u[FINER - 1 :: FINER][:points] * np.sqrt(step)
    return waves


def spectra(wave: Wave, energies: Floats) -> Spectra:
    """Project a wave onto products of states of one electron."""
    points = wave.values.shape[1]
    largest = max(max(l1, l2) for _, l1, l2 in wave.channels)
    momenta = range(largest + 1)
    bound = [ion_states(wave.charge, wave.step, points, momentum) for momentum in momenta]
    outer = [
        coulomb_waves(wave.charge - 1, wave.step, points, momentum, energies)
        for momentum in momenta
    ]
    bare = [
        coulomb_waves(wave.charge, wave.step, points, momentum, energies) for momentum in momenta
    ]
    single = np.zeros(len(energies))
    double = np.zeros((len(energies), len(energies)))
    for (total, l1, l2), f in zip(wave.channels, wave.values, strict=True):
        if total == 0:
            continue
        # Either electron may be the free one: the mirror channel counts the same again.
        single += 2 * (np.abs(bound[l1].T @ f @ outer[l2]) ** 2).sum(axis=0)
        double += np.abs(bare[l1].T @ f @ bare[l2]) ** 2
    return Spectra(energies, single, double)


def write_table(path: Path, found: Spectra) -> None:
    """Write energy [eV], populations of single and of double ionisation per eV, per momentum."""
    k, per_k = found.momentum
    double = np.asarray(np.trapezoid(found.double, found.energies, axis=1))
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(
            ["energy_ev", "single_per_ev", "double_per_ev", "momentum", "single_per_momentum"]
        )
        for row in zip(
            found.energies * HARTREE_EV,
            found.single / HARTREE_EV,
            double / HARTREE_EV,
            k,
            per_k,
            strict=True,
        ):
            table.writerow([f"{value:.8g}" for value in row])


def main() -> int:
    """Write the table of a run folder; return the exit status."""
    run = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = sorted(run.glob("checkpoint_*.h5"))
    if not found:
        print(
            f"{run} holds no checkpoint_NNNNNN.h5; run with checkpoint.at_end=true", file=sys.stderr
        )
        return 2
    try:
        result = spectra(read_wave(found[-1]), np.arange(0.02, 6.0, 0.02))
    except (OSError, KeyError, TailraceError) as error:
        print(f"{found[-1]}: {error}", file=sys.stderr)
        return 1
    write_table(run / "photoelectrons.csv", result)
    peak = result.energies[result.single.argmax()] * HARTREE_EV
    print(f"single ionisation {result.single_yield:.4e}, most at {peak:.2f} eV")
    print(f"double ionisation {result.double_yield:.4e}")
    print(f"table: {run / 'photoelectrons.csv'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
