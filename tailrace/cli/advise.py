# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace advise``: which settings make a program faster, measured."""

import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace.advice.advise import advise as try_tips
from tailrace.advice.advise import as_data as advice_data
from tailrace.advice.advise import (
    build_line,
    launch_once,
    left_out,
    require_tips,
    summary,
    table,
    was_tried,
    winner_text,
)
from tailrace.advice.builds import Builds
from tailrace.advice.experiment import RunFailedError
from tailrace.advice.gain import Gain, gain_data, gain_text, measure_gain
from tailrace.advice.named import named_setting
from tailrace.advice.remembered import remember
from tailrace.advice.runner import Runner, command_text, make_runner
from tailrace.advice.statistics import LOOKS
from tailrace.advice.written_files import WrittenFiles
from tailrace.cli.console import make_console
from tailrace.cli.help_all import HelpAll
from tailrace.cli.json_option import JsonOption, prints_json, put_json, require_json_place
from tailrace.cli.ranks_option import RanksOption
from tailrace.errors import TailraceError
from tailrace.files import require_place, write_whole
from tailrace.launch.interrupts import ended_by_interrupts
from tailrace.profile.job import run_recorded
from tailrace.profile.record import read_records
from tailrace.profile.records import records_folder, require_all, why_none
from tailrace.profile.summary import summarize
from tailrace.progress import working

DEFAULT_SETTINGS = Path("tailrace-settings.toml")


def _option(text: str, *names: str, metavar: str, hidden: bool = False) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, hidden=hidden)


def advise(
    command: Annotated[
        list[str],
        typer.Argument(help="After --: the program and its arguments.", show_default=False),
    ],
    ranks: RanksOption,
    budget_s: Annotated[
        float, typer.Option("--budget", min=1, metavar="S", help="Time limit for the trials [s].")
    ] = 120,
    tips: Annotated[
        str, _option("Try only these tips, e.g. binding,malloc.", metavar="NAMES")
    ] = "",
    metric: Annotated[
        str,
        _option("Read the time from the output: 'Loop time of (\\S+)'.", metavar="REGEX"),
    ] = "",
    build: Annotated[
        str, _option("Build command, to try flags and compilers: 'make -B'.", metavar="COMMAND")
    ] = "",
    settings: Annotated[
        Path, _option("Write the best settings to this file.", metavar="FILE", hidden=True)
    ] = DEFAULT_SETTINGS,
    apply: Annotated[
        str | None,
        _option("Measure the gain of this file or name of exec --with.", metavar="FILE"),
    ] = None,
    rounds: Annotated[int | None, _option("With --apply: number of rounds.", metavar="N")] = None,
    report: Annotated[
        Path | None,
        _option("With --apply: write a page with gain and profile.", metavar="FILE"),
    ] = None,
    json_to: JsonOption = None,
    help_all: HelpAll = False,
) -> None:
    """Measure which settings make a program faster, and write them to a file.

    Example: tailrace advise -n 4 -- ./app input.txt
    """
    require_json_place(json_to)
    if build and apply is not None:
        raise TailraceError(
            "--build cannot be used with --apply, which runs the program as built", status=2
        )
    if apply is not None:
        runner = make_runner(ranks, command, metric)
        _check_gain(runner, apply, budget_s, rounds or 0, json_to, report)
        return
    if rounds is not None or report is not None:
        raise TailraceError("--rounds and --report need --apply", status=2)
    require_place(settings, "--settings")
    chosen = [word.strip() for word in tips.split(",") if word.strip()]
    require_tips(chosen)
    with working("advise") as tell, ExitStack() as stack:
        builds = stack.enter_context(Builds(build, command[0], tell)) if build else None
        runner = make_runner(ranks, command, metric, builds)
        tell("launch")
        advice = try_tips(runner, launch_once(runner, command), budget_s, chosen, tell)
        built = build_line(advice, runner)
        winner = advice.outcome.setting
        if winner is not None and winner.changes_the_run:
            text = winner_text(advice, runner, command)
            write_whole(settings, text)
            program = builds.program(winner.build) if builds else None
            remember(runner.program, command[1:], ranks, text, program)
    put_json(json_to, json.dumps(advice_data(advice) | ({"build": built} if built else {})))
    if prints_json(json_to):
        return
    console = make_console()
    if was_tried(advice):
        console.print(table(advice))
    for line in [*left_out(advice), "", *summary(advice)]:
        console.print(line, highlight=False)
    if built:
        typer.echo(f"Build it with:\n  {built}")
    if winner is not None and winner.changes_the_run:
        words = ["tailrace", "exec", "--with", str(settings), "-n", str(ranks), "--", *command]
        typer.echo(f"Apply it with:\n  {command_text(words)}")


def _check_gain(
    runner: Runner,
    apply: str,
    budget_s: float,
    rounds: int,
    json_to: Path | None,
    report: Path | None,
) -> None:
    """Run the program with and without settings, in rounds; print the gain."""
    if report is not None:
        require_place(report, "--report")
    if rounds and rounds < LOOKS[0]:
        raise TailraceError(f"--rounds {rounds}: at least {LOOKS[0]} are needed", status=2)
    setting = named_setting(apply, runner)
    if setting.changes_writing:
        runner.files = WrittenFiles(Path.cwd())
    try:
        with working("advise") as tell:
            gain = measure_gain(runner, setting, budget_s, time.monotonic, rounds, tell)
    except RunFailedError as error:
        raise TailraceError(f"program {runner.program}: {error}") from error
    made = len(gain.changed_s)
    if made < LOOKS[0]:
        raise TailraceError(
            f"--budget {budget_s:g}: too short for {LOOKS[0]} rounds of three runs ({made} were "
            "made)"
        )
    files = {"files": runner.files.data} if runner.files else {}
    put_json(json_to, json.dumps(gain_data(gain) | files))
    if not prints_json(json_to):
        typer.echo(gain_text(gain))
        if runner.files:
            typer.echo(runner.files.text)
    if report is not None:
        _write_gain(report, gain, runner)


def _write_gain(path: Path, gain: Gain, runner: Runner) -> None:
    """Record the program once, as it is; write its profile with the gain on top."""
    with ended_by_interrupts():  # matplotlib takes a second to load: only here
        from tailrace.report.gain import render_gain  # noqa: PLC0415
    with records_folder("advise") as folder:
        program = str(runner.program)
        run_recorded(runner.ranks, program, runner.arguments, folder, output=sys.stderr)
        records = read_records(folder)
        if not records:
            raise TailraceError(why_none(program, folder))
        require_all(len(records), records[0].facts["ranks"], runner.ranks, program, folder)
        with working("report"):
            page = render_gain(gain, summarize(records), runner.program.name)
    write_whole(path, page)
    typer.echo(f"Report: {path}", err=True)
