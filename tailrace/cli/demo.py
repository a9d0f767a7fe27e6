# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace demo``: the same flow with no output, hidden output and synchronous output."""

import contextlib
import json
import os
import shlex
import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tailrace.cli.json_option import JsonOption, prints_json, put_json, require_json_place
from tailrace.errors import TailraceError
from tailrace.files import require_picture, require_place, write_whole
from tailrace.launch.interrupts import ended_by_interrupts
from tailrace.launch.machine_load import num_cores
from tailrace.programs import find_case
from tailrace.progress import Parts, duration
from tailrace.runs.output_cost import COSTS_WITHIN, CostWithin, typical
from tailrace.runs.output_modes import MODES, Round, cost_of, doubts, run_rounds, run_to_end
from tailrace.runs.simulation import Job, check_run_dir, default_run_dir

CASE = "taylor_green"
GRID = 96
END = 9.0
EVERY = 5
PIECE = 75
REPEATS = 5
STEP_TIMES_GRID = 1.28  # a time step of 0.02 on 64 points
FIELD_ITEM_BYTES = 3 * 4  # u, v, w in single precision


@dataclass(frozen=True)
class Plan:
    """The demo's run: computed once to its last piece, which is then run in each mode."""

    grid: int
    end: float
    every: int
    piece: int  # steps

    @property
    def step(self) -> float:
        """Time step."""
        return STEP_TIMES_GRID / self.grid

    @property
    def begin(self) -> float:
        """Time at which the piece begins."""
        return max(0.0, self.end - self.piece * self.step)

    @property
    def left_bytes(self) -> int:
        """About what the demo leaves on the disk: the field files of one piece."""
        files = self.piece // self.every + 1  # and the last one
        return files * self.grid**3 * FIELD_ITEM_BYTES

    def settings(self) -> list[str]:
        """Return the keys of the case."""
        return [
            f"grid.n={self.grid}",
            f"time.step={self.step}",
            f"output.every={self.every}",
            "output.precision=single",
            "trace.spans=400000",
        ]


def first_part(job: Job, plan: Plan, folder: Path) -> Path:
    """Compute the flow up to the piece, without output; return its checkpoint."""
    title = f"to t = {plan.begin:.3g}"
    settings = [f"time.end={plan.begin}", "output.every=0", "checkpoint.at_end=true"]
    run_to_end(job, folder, settings, title)
    found = sorted(folder.glob("checkpoint_*.h5"))
    if not found:
        raise TailraceError(f"{folder}: the run {title} has left no checkpoint")
    return found[-1]


def complete_summary(folder: Path, rounds: list[Round], reasons: list[str]) -> None:
    """Put the times of all runs into the summary of the hidden run, and what they are worth."""
    path = folder / "summary.json"
    summary: dict[str, Any] = json.loads(path.read_text())
    times = {mode: [one[mode].seconds for one in rounds] for mode in MODES}
    summary["times_s"] = {mode: statistics.median(values) for mode, values in times.items()}
    summary["times_all_s"] = times
    summary["times_doubts"] = reasons
    summary[COSTS_WITHIN] = {mode: asdict(cost) for mode, cost in costs_within(rounds).items()}
    write_whole(path, json.dumps(summary, indent=2) + "\n")


def costs_within(rounds: list[Round]) -> dict[str, CostWithin]:
    """Return what each kind of output cost, as the runs have measured it within themselves."""
    found = {}
    for mode in MODES:
        pieces = [one[mode].within for one in rounds]
        cost = typical([piece for piece in pieces if piece])
        if cost and mode != "none":
            found[mode] = cost
    return found


def show(console: Console, rounds: list[Round], reasons: list[str]) -> None:
    """Print the times as a table, and what they say."""
    table = Table(title="Seconds of a piece", title_justify="left", title_style="bold")
    within = costs_within(rounds)
    for name in ("output", "median", "min", "max", "cost", "of pairs"):
        table.add_column(name, justify="left" if name == "output" else "right")
    for mode in MODES:
        times = [one[mode].seconds for one in rounds]
        cost = cost_of(rounds, mode)
        words = ["", ""]
        if mode != "none":
            words = [f"{100 * cost.median:+.1f} %", _range(cost.low, cost.high)]
            words = [f"({word})" if reasons else word for word in words]
        figures = (statistics.median(times), min(times), max(times))
        table.add_row(mode, *(f"{value:.2f}" for value in figures), *words)
    console.print(table)
    for mode, cost_within in within.items():
        typer.echo(f"Cost of {mode} output, measured within the runs: {cost_within.text()}")
    if reasons:
        typer.echo(
            "The machine was too busy to compare whole runs: "
            + "; ".join(reasons)
            + ("." if within else ". Repeat it when the machine is idle.")
        )


def _range(low: float, high: float) -> str:
    return f"{100 * low:+.1f} .. {100 * high:+.1f} %"


def _tell_rest(folder: Path, steps: int, err: bool) -> None:
    """Say how long the rounds will take, from the steps that have been taken."""
    summary = json.loads((folder / "summary.json").read_text())
    step_s = (summary.get("seconds_per_step") or {}).get("median")
    if step_s:
        typer.echo(
            f"{1e3 * step_s:.0f} ms per step: about {duration(steps * step_s)} more", err=err
        )


