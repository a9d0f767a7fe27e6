# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace demo``: the same flow with each kind of output.

Output goes to the local disk as it is, and to a shared file system that the back end `limited`
simulates.
"""

import contextlib
import json
import math
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
from tailrace.programs import find_case, find_case_program
from tailrace.progress import Parts, duration
from tailrace.runs.output_cost import COSTS_WITHIN, CostWithin, typical
from tailrace.runs.output_modes import (
    AGAIN,
    KINDS,
    NONE,
    SHARED,
    Kinds,
    Round,
    cost_of,
    noise_text,
    others_used,
    run_rounds,
    run_to_end,
    shared_kinds,
    words_of,
)
from tailrace.runs.simulation import Job, check_run_dir, default_run_dir, effective_case

CASE = "taylor_green"
GRID = 64
END = 9.0
EVERY = 5
PIECE = 75
REPEATS = 5
LIMIT = "200M,2ms"  # synchronous output takes about as long as the steps between
QUICK = {"grid": 48, "end": 4.0, "piece": 30, "repeats": 3}  # about 20 s on two processors
REYNOLDS = 200  # which this grid resolves; other grids resolve more or less
STEP_TIMES_GRID = 1.28  # a time step of 0.02 on 64 points
FIELD_ITEM_BYTES = 3 * 4  # u, v, w in single precision


@dataclass(frozen=True)
class Plan:
    """The demo's run: computed once to its last piece, which is then run in each mode."""

    grid: int
    end: float
    every: int
    piece: int  # steps
    limit: str = LIMIT  # RATE[,LATENCY] of the simulated shared file system

    @property
    def step(self) -> float:
        """Time step."""
        return STEP_TIMES_GRID / self.grid

    @property
    def reynolds(self) -> int:
        """Reynolds number whose smallest eddies span as many points as those of GRID."""
        return max(10, 10 * round(REYNOLDS * math.pow(self.grid / GRID, 4 / 3) / 10))

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
            f"flow.reynolds={self.reynolds}",
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


def complete_summary(folder: Path, rounds: list[Round], limit: str, others: list[str]) -> None:
    """Put the times of all runs into the summary of the run that stays, and what disturbed them."""
    path = folder / "summary.json"
    summary: dict[str, Any] = json.loads(path.read_text())
    times = {name: [one[name].seconds for one in rounds] for name in rounds[0]}
    medians = {name: statistics.median(values) for name, values in times.items()}
    summary["times_s"] = {name: value for name, value in medians.items() if name != AGAIN}
    summary["times_all_s"] = times
    summary["times_limit"] = limit
    summary["times_others"] = others
    summary[COSTS_WITHIN] = {mode: asdict(cost) for mode, cost in costs_within(rounds).items()}
    write_whole(path, json.dumps(summary, indent=2) + "\n")


def costs_within(rounds: list[Round]) -> dict[str, CostWithin]:
    """Return what each kind of output cost, as the runs have measured it within themselves."""
    found = {}
    for name in rounds[0]:
        pieces = [one[name].within for one in rounds]
        cost = typical([piece for piece in pieces if piece])
        if cost and name not in (NONE, AGAIN):
            found[name] = cost
    return found


def show(console: Console, rounds: list[Round], limit: str, others: list[str]) -> None:
    """Print what output cost, then the times as a table, and the noise."""
    for begin, where in (
        (SHARED, f"a shared file system, simulated (back_end = limited:{limit})"),
        ("", "the disk of this machine"),
    ):
        hidden, synchronous = (cost_of(rounds, begin + kind) for kind in ("hidden", "synchronous"))
        typer.echo(
            f"Output to {where}: hidden {hidden.text()} run time, synchronous {synchronous.text()}"
        )
    table = Table(title="Seconds of a piece", title_justify="left", title_style="bold")
    for name in ("output", "to", "median", "cost", "lowest", "highest"):
        table.add_column(name, justify="left" if name in ("output", "to") else "right")
    for name in rounds[0]:
        to = "" if name in (NONE, AGAIN) else "shared" if name.startswith(SHARED) else "disk"
        figures = [f"{statistics.median(one[name].seconds for one in rounds):.2f}"]
        if name != NONE:
            cost = cost_of(rounds, name)
            figures += [f"{100 * part:+.1f} %" for part in (cost.median, cost.low, cost.high)]
        table.add_row(words_of(name), to, *figures)
    console.print(table)
    noise = noise_text({name: [one[name].seconds for one in rounds] for name in rounds[0]})
    typer.echo(noise.capitalize() + (f"; {others_text(others)}" if others else "."))


