# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace check``: is a program launched right, and which settings make it faster."""

import json
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace.advice.advise import (
    LAUNCH_SETTINGS,
    advise,
    build_line,
    launch_once,
    left_out,
    summary,
    table,
    was_tried,
    winner_text,
)
from tailrace.advice.advise import as_data as advice_data
from tailrace.advice.builds import Builds
from tailrace.advice.experiment import Experiment, RunFailedError
from tailrace.advice.finding import SEVERITIES
from tailrace.advice.launch import read_launch
from tailrace.advice.launch_report import as_data, as_text, find_all
from tailrace.advice.remembered import remember
from tailrace.advice.runner import command_text, make_runner
from tailrace.advice.setting import read_settings
from tailrace.advice.statistics import LOOKS
from tailrace.benchmarks.report import make_console
from tailrace.errors import TailraceError
from tailrace.files import require_place, write_whole
from tailrace.profile.job import run_recorded
from tailrace.progress import working

DEFAULT_SETTINGS = Path("tailrace-settings.toml")


def _option(text: str, *names: str, metavar: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=text)


def check(
    command: Annotated[list[str], typer.Argument(help="-- PROGRAM ARGS", show_default=False)],
    launch: Annotated[
        bool, typer.Option("--launch", help="Run it once: is it launched right?")
    ] = False,
    ranks: Annotated[int, typer.Option("-n", "--ranks", help="Number of MPI ranks.")] = 1,
    fail_on: Annotated[
        str, _option("--launch: status 1 from info, warning, error.", metavar="SEVERITY")
    ] = "error",
    budget_s: Annotated[
        float, typer.Option("--budget", min=1, help="Seconds for trying settings.")
    ] = 120,
    tips: Annotated[str, _option("Only these, as in binding,malloc.", metavar="NAMES")] = "",
    metric: Annotated[
        str, _option("Time from its output: 'Loop time of (\\S+)'.", metavar="REGEX")
    ] = "",
    build: Annotated[
        str, _option("Also try flags and compilers with it: 'make -B'.", metavar="COMMAND")
    ] = "",
    settings: Annotated[
        Path, _option("Where the winners are written.", metavar="FILE")
    ] = DEFAULT_SETTINGS,
    apply: Annotated[
        Path | None, _option("Measure the gain of these settings.", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say whether a program is launched right, and what makes it faster.

    Example: tailrace check -n 4 -- ./app input.txt
    """
    if fail_on not in (*SEVERITIES, "never"):
        raise TailraceError(
            f"--fail-on {fail_on}: expected one of {', '.join(SEVERITIES)}, never", status=2
        )
    if build and (launch or apply is not None):
        raise TailraceError(
            "--build: not with --launch or --apply, which run what is there", status=2
        )
    if launch:
        raise typer.Exit(_check_launch(command, ranks, fail_on, as_json))
    if apply is not None:
        _apply(command, ranks, apply, budget_s, metric, as_json)
        return
    require_place(settings, "--settings")
    chosen = [word.strip() for word in tips.split(",") if word.strip()]
    with working("check") as tell, ExitStack() as stack:
        builds = stack.enter_context(Builds(build, command[0], tell)) if build else None
        runner = make_runner(ranks, command, metric, builds)
        tell("launch")
        advice = advise(runner, launch_once(ranks, command), budget_s, chosen, tell)
        built = build_line(advice, runner)
        winner = advice.outcome.setting
        if winner is not None and winner.changes_the_run:
            text = winner_text(advice, runner, command)
            write_whole(settings, text)
            program = builds.program(winner.build) if builds else None
            remember(runner.program, command[1:], ranks, text, program)
    if as_json:
        typer.echo(json.dumps(advice_data(advice) | ({"build": built} if built else {})))
        return
    console = make_console()
    if was_tried(advice):
        console.print(table(advice))
    for line in [*left_out(advice), "", *summary(advice)]:
        console.print(line, highlight=False)
    if built:
        typer.echo(f"Build it with:\n  {built}")
    if winner is not None and winner.changes_the_run:
        words = ["tailrace", "run", "--with", str(settings), "-n", str(ranks), "--", *command]
        typer.echo(f"Apply it with:\n  {command_text(words)}")


def _check_launch(command: list[str], ranks: int, fail_on: str, as_json: bool) -> int:
    """Run the program once and judge its launch; return the exit status."""
    with tempfile.TemporaryDirectory(prefix="tailrace-check-") as temporary:
        folder = Path(temporary)
        output = sys.stderr if as_json else None
        status = run_recorded(ranks, command[0], command[1:], folder, LAUNCH_SETTINGS, output)
        found = read_launch(folder, ranks)
    if found is None:
        raise TailraceError(
            f"program {command[0]}: no facts: it did not call MPI_Init of the MPI library that "
            "its launcher starts (no MPI program, another MPI, or one that is linked statically)"
        )
    findings = find_all(found)
    if as_json:
        typer.echo(json.dumps(as_data(found, findings)))
    else:
        typer.echo(as_text(found, findings, command[0]), nl=False)
    if status != 0:
        return status
    bad = fail_on != "never" and any(one.level >= SEVERITIES.index(fail_on) for one in findings)
    return 1 if bad else 0


def _apply(
    command: list[str], ranks: int, file: Path, budget_s: float, metric: str, as_json: bool
) -> None:
    """Run the program with and without the settings of a file, in pairs; print the gain."""
    setting = read_settings(file)
    runner = make_runner(ranks, command, metric)
    try:
        with working("check") as tell:
            experiment = Experiment(runner, budget_s, time.monotonic, tell=tell)
            found = experiment.pairs(setting)
    except RunFailedError as error:
        raise TailraceError(f"program {command[0]}: {error}") from error
    if found is None:
        raise TailraceError(
            f"--budget {budget_s:g}: too short for {LOOKS[0]} pairs of runs "
            f"({experiment.runs} runs were made)"
        )
    if as_json:
        gain = {"gain": 1 / found.ratio, "low": 1 / found.high, "pairs": found.pairs}
        typer.echo(json.dumps({**gain, "high": 1 / found.low if found.low else None}))
        return
    typer.echo(f"{setting.text or 'nothing is set'}")
    if found.wins:
        typer.echo(f"gains {found.text}, median of {found.pairs} pairs with its 99 % interval")
    else:
        typer.echo(f"no effect here: {1 / found.ratio:.2f}x in the median of {found.pairs} pairs")