def _measure(
    job: Job, plan: Plan, folder: Path, repeats: int, err: bool
) -> tuple[list[Round], list[str]]:
    """Run the first part and the rounds under one bar; return them, and why to doubt them."""
    load = os.getloadavg()[0]
    restarts = any(setting.startswith("restart.file=") for setting in job.settings)
    first = 0 if restarts else round(plan.begin / plan.step)
    pieces = repeats * len(MODES) * plan.piece
    with Parts("demo", first + pieces) as bar, _one_error(bar):
        if not restarts:
            alone = replace(job, display=lambda title: bar.part(title, first))
            checkpoint = first_part(alone, plan, folder)
            _tell_rest(folder, pieces, err)
            job = replace(job, settings=[*job.settings, f"restart.file={checkpoint}"])
        job = replace(job, display=lambda title: bar.part(title, plan.piece))
        return _run_pieces(job, plan, folder, repeats, load, err)


def _refuse_own_keys(settings: list[str]) -> None:
    """Refuse keys of the case that the demo has options for, whose texts would be wrong."""
    options = {"grid.n": "--grid", "time.end": "--end", "output.every": "--every"}
    for setting in settings:
        key, _, value = setting.partition("=")
        if option := options.get(key.strip()):
            raise TailraceError(f"--set {setting}: use {option} {value.strip()}")


@contextlib.contextmanager
def _one_error(bar: Parts) -> Iterator[None]:
    """Let an error say what the run has said, too, in one line."""
    try:
        yield
    except TailraceError as error:
        words = bar.failure.removeprefix("tailrace-turbulence: error: ")
        text = f"{error}: {words}" if words else str(error)
        raise TailraceError(text, error.status) from error


def _run_pieces(
    job: Job, plan: Plan, folder: Path, repeats: int, load: float, err: bool
) -> tuple[list[Round], list[str]]:
    job = replace(job, settings=[*job.settings, f"time.end={plan.end}"], overwrite=False)
    rounds: list[Round] = []

    def tell(number: int, found: Round) -> None:
        rounds.append(found)
        times = ", ".join(f"{mode} {found[mode].seconds:.2f} s" for mode in MODES)
        typer.echo(f"round {number + 1} of {repeats}: {times}", err=err)

    run_rounds(job, folder, repeats, tell)
    cores = num_cores()
    reasons = doubts(rounds, cores, job.ranks)
    if reasons and load > cores / 2:
        reasons.append(f"the load was {load:.1f} before it began")
    complete_summary(folder, rounds, reasons)
    return rounds, reasons


def demo(
    ranks: Annotated[int, typer.Option("-n", "--ranks", help="Number of MPI ranks.")] = 2,
    grid: Annotated[int, typer.Option(min=8, help="Grid points along each axis.")] = GRID,
    end: Annotated[float, typer.Option(min=0.0, max=1e6, help="End of the flow's time.")] = END,
    every: Annotated[int, typer.Option(min=1, help="Steps between field files.")] = EVERY,
    piece: Annotated[int, typer.Option(min=1, help="Last steps, which run in each mode.")] = PIECE,
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Rounds of all modes.")] = REPEATS,
    run_dir: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--run-dir",
            metavar="FOLDER",
            help="Folder of the results [default: runs/demo-DATE-TIME].",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Start afresh in a folder that holds a run.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Override a key of the case."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Also save one picture of the result here.")
    ] = None,
    json_to: JsonOption = None,
) -> None:
    """Run Taylor-Green at Re 1600 with each kind of output: none, synchronous, hidden.

    Example: tailrace demo --grid 64 --repeats 3
    """
    with ended_by_interrupts():
        import tailrace.apps.turbulence.report  # noqa: F401, PLC0415  (the page needs it)
        from tailrace.apps.turbulence.resolution import resolution_text  # noqa: PLC0415
        from tailrace.report.page import render, save_picture  # noqa: PLC0415
        from tailrace.runs.folder import load_run  # noqa: PLC0415

    folder = run_dir or default_run_dir(Path("demo.toml"))
    as_json = prints_json(json_to)
    require_json_place(json_to)
    if picture:
        require_picture(picture)
        require_place(picture, "--picture")
    plan = Plan(grid, end, every, piece)
    _refuse_own_keys(settings or [])
    job = Job(str(find_case(CASE)), ranks, settings=[*plan.settings(), *(settings or [])])
    job = replace(job, overwrite=overwrite)
    check_run_dir(folder, "", overwrite)
    typer.echo(
        f"Taylor-Green vortex, Re 1600, {grid}^3 points, {ranks} ranks: to t = {plan.begin:.3g} "
        f"once, then the {piece} steps to t = {end:g} {repeats} times with each kind of output, "
        f"a field file every {every} steps. One to two minutes for 96^3 points on two idle "
        f"processors; {plan.left_bytes / 1e6:.0f} MB stay in {folder}",
        err=as_json,
    )
    rounds, reasons = _measure(job, plan, folder, repeats, as_json)
    run = load_run(folder)
    text = resolution_text(run)
    if not as_json:
        show(Console(highlight=False, markup=False), rounds, reasons)
    if text:
        typer.echo(text, err=as_json)
    page = folder / "report.html"
    write_whole(page, render(run))
    typer.echo(f"Report: {page}", err=as_json)
    typer.echo(f"Remove all of it with: rm -r {shlex.quote(str(folder))}", err=as_json)
    if picture:
        save_picture(run, picture)
        typer.echo(f"Picture: {picture}", err=as_json)
    keys = (*(key for key in run.summary if key.startswith("times_")), COSTS_WITHIN)
    times = {key: run.summary[key] for key in keys}
    put_json(json_to, json.dumps({"folder": str(folder), "report": str(page), **times}, indent=2))
