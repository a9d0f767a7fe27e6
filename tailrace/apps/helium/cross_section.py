# SPDX-License-Identifier: BSD-3-Clause
"""The one-photon cross-section of helium at several photon energies, beside the published fit.

``python -m tailrace.apps.helium.cross_section FOLDER [EV ...]`` runs the case
helium/photon on two ranks for each photon energy (FOLDER/40.8 and so on; a few seconds each)
and leaves the table
FOLDER/cross_section.csv and the picture FOLDER/cross_section.png.
"""

import csv
import json
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from tailrace.errors import TailraceError
from tailrace.runs.folder import Floats
from tailrace.runs.output_modes import run_to_end
from tailrace.runs.simulation import Job

ENERGIES_EV = (35.0, 40.8, 50.0, 65.0, 85.0, 110.0, 149.7)
# Yan, Sadeghpour, Dalgarno, Astrophys. J. 496, 1044 (1998): coefficients of x^(-n/2).
FIT = (-4.7416, 14.82, -30.8678, 37.3584, -23.4585, 5.9133)
THRESHOLD_EV = 24.58
SETTINGS = ["grid.points=160", "output.every=0", "pulse.intensity=[1e13]"]
STEPS_OF_PERIOD = 26


def published(energy_ev: Floats) -> Floats:
    """Return the fit to measurements [Mb]."""
    x = energy_ev / THRESHOLD_EV
    series = 1 + sum(a * x ** (-n / 2) for n, a in enumerate(FIT, 1))
    return np.asarray(733e-6 * (energy_ev / 1000) ** -3.5 * series)


def compute(folder: Path, energy_ev: float) -> float:
    """Run a pulse of ten cycles to its end and return the cross-section [Mb]."""
    period = 2 * np.pi * 27.211386 / energy_ev
    settings = [f"pulse.photon_energy=[{energy_ev}]", f"time.step={period / STEPS_OF_PERIOD:.4f}"]
    job = Job("helium/photon", ranks=2, settings=SETTINGS, overwrite=True)
    run = folder / f"{energy_ev:g}"
    run_to_end(job, run, settings, f"{energy_ev:g} eV")
    return float(json.loads((run / "summary.json").read_text())["cross_section_mb"])


def draw(picture: Path, energies_ev: Floats, found: Floats) -> None:
    """Draw the computed values beside the fit."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    line = np.linspace(min(energies_ev.min(), 26.0), energies_ev.max() * 1.05, 200)
    axes.semilogy(
        line, published(line), color="black", label="fit to measurements (Yan et al. 1998)"
    )
    axes.semilogy(energies_ev, found, "o", label="Tailrace")
    axes.set(xlabel="photon energy [eV]", ylabel="cross-section [Mb]", title="He, one photon")
    axes.legend()
    figure.savefig(picture, dpi=120)


def main() -> int:
    """Run all photon energies; return the exit status."""
    if len(sys.argv) < 2:
        usage = "python -m tailrace.apps.helium.cross_section FOLDER [EV ...]"
        print(f"usage: {usage}", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    try:
        energies = np.array([float(word) for word in sys.argv[2:]] or ENERGIES_EV)
        if not (energies > THRESHOLD_EV).all():
            raise ValueError
    except ValueError:
        print(f"photon energies are numbers above {THRESHOLD_EV} [eV]", file=sys.stderr)
        return 2
    try:
        found = np.array([compute(folder, energy) for energy in energies])
    except TailraceError as error:
        print(f"helium_cross_section: {error}", file=sys.stderr)
        return error.status
    fit = published(energies)
    with (folder / "cross_section.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["photon_energy_ev", "cross_section_mb", "published_mb"])
        table.writerows(zip(energies, found, fit, strict=True))
    for energy, ours, theirs in zip(energies, found, fit, strict=True):
        print(f"{energy:7.2f} eV {ours:8.4f} Mb, fit {theirs:8.4f} Mb ({ours / theirs - 1:+.1%})")
    draw(folder / "cross_section.png", energies, found)
    print(f"Picture: {folder / 'cross_section.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
