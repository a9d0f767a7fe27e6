# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of a flow; each function draws into the axes it is given."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullFormatter

from tailrace.apps.turbulence.published import is_taylor_green_1600, published_taylor_green
from tailrace.apps.turbulence.vorticity import Plane
from tailrace.report.style import ACCENT, INK, REFERENCE
from tailrace.runs.folder import Floats, Run, Spectrum


def draw_vorticity(axes: Axes, plane: Plane) -> None:
    """Draw the slice of vorticity magnitude; bright is strong."""
    top = float(np.percentile(plane.values, 99.7)) or 1.0
    image = axes.imshow(
        plane.values,
        origin="lower",
        extent=(0, plane.lengths[0], 0, plane.lengths[1]),
        cmap="magma",
        vmin=0,
        vmax=top,
        interpolation="bicubic",
    )
    axes.set_xlabel(plane.horizontal)
    axes.set_ylabel(plane.vertical)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(4))
    for spine in axes.spines.values():
        spine.set_visible(False)
    when = "" if plane.time is None else f", t = {plane.time:.4g}"
    axes.set_title(f"|vorticity| at {plane.axis} = {plane.position:.3g}{when}")
    bar = axes.figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03)
    bar.outline.set_visible(False)
    bar.set_label("|vorticity|")


def draw_spectrum(axes: Axes, spectra: list[Spectrum]) -> None:
    """Draw E(k): the last time strongly, up to four earlier ones faintly, and k^(-5/3)."""
    last = spectra[-1]
    earlier = [spectra[i] for i in np.unique(np.linspace(0, len(spectra) - 1, 5).astype(int))[:-1]]
    floor = 1e-12 * float(np.max(last.energy))
    for number, spectrum in enumerate(earlier):
        kept = (spectrum.k > 0) & (spectrum.energy > floor)
        shade = 0.25 + 0.45 * number / max(1, len(earlier))
        axes.loglog(
            spectrum.k[kept],
            spectrum.energy[kept],
            color=ACCENT,
            alpha=shade,
            linewidth=0.9,
            label=f"t = {spectrum.time:.3g}",
        )
    kept = (last.k > 0) & (last.energy > floor)
    k, energy = last.k[kept], last.energy[kept]
    axes.loglog(k, energy, color=INK, linewidth=1.8, label=f"t = {last.time:.3g}")
    if len(k) > 8:
        anchor = min(len(k) - 1, max(2, len(k) // 8))
        low, high = k[max(1, anchor // 2)], k[min(len(k) - 1, 3 * anchor)]
        guide = np.array([low, high])
        axes.loglog(
            guide,
            2.2 * energy[anchor] * (guide / k[anchor]) ** (-5 / 3),
            color=REFERENCE,
            linewidth=1.2,
            linestyle=(0, (5, 3)),
            label=r"$k^{-5/3}$",
        )
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("wave number k")
    axes.set_ylabel("energy spectrum E(k)")
    axes.set_title("Energy spectrum")
    axes.legend()


def draw_energy(axes: Axes, run: Run) -> None:
    """Draw the kinetic energy against time, with the published curve where it applies."""
    axes.plot(run.statistics["time"], run.statistics["energy"], color=INK, label="this run")
    if is_taylor_green_1600(run):
        published = published_taylor_green()
        _published(axes, published["time"], published["energy"], run)
    axes.set_title("Kinetic energy")
    axes.set_xlabel("time t")
    axes.set_ylabel("energy")
    axes.set_ylim(bottom=0)


def draw_dissipation(axes: Axes, run: Run) -> None:
    """Draw the dissipation against time, with the published curve where it applies."""
    axes.plot(run.statistics["time"], run.statistics["dissipation"], color=INK, label="this run")
    if is_taylor_green_1600(run):
        published = published_taylor_green()
        _published(axes, published["time"], 2 / 1600 * published["enstrophy"], run)
    axes.set_title("Dissipation")
    axes.set_xlabel("time t")
    axes.set_ylabel("dissipation")
    axes.set_ylim(bottom=0)


def _published(axes: Axes, time: Floats, values: Floats, run: Run) -> None:
    """Draw the part of the published curve that the run covers (and a little more)."""
    shown = time <= 1.05 * float(run.statistics["time"][-1]) + 0.5
    axes.plot(
        time[shown],
        values[shown],
        color=REFERENCE,
        linewidth=1.2,
        linestyle=(0, (5, 3)),
        label="published, 1024³",
    )
    axes.legend()
