# SPDX-License-Identifier: BSD-3-Clause
"""The page of a run: its pictures and facts."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailrace.errors import TailraceError
from tailrace.files import require_writable, save_figure
from tailrace.planning.quantities import seconds_text
from tailrace.progress import working
from tailrace.report import figures
from tailrace.report.application import application_of
from tailrace.report.facts import LESS_THAN_ASKED, cost_sentence, facts
from tailrace.report.html import fill, picture, png
from tailrace.report.profile_page import parts
from tailrace.report.style import ACTIVITIES, ACTIVITY_COLOURS, RC
from tailrace.report.timeline import Segments, Track, close_up, totals, tracks
from tailrace.runs.folder import Run, load_run
from tailrace.runs.output_cost import costs_of_modes, number
from tailrace.runs.output_modes import NONE, SHARED, Cost, costs_of_times, noise_text, words_of

WORTH_HIDING = 0.01  # of a run's time, which its writing takes


def run_page(run: Path, path: Path) -> str:
    """Return the page of a run folder, which is to become the file `path`."""
    try:
        found = load_run(run)
        require_writable(path, "-o")
        with working("report"):
            return render(found)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # The files are JSON, TOML and CSV, but someone has put other things into them.
        what = f"{type(error).__name__}: {error}"
        raise TailraceError(f"{run}: its files are not those of a run ({what})") from error


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
        output_cost=cost_sentence(run.summary),
        sections=list(application_of(run).sections(run)),
        rounds=len(all_times(run).get(NONE, [])),
        limit=_limit(run),
        noise=noise_text(run.summary.get("times_all_s")),
        others=others(run),
        facts=list(facts(run)),
        case_text=_text(run.folder / "case.toml"),
        profiled=bool(run.profile),
        **(parts(run.profile, "Computing, messages and waiting") if run.profile else {}),
    )


def _timelines(run: Run, by_track: dict[Track, Segments]) -> list[tuple[str, Markup]]:
    if not by_track:
        return []

    def whole(axes: Axes) -> None:
        figures.draw_timeline(axes, by_track)
        figures.colour_legend(axes, ACTIVITY_COLOURS)

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
    return picture(lambda axes: _draw_times(axes, run), (6.6, 0.9 + 0.3 * len(times)))


def _draw_times(axes: Axes, run: Run) -> None:
    labels = {name: figures.MODE_TEXT.get(name, words_of(name)) for name in output_times(run)}
    if _limit(run):
        for name in labels:
            if name != NONE:
                labels[name] += ", shared" if name.startswith(SHARED) else ", disk"
    costs = {name: cost.median for name, cost in whole_costs(run).items()}
    figures.draw_output_times(axes, output_times(run), all_times(run), costs, labels)


def whole_costs(run: Run) -> dict[str, Cost]:
    """Return what each kind of output cost, by the times of whole runs; with ranges if repeated."""
    found = costs_of_times(run.summary.get("times_all_s"))
    times = output_times(run)
    base = times.get(NONE)
    for name, seconds in times.items() if base else ():
        if name != NONE and base:
            cost = seconds / base - 1
            found.setdefault(name, Cost(cost, cost, cost))
    return found


def _limit(run: Run) -> str:
    """Return the rate and latency of the simulated shared file system; "" if there was none."""
    return str(run.summary.get("times_limit", ""))


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


def others(run: Run) -> str:
    """Return what others used of the machine while kinds of output were compared; "" if nothing."""
    found = run.summary.get("times_others", [])
    return ", and ".join(map(str, found)) if isinstance(found, list) else ""


def cards(run: Run) -> Iterable[tuple[str, str]]:
    """Yield the few figures at the top of the page: text and what it means."""
    yield from _cost_cards(run)
    yield from _output_cards(run.summary)
    own = application_of(run)
    yield from own.cards(run)
    grid = run.case.get("grid", {})
    n = int(grid.get("n", 0) or 0)
    extents = [int(grid.get(key, 0) or n) for key in ("nx", "ny", "nz")]
    if all(extents):
        cube = len(set(extents)) == 1
        yield f"{extents[0]}³" if cube else "×".join(map(str, extents)), own.POINTS
    if run.statistics:
        yield f"{run.statistics['time'][-1]:.4g}", "time reached"


def _cost_cards(run: Run) -> Iterable[tuple[str, str]]:
    """Yield what output cost: of whole runs that were compared, else as the run has measured it."""
    costs = whole_costs(run)
    repeated = all_times(run)
    for begin, where in ((SHARED, " to a shared file system (simulated)"), ("", "")):
        for kind in ("hidden", "servers", "synchronous"):
            cost = costs.get(begin + kind)
            if cost is None:
                continue
            to = where or (" to the disk of this machine" if _limit(run) else "")
            spread = f" {cost.range_text()}" if repeated else ""
            yield f"{100 * cost.median:+.1f} %", f"cost of {kind} output{to}{spread}"
    for mode, within in costs_of_modes(run.summary).items() if not costs else ():
        known = f"({100 * within.low:.1f} to {100 * within.high:.1f} %), measured within the run"
        yield f"{100 * within.fraction:.1f} %", f"cost of {mode} output {known}"


def _output_cards(summary: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield what output cost the simulation, and steps that are not as asked for."""
    output = summary.get("output")
    hidden = summary.get("hidden_fraction")
    write_s, wall_s = number(output, "write_s"), number(summary, "wall_s")
    if isinstance(hidden, int | float):
        if write_s is None or wall_s is None:
            yield f"{100 * hidden:.0f} %", "of the writing was hidden"
        elif write_s >= WORTH_HIDING * wall_s:
            yield f"{100 * hidden:.0f} %", f"of {seconds_text(write_s)} of writing was hidden"
    if not isinstance(output, dict):
        return
    for key, words in (("call_s", "spent in output calls"), ("stall_s", "waited for output")):
        if isinstance(output.get(key), int | float):
            yield seconds_text(output[key]), f"the simulation {words}"
    for key in LESS_THAN_ASKED:
        if output.get(key):
            yield str(output[key]), f"steps {key}"


def _text(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def save_picture(run: Run, path: Path) -> None:
    """Save one picture of the run for a front page: flow, timeline and output times."""
    by_track = tracks(run.events)
    front = application_of(run).front(run)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(12.5, 5.2), layout="constrained")
        parts: Any = figure.subfigures(1, 2, width_ratios=[1.0, 1.6])
        left, right = parts
        if front is not None:
            front(left.add_subplot())
        upper, lower = right.subplots(2, 1, height_ratios=[1.0, 1.2])
        window = close_up(run.events)
        if by_track:
            figures.draw_timeline(upper, by_track, window)
            figures.colour_legend(upper, ACTIVITY_COLOURS)
            upper.set_title("While one file is written" if window else "Where the time went")
        times = output_times(run)
        if times:
            _draw_times(lower, run)
            lower.set_title("Each kind of output")
            if _limit(run):
                words = f"time of the same steps [s]; shared: simulated, limited:{_limit(run)}"
                lower.set_xlabel(words)
        save_figure(figure, path)
