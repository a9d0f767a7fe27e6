# SPDX-License-Identifier: BSD-3-Clause
"""What the page of a helium run shows: where the electrons are, and what the pulse did to them."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from tailrace.report.html import picture, png
from tailrace.report.section import Section
from tailrace.report.style import ACCENT, INK, MUTED, REFERENCE
from tailrace.runs.folder import Floats, Run, read_table

POINTS = "grid points"
DECADES = 8
FEMTOSECONDS = 0.02418884  # of an atomic unit of time
SHOWN_FILES = 4
LEAST_SAMPLES = 64  # of a spectrum
MUCH_AT_EDGE = 1e-2
HARTREE_EV = 27.211386
SHADES = (MUTED, ACCENT, REFERENCE, INK)  # of L = 0, 1, 2, 3


def density(path: Path) -> tuple[Floats, Floats, float]:
    """Return the radii, the density of both electrons and the time of a file of densities."""
    with h5py.File(path) as file:
        return file["r1"][:], file["density"][:], float(file.attrs["time"])


def chosen_files(files: list[Path]) -> list[Path]:
    """Return the first file, the last one, and some of the second half."""
    if len(files) <= SHOWN_FILES:
        return files
    return [files[round(part * (len(files) - 1))] for part in (0, 0.5, 0.75, 1)]


def colours(files: list[Path]) -> LogNorm:
    """Return the colour scale that all these densities share."""
    largest = max(density(path)[1].max() for path in files)
    return LogNorm(largest * 10.0**-DECADES, largest)


def draw_density(axes: Axes, path: Path, norm: LogNorm) -> Any:
    """Draw |f(r1, r2)|^2, and return the image."""
    radii, values, at = density(path)
    shown = np.maximum(values, norm.vmin or 0.0).T
    image = axes.pcolormesh(radii, radii, shown, norm=norm, cmap="magma", rasterized=True)
    axes.set_title(f"t = {at:.1f} a.u. ({at * FEMTOSECONDS:.2f} fs)")
    axes.set_xlabel("r1 [bohr]")
    return image


def sections(run: Run) -> Iterable[Section]:
    """Yield the parts of the page; files that there are not leave out theirs."""
    table = read_table(run.folder / "observables.csv", ("time", "ground"))
    rows = []
    if run.fields:
        rows.append(("half", list(_density_pictures(chosen_files(run.fields)))))
    if len(table.get("time", [])) > 1:
        curves = list(_curves(table, run))
        rows.append(("half" if len(curves) == 2 else "", curves))
    if not rows:
        return
    note = (
        "|f(r1, r2)|², all partial waves, in equal colours; populations of the ground state, and "
    )
    note += f"of electrons beyond {run.case.get('observables', {}).get('radius', 10)} bohr."
    yield Section("electrons", "The two electrons", note, rows, _edge_warning(run))
    yield from _leaving(run)


def facts(_run: Run) -> Iterable[tuple[str, str]]:
    """Yield nothing: what all runs show suffices."""
    return []


def front(_run: Run) -> Callable[[Axes], None] | None:
    """Return None: there is no picture for a front page."""
    return None


def _leaving(run: Run) -> Iterable[Section]:
    """Yield what the servers found about the electrons that have left."""
    files = sorted((run.folder / "electrons").glob("*.h5"))
    if not files:
        return
    names = ("energy", "single_energy", "double_energy", "time")
    with h5py.File(files[-1]) as file:
        energy, single, double, time = (file[name][:] for name in names)
    energy = energy * HARTREE_EV
    per_ev = single[0] / HARTREE_EV

    def one(axes: Axes) -> None:
        for total_l, values in enumerate(per_ev[: len(SHADES)]):
            if (values > 0).any():
                shown = np.where(values > 0, values, np.nan)
                axes.semilogy(energy, shown, color=SHADES[total_l], label=f"L = {total_l}")
        low, high = axes.get_ylim()
        axes.set_ylim(max(low, high * 1e-10), high)
        axes.set(title="One electron", xlabel="energy [eV]", ylabel="population per eV")
        if axes.get_legend_handles_labels()[0]:
            axes.legend()

    def both(axes: Axes) -> None:
        values = double[0].sum(axis=0) / HARTREE_EV**2
        largest = float(values.max()) or 1.0
        norm = LogNorm(largest * 10.0**-DECADES, largest)
        shown = np.maximum(values, norm.vmin or 0.0)
        image = axes.pcolormesh(energy, energy, shown, norm=norm, cmap="magma", rasterized=True)
        axes.set(title="Both, population per eV²", xlabel="energy [eV]", ylabel="energy [eV]")
        axes.set_aspect("equal")
        axes.figure.colorbar(image, ax=axes)

    note = f"Energies at t = {time[0]:.1f} a.u., of one electron that has left and of both, "
    note += "by projection on the servers; all else is in RUN/electrons."
    pictures = [picture(one, (4.6, 3.6)), picture(both, (4.6, 3.6), png)]
    yield Section("energies", "Electrons that have left", note, [("half", pictures)])


def _density_pictures(files: list[Path]) -> Iterable[Markup]:
    norm = colours(files)
    for path in files:

        def draw(axes: Axes, path: Path = path) -> None:
            image = draw_density(axes, path, norm)
            axes.set_ylabel("r2 [bohr]")
            axes.set_aspect("equal")
            axes.figure.colorbar(image, ax=axes)

        yield picture(draw, (4.6, 3.9), png)


def _curves(table: dict[str, Floats], run: Run) -> Iterable[Markup]:
    size, time = (3.5, 2.75), table["time"]

    def field(axes: Axes) -> None:
        axes.plot(time, table["field"], color=INK, linewidth=1.0)
        axes.set(title="Electric field", xlabel="t [a.u.]", ylabel="E [a.u.]")

    def yields(axes: Axes) -> None:
        curves = [("left the ground state", 1 - table["ground"], ACCENT)]
        for key, name, colour in (
            ("single_outside", "one electron outside", INK),
            ("double_outside", "both outside", REFERENCE),
        ):
            if key in table:
                curves.append((name, table[key], colour))
        for name, values, colour in curves:
            if (values > 0).any():
                axes.semilogy(time, np.where(values > 0, values, np.nan), color=colour, label=name)
        low, high = axes.get_ylim()
        axes.set_ylim(max(low, high * 1e-12) * 1e-6, high)  # room for the legend
        axes.set(title="Populations", xlabel="t [a.u.]", ylabel="population")
        axes.legend(loc="lower right")

    if "field" in table:
        yield picture(field, size)
    yield picture(yields, size)
    spectrum = dipole_spectrum(table)
    photon = _photon_energy(run)
    if spectrum is not None and photon:

        def harmonics(axes: Axes) -> None:
            order = spectrum[0] / photon
            kept = order <= min(order[-1], 15)
            axes.semilogy(order[kept], spectrum[1][kept], color=ACCENT)
            axes.set(
                title="Dipole spectrum", xlabel="photon energies", ylabel="|a(ω)|² [arbitrary]"
            )

        yield picture(harmonics, size)


def dipole_spectrum(table: dict[str, Floats]) -> tuple[Floats, Floats] | None:
    """Return angular frequencies [a.u.] and |a(w)|^2 of the dipole's acceleration.

    From d(t) by a Hann window, a(w) = -w^2 d(w). None if there are few lines or they are not
    equally far apart.
    """
    time, dipole = table.get("time"), table.get("dipole")
    if time is None or dipole is None or len(time) < LEAST_SAMPLES:
        return None
    steps = np.diff(time[:-1])  # the last line stands where the run ends
    if steps.max() - steps.min() > 1e-6 * steps.mean():
        return None
    window = np.hanning(len(time) - 1)
    transformed = np.fft.rfft((dipole[:-1] - dipole[:-1].mean()) * window)
    omega = 2 * np.pi * np.fft.rfftfreq(len(time) - 1, steps.mean())
    return omega, np.abs(omega**2 * transformed) ** 2


def _photon_energy(run: Run) -> float:
    """Return the photon energy of the first colour [a.u.]; 0 if the case does not tell it."""
    energies = run.case.get("pulse", {}).get("photon_energy") or [0.0]
    return float(energies[0]) / HARTREE_EV


def _edge_warning(run: Run) -> str:
    """Say that much of what left has come to the end of the box."""
    left, edge = run.summary.get("left_ground"), run.summary.get("edge_r")
    if not isinstance(left, int | float) or not isinstance(edge, int | float):
        return ""
    if edge <= max(MUCH_AT_EDGE * left, 1e-12):
        return ""
    return (
        f"Of {left:.1e} that left the ground state, {edge:.1e} is at the end of the box, which "
        "sends it back: raise grid.points, or give grid.absorber."
    )


def cards(run: Run) -> Iterable[tuple[str, str]]:
    """Yield the figures of the atom for the top of the page."""
    for key, words, what in (
        ("ground_energy", "{:.6f}", "energy of the ground state [a.u.]"),
        ("left_ground", "{:.3e}", "left the ground state"),
        ("cross_section_mb", "{:.4g} Mb", "one-photon cross-section"),
        ("busiest_over_mean", "{:.3f}", "points of the busiest rank over the mean"),
    ):
        value = run.summary.get(key)
        if isinstance(value, int | float):
            yield words.format(value), what