def others_text(others: list[str]) -> str:
    """Return what disturbed the rounds, as the end of a sentence."""
    return f"meanwhile {', and '.join(others)}: an idle machine gives narrower ranges."


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
    """Run the first part and the rounds under one bar; return them, and what disturbed them."""
    kinds = {**KINDS, **shared_kinds(plan.limit)}
    restarts = any(setting.startswith("restart.file=") for setting in job.settings)
    first = 0 if restarts else round(plan.begin / plan.step)
    pieces = repeats * len(kinds) * plan.piece
    with Parts("demo", first + pieces) as bar, _one_error(bar):
        if not restarts:
            alone = replace(job, display=lambda title: bar.part(title, first))
            checkpoint = first_part(alone, plan, folder)
            _tell_rest(folder, pieces, err)
            job = replace(job, settings=[*job.settings, f"restart.file={checkpoint}"])
        job = replace(job, display=lambda title: bar.part(title, plan.piece))
        return _run_pieces(job, plan, folder, repeats, kinds, err)


def _refuse_own_keys(settings: list[str]) -> None:
    """Refuse keys of the case that the demo has options for, whose texts would be wrong."""
    options = {"grid.n": "--grid", "time.end": "--end", "output.every": "--every"}
    for setting in settings:
        key, _, value = setting.partition("=")
        if option := options.get(key.strip()):
            raise TailraceError(f"--set {setting}: use {option} {value.strip()}")


def _check_limit(job: Job, limit: str) -> None:
    """Refuse a limit that the program does not take, before anything is run."""
    case = find_case(job.case)
    settings = [*job.settings, *shared_kinds(limit)[f"{SHARED}hidden"].settings]
    try:
        effective_case(find_case_program(case), case, job.ranks, settings)
    except TailraceError as error:
        raise TailraceError(f"--limit {limit}: {error}", error.status) from error


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
    job: Job, plan: Plan, folder: Path, repeats: int, kinds: Kinds, err: bool
) -> tuple[list[Round], list[str]]:
    job = replace(job, settings=[*job.settings, f"time.end={plan.end}"], overwrite=False)
    rounds: list[Round] = []

    def tell(number: int, found: Round) -> None:
        rounds.append(found)
        times = ", ".join(f"{name} {piece.seconds:.2f}" for name, piece in found.items())
        typer.echo(f"round {number + 1} of {repeats} [s]: {times}", err=err)

    run_rounds(job, folder, repeats, tell, kinds)
    others = others_used(rounds, num_cores(), job.ranks)
    complete_summary(folder, rounds, plan.limit, others)
    return rounds, others


def _duration_text(quick: bool) -> str:
    return "About 20 s" if quick else f"One to two minutes for {GRID}^3 points"


def _quick_values(context: typer.Context) -> dict[str, Any]:
    """Return the values of --quick for options that the user has not given."""
    sources = {name: context.get_parameter_source(name) for name in QUICK}
    given = {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    return {name: value for name, value in QUICK.items() if name not in given}


def demo(
    context: typer.Context,
    ranks: Annotated[int, typer.Option("-n", "--ranks", help="Number of MPI ranks.")] = 2,
    grid: Annotated[int, typer.Option(min=8, help="Grid points along each axis.")] = GRID,
    end: Annotated[
        float, typer.Option(min=0.0, max=1e6, help="Time at which the flow ends.")
    ] = END,
    every: Annotated[int, typer.Option(min=1, help="Steps between field files.")] = EVERY,
    piece: Annotated[int, typer.Option(min=1, help="Steps per kind of output.")] = PIECE,
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Rounds over all kinds.")] = REPEATS,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run for about 20 s, and save a picture.")
    ] = False,
    limit: Annotated[
        str,
        typer.Option(
            metavar="RATE[,LATENCY]", help="Rate and latency of the simulated file system."
        ),
    ] = LIMIT,
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
        bool, typer.Option("--overwrite", help="Replace the run in an existing folder.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Override a key of the case."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Also save a picture of the result to this file.")
    ] = None,
    json_to: JsonOption = None,
) -> None:
    """Run a flow with each kind of output, on a local and a simulated shared disk.

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
    if quick:
        values = {"grid": grid, "end": end, "piece": piece, "repeats": repeats}
        grid, end, piece, repeats = (values | _quick_values(context)).values()
        picture = picture or folder / "demo.png"
    plan = Plan(grid, end, every, piece, limit)
    _refuse_own_keys(settings or [])
    job = Job(str(find_case(CASE)), ranks, settings=[*plan.settings(), *(settings or [])])
    job = replace(job, overwrite=overwrite)
    check_run_dir(folder, "", overwrite)
    _check_limit(job, limit)
    typer.echo(
        f"Taylor-Green vortex, Re {plan.reynolds}, {grid}^3 points, {ranks} ranks: to "
        f"t = {plan.begin:.3g} once, then the {piece} steps to t = {end:g} {repeats} times with "
        f"each kind of output, a field file every {every} steps, to the disk as it is and to a "
        f"simulated shared file system ({limit}). {_duration_text(quick)} on two idle "
        f"processors; {plan.left_bytes / 1e6:.0f} MB stay in {folder}",
        err=as_json,
    )
    rounds, others = _measure(job, plan, folder, repeats, as_json)
    run = load_run(folder)
    text = resolution_text(run)
    if not as_json:
        show(Console(highlight=False, markup=False), rounds, limit, others)
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
