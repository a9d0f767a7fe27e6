# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace demo``: the same flow with no output, hidden output and synchronous output."""

import json
import shutil
import statistics
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tailrace.errors import TailraceError
from tailrace.programs import find_case
from tailrace.simulation import Job, default_run_dir, run_job

CASE = "taylor_green"
MODES = ("none", "synchronous", "hidden")
GRID = 96
END = 10.0
EVERY = 5
STEP_TIMES_GRID = 1.28  # a time step of 0.02 on 64 points


def run_modes(job: Job, folder: Path, repeats: int) -> dict[str, list[float]]:
    """Run the case in each mode, interleaved, `repeats` times; return the seconds of each run.

    The results of the last hidden run stay in `folder`, the others in folders below it.
    """
    times: dict[str, list[float]] = {mode: [] for mode in MODES}
    for repeat in range(repeats):
        for mode in MODES:
            last = mode == "hidden" and repeat == repeats - 1
            where = folder if last else folder / "other" / f"{mode}-{repeat + 1}"
            settings = [*job.settings, f"output.mode={mode}"]
            title = f"{mode} output" if mode != "none" else "no output"
            status, _ = run_job(Job(job.case, job.ranks, job.threads, settings, where, title))
            if status != 0:
                raise TailraceError(f"the run with {title} ended with status {status}", status)
            times[mode].append(seconds_of(where, mode))
            if not last:  # their files have been timed; they need not fill the disk
                shutil.rmtree(where / "fields", ignore_errors=True)
    return times


def seconds_of(folder: Path, mode: str) -> float:
    """Return the seconds of a run's time loop (with its output), as the program measured them."""
    summary = json.loads((folder / "summary.json").read_text())
    try:
        return float(summary["times_s"][mode])
    except (KeyError, TypeError) as error:
        raise TailraceError(f"{folder}/summary.json: no times_s.{mode}") from error


def complete_summary(folder: Path, times: dict[str, list[float]]) -> dict[str, float]:
    """Put the times of all modes into the summary of the hidden run; return their medians."""
    path = folder / "summary.json"
    summary: dict[str, Any] = json.loads(path.read_text())
    medians = {mode: statistics.median(values) for mode, values in times.items()}
    summary["times_s"] = medians
    summary["times_all_s"] = times
    partial = path.with_suffix(".json.partial")
    partial.write_text(json.dumps(summary, indent=2) + "\n")
    partial.replace(path)
    return medians


def show(medians: dict[str, float], times: dict[str, list[float]]) -> None:
    """Print the times as a table."""
    table = Table(title="Time of the whole run", title_justify="left", title_style="bold")
    for name in ("output", "seconds", "to none", "min", "max"):
        table.add_column(name, justify="left" if name == "output" else "right")
    for mode in MODES:
        table.add_row(
            mode,
            f"{medians[mode]:.2f}",
            f"{medians[mode] / medians['none']:.3f}",
            f"{min(times[mode]):.2f}",
            f"{max(times[mode]):.2f}",
        )
    Console().print(table)


def demo(
    ranks: Annotated[int, typer.Option("-n", "--ranks", help="Number of MPI ranks.")] = 2,
    grid: Annotated[int, typer.Option(help="Grid points along each axis.")] = GRID,
    end: Annotated[float, typer.Option(help="Time at which the flow ends.")] = END,
    every: Annotated[int, typer.Option(help="Steps between field files.")] = EVERY,
    repeats: Annotated[int, typer.Option(min=1, help="Interleaved runs of each mode.")] = 1,
    run_dir: Annotated[
        Path | None, typer.Option(help="Folder of the results [default: runs/demo-DATE-TIME].")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Override a key of the case."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Also save one picture of the result here.")
    ] = None,
) -> None:
    """Run Taylor-Green at Re 1600 with output none, synchronous and hidden, and report."""
    from tailrace.report.page import render, save_picture  # noqa: PLC0415
    from tailrace.runs import load_run  # noqa: PLC0415

    folder = run_dir or default_run_dir(Path("demo.toml"))
    chosen = [
        f"grid.n={grid}",
        f"time.step={STEP_TIMES_GRID / grid}",
        f"time.end={end}",
        f"output.every={every}",
        "output.precision=single",
        "trace.spans=400000",
        *(settings or []),
    ]
    job = Job(str(find_case(CASE)), ranks, settings=chosen)
    typer.echo(
        f"Taylor-Green vortex, Re 1600, {grid}^3 points to t = {end:g} on {ranks} ranks, "
        f"a field file every {every} steps"
    )
    times = run_modes(job, folder, repeats)
    show(complete_summary(folder, times), times)
    run = load_run(folder)
    page = folder / "report.html"
    page.write_text(render(run))
    typer.echo(f"Report: {page}")
    if picture:
        save_picture(run, picture)
        typer.echo(f"Picture: {picture}")
