# SPDX-License-Identifier: BSD-3-Clause
"""What the page of a turbulence run shows: the flow, its statistics, how well it is resolved."""

from collections.abc import Callable, Iterable
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes

from tailrace.apps.turbulence import figures
from tailrace.apps.turbulence.passes import substage_passes
from tailrace.apps.turbulence.published import is_taylor_green_1600
from tailrace.apps.turbulence.resolution import resolution_text, resolved_scale
from tailrace.apps.turbulence.vorticity import has_velocity, vorticity_plane
from tailrace.planning.quantities import seconds_text
from tailrace.report.html import picture, png
from tailrace.report.section import Section
from tailrace.runs.folder import Run

POINTS = "grid points"
SLICES = (("z", 0.5), ("x", 0.5))
PUBLISHED = (
    "Published curve: Taylor-Green vortex at Re = 1600, spectral, 1024³ points (cuDecomp example "
    "data, after van Rees et al., J. Comput. Phys. 230, 2011). Dissipation is 2 ν times the "
    "enstrophy."
)


def sections(run: Run) -> Iterable[Section]:
    """Yield the part of the page; files that are absent leave out their pictures."""
    rows = [row for row in (("half", _slices(run)), ("", _curves(run))) if row[1]]
    if rows:
        note = PUBLISHED if is_taylor_green_1600(run) else ""
        yield Section("flow", "The flow", note, rows, warning=resolution_text(run))


def cards(_run: Run) -> Iterable[tuple[str, str]]:
    """Yield nothing: what all runs show suffices."""
    return []


def facts(run: Run) -> Iterable[tuple[str, str]]:
    """Yield the resolution, and the cost of the passes of a substage."""
    scale = resolved_scale(run)
    if scale is not None:
        yield "resolution", resolution_text(run) or f"kmax eta stays above {scale:.2f}"
    yield "passes of a substage", _passes(run.summary.get("pass_costs"), run.events)


def front(run: Run) -> Callable[[Axes], None] | None:
    """Return what draws the last field file, if there is one."""
    files = [path for path in run.fields if has_velocity(path)]
    if not files:
        return None
    plane = vorticity_plane(files[-1], *SLICES[0])
    return lambda axes: figures.draw_vorticity(axes, plane)


def _slices(run: Run) -> list[Markup]:
    files = [path for path in run.fields if has_velocity(path)]
    if not files:
        return []
    planes = [vorticity_plane(files[-1], axis, part) for axis, part in SLICES]
    return [
        picture(lambda axes, p=plane: figures.draw_vorticity(axes, p), (4.6, 3.9), png)  # type: ignore[misc]
        for plane in planes
    ]


def _curves(run: Run) -> list[Markup]:
    size = (3.5, 2.75)
    curves = []
    if len(run.statistics.get("time", [])) > 1:
        curves.append(picture(lambda axes: figures.draw_energy(axes, run), size))
        if "dissipation" in run.statistics:
            curves.append(picture(lambda axes: figures.draw_dissipation(axes, run), size))
    if run.spectra:
        curves.append(picture(lambda axes: figures.draw_spectrum(axes, run.spectra), size))
    return curves


def _passes(costs: object, events: list[dict[str, Any]]) -> str:
    """Return what each pass took compared with what its memory and its 1D transforms cost alone."""
    parts = []
    taken = substage_passes(events)
    for name, cost in costs.items() if isinstance(costs, dict) else ():
        known = cost if isinstance(cost, dict) else {}
        memory, kernels = known.get("memory_s"), known.get("kernel_s")
        if not isinstance(memory, int | float) or not isinstance(kernels, int | float):
            continue
        if not taken.get(name):
            continue
        times = taken[name] / (memory + kernels)
        parts.append(
            f"{name} {seconds_text(taken[name])}, {times:.2f} times the model "
            f"(memory {seconds_text(memory)}, 1D transforms {seconds_text(kernels)})"
        )
    return "; ".join(parts)
