# SPDX-License-Identifier: BSD-3-Clause
"""The page of a run: its pictures and facts."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailrace.files import save_figure
from tailrace.report import figures, groundwater, helium
from tailrace.report.facts import LESS_THAN_ASKED, facts
from tailrace.report.html import fill, picture, png
from tailrace.report.profile_page import parts
from tailrace.report.resolution import resolution_text
from tailrace.report.section import Section
from tailrace.report.style import ACTIVITIES, ACTIVITY_COLOURS, RC
from tailrace.report.timeline import Segments, Track, close_up, totals, tracks
from tailrace.report.vorticity import has_velocity, vorticity_plane
from tailrace.runs import Run

# What applications show of their own files, beside what all runs have.
APPLICATIONS = {"groundwater": groundwater, "helium": helium}
SLICES = (("z", 0.5), ("x", 0.5))


def render(run: Run) -> str:
    """Return the report of a run as one HTML page."""
    by_track = tracks(run.events)
    return fill(
        "run.html.j2",
        title=run.name,
        cards=list(cards(run)),
        timelines=_timelines(run, by_track),
        spans_dropped=run.spans_dropped,
        activity_rows=list(_activity_rows(by_track)),
        activities=[(name, ACTIVITY_COLOURS[name]) for name in ACTIVITIES],
        output=_output_picture(run),
        slices=_slices(run),
        curves=_curves(run),
        sections=list(_sections(run)),
        rounds=len(all_times(run).get("none", [])),
        doubts=doubts(run),
        facts=list(facts(run)),
        case_text=_text(run.folder / "case.toml"),
        resolution=resolution_text(run),
        published=run.is_taylor_green_1600,
        profiled=bool(run.profile),
        **(parts(run.profile, "Computing, messages and waiting") if run.profile else {}),
    )


def _timelines(run: Run, by_track: dict[Track, Segments]) -> list[tuple[str, Markup]]:
    if not by_track:
        return []

    def whole(axes: Axes) -> None:
        figures.draw_timeline(axes, by_track)
        figures.activity_legend(axes)

    size = (10.0, figures.timeline_height(len(by_track)))
    restarted = bool(run.case.get("restart", {}).get("file"))
    title = "Since the restart" if restarted else "The whole run"
    pictures = [(title, picture(whole, size, png))]
    window = close_up(run.events)
    if window:

        def close(axes: Axes) -> None:
            figures.draw_timeline(axes, by_track, window)

        pictures.append(("While one file is written", picture(close, size, png)))
    return pictures


def _activity_rows(by_track: dict[Track, Segments]) -> Iterable[tuple[str, list[str]]]:
    for (rank, track), segments in list(by_track.items())[: figures.MAX_TRACKS]:
        name = f"rank {rank}" + ("" if track == 0 else " writer")
        yield name, [f"{seconds:.3f}" for seconds in totals(segments)]


def _output_picture(run: Run) -> Markup | None:
    times = output_times(run)
    if len(times) < 2:
        return None
    return picture(lambda axes: _draw_times(axes, run), (6.2, 1.9))


def _draw_times(axes: Axes, run: Run) -> None:
    figures.draw_output_times(axes, output_times(run), all_times(run), bool(doubts(run)))


def output_times(run: Run) -> dict[str, float]:
    """Return the seconds of the run with each output mode that was measured."""
    times = run.summary.get("times_s", {})
    if not isinstance(times, dict):
        return {}
    return {k: float(v) for k, v in times.items() if isinstance(v, int | float) and v > 0}


def all_times(run: Run) -> dict[str, list[float]]:
    """Return the seconds of every run of each output mode, where they were repeated."""
    times = run.summary.get("times_all_s", {})
    return times if isinstance(times, dict) else {}


def doubts(run: Run) -> str:
    """Return why the times of output modes say nothing; "" if they do."""
    reasons = run.summary.get("times_doubts", [])
    return "; ".join(map(str, reasons)) if isinstance(reasons, list) else ""


def _slices(run: Run) -> list[Markup]:
    files = [path for path in run.fields if has_velocity(path)]
    if not files:
        return []
    planes = [vorticity_plane(files[-1], axis, part) for axis, part in SLICES]
    return [
        picture(lambda axes, p=plane: figures.draw_vorticity(axes, p), (4.6, 3.9), png)  # type: ignore[misc]
        for plane in planes
    ]


def _sections(run: Run) -> Iterable[Section]:
    own = _application(run)
    return own.sections(run) if own else []


def _application(run: Run) -> Any:
    """Return the module of the application whose run this is; None: it needs none."""
    return APPLICATIONS.get(str(run.case.get("case", {}).get("application", "")))


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


def cards(run: Run) -> Iterable[tuple[str, str]]:
    """Yield the few figures at the top of the page: text and what it means."""
    times = output_times(run)
    if times.get("none") and doubts(run):
        yield "?", "cost of output: the machine was too busy to tell"
    elif times.get("none"):
        for mode in ("hidden", "servers", "synchronous"):
            if mode in times:
                cost = 100 * (times[mode] / times["none"] - 1)
                yield f"{cost:+.1f} %", f"cost of {mode} output"
    hidden = run.summary.get("hidden_fraction")
    if isinstance(hidden, int | float):
        words = "of the writing was hidden"
        if doubts(run):
            yield "?", f"{words}: the machine was too busy to tell"
        else:
            yield f"{100 * hidden:.0f} %", words
    yield from _output_cards(run.summary.get("output"))
    own = _application(run)
    if own:
        yield from own.cards(run)
    grid = run.case.get("grid", {})
    n = int(grid.get("n", 0) or 0)
    extents = [int(grid.get(key, 0) or n) for key in ("nx", "ny", "nz")]
    if all(extents):
        cube = len(set(extents)) == 1
        points = "cells" if own is groundwater else "grid points"
        yield f"{extents[0]}³" if cube else "×".join(map(str, extents)), points
    if run.statistics:
        yield f"{run.statistics['time'][-1]:.4g}", "time reached"


def _output_cards(output: object) -> Iterable[tuple[str, str]]:
    """Yield what output cost the simulation, and steps that are not as asked for."""
    if not isinstance(output, dict):
        return
    for key, words in (("call_s", "spent in output calls"), ("stall_s", "waited for output")):
        if isinstance(output.get(key), int | float):
            yield f"{output[key]:.2f} s", f"the simulation {words}"
    for key in LESS_THAN_ASKED:
        if output.get(key):
            yield str(output[key]), f"steps {key}"


def _text(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def save_picture(run: Run, path: Path) -> None:
    """Save one picture of the run for a front page: flow, timeline and output times."""
    by_track = tracks(run.events)
    files = [file for file in run.fields if has_velocity(file)]
    with mpl.rc_context(RC):
        figure = Figure(figsize=(11, 4.6), layout="constrained")
        parts: Any = figure.subfigures(1, 2, width_ratios=[1.0, 1.45])
        left, right = parts
        if files:
            figures.draw_vorticity(left.add_subplot(), vorticity_plane(files[-1], *SLICES[0]))
        upper, lower = right.subplots(2, 1, height_ratios=[1.35, 1.0])
        window = close_up(run.events)
        if by_track:
            figures.draw_timeline(upper, by_track, window)
            figures.activity_legend(upper)
            upper.set_title("While one file is written" if window else "Where the time went")
        times = output_times(run)
        if times:
            _draw_times(lower, run)
            busy = doubts(run) and " (machine too busy to compare)"
            lower.set_title(f"Each kind of output{busy}")
        save_figure(figure, path)
