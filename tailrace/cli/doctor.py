# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace doctor``: is a program launched right."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tailrace.advice.advise import LAUNCH_SETTINGS
from tailrace.advice.finding import SEVERITIES
from tailrace.advice.launch import launch_of_run, launcher_name
from tailrace.advice.launch_report import as_data, as_text, find_all
from tailrace.cli.json_option import JsonOption, prints_json, put_json, require_json_place
from tailrace.cli.ranks_option import RanksOption
from tailrace.errors import TailraceError
from tailrace.profile.job import check_program, choose_launcher, run_recorded
from tailrace.profile.records import records_folder


def doctor(
    command: Annotated[
        list[str],
        typer.Argument(help="After --: the program and its arguments.", show_default=False),
    ],
    ranks: RanksOption,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="SEVERITY",
            help=f"Exit with status 1 at or above: {', '.join(SEVERITIES)} or never.",
        ),
    ] = "error",
    json_to: JsonOption = None,
) -> None:
    """Check whether a program is launched correctly: ranks, nodes, cores, threads, MPI.

    Runs the program once. The exit status is the program's if it fails.

    Example: tailrace doctor -n 4 -- ./app input.txt
    """
    if fail_on not in (*SEVERITIES, "never"):
        raise TailraceError(
            f"--fail-on {fail_on}: expected one of {', '.join(SEVERITIES)}, never", status=2
        )
    require_json_place(json_to)
    raise typer.Exit(_judge_launch(command, ranks, fail_on, json_to))


def _judge_launch(command: list[str], ranks: int, fail_on: str, json_to: Path | None) -> int:
    """Run the program once and judge its launch; return the exit status."""
    launcher = launcher_name(choose_launcher(ranks, check_program(command[0]))[1])
    with records_folder("doctor") as folder:
        output = sys.stderr if prints_json(json_to) else None
        status = run_recorded(ranks, command[0], command[1:], folder, LAUNCH_SETTINGS, output)
        try:
            found = launch_of_run(folder, ranks, command[0], launcher)
        except TailraceError as error:
            raise TailraceError(str(error), status=status or 1) from error
    findings = find_all(found)
    put_json(json_to, json.dumps(as_data(found, findings)))
    if not prints_json(json_to):
        typer.echo(as_text(found, findings, command[0]), nl=False)
    if status != 0:
        return status
    bad = fail_on != "never" and any(one.level >= SEVERITIES.index(fail_on) for one in findings)
    return 1 if bad else 0
