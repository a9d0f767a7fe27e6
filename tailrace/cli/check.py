# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace check``: is a program launched right, and which settings make it faster."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tailrace.advice.finding import SEVERITIES
from tailrace.advice.launch import read_launch
from tailrace.advice.launch_report import as_data, as_text, find_all
from tailrace.errors import TailraceError
from tailrace.profile.job import run_recorded


def check(
    command: Annotated[list[str], typer.Argument(help="-- PROGRAM ARGS", show_default=False)],
    launch: Annotated[
        bool, typer.Option("--launch", help="Run it once: is it launched right?")
    ] = False,
    ranks: Annotated[int, typer.Option("-n", "--ranks", help="Number of MPI ranks.")] = 1,
    fail_on: Annotated[
        str, typer.Option(metavar="SEVERITY", help="Status 1 from: info, warning, error, never.")
    ] = "error",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say whether a program is launched right, and what makes it faster.

    Example: tailrace check --launch -n 4 -- ./app input.txt
    """
    if fail_on not in (*SEVERITIES, "never"):
        raise TailraceError(
            f"--fail-on {fail_on}: expected one of {', '.join(SEVERITIES)}, never", status=2
        )
    if not launch:
        raise TailraceError("say what to check: --launch", status=2)
    raise typer.Exit(_check_launch(command, ranks, fail_on, as_json))


def _check_launch(command: list[str], ranks: int, fail_on: str, as_json: bool) -> int:
    """Run the program once and judge its launch; return the exit status."""
    with tempfile.TemporaryDirectory(prefix="tailrace-check-") as temporary:
        folder = Path(temporary)
        output = sys.stderr if as_json else None
        setting = ["TAILRACE_LAUNCH_FACTS=1", "TAILRACE_PROFILE_EVENTS=0"]
        status = run_recorded(ranks, command[0], command[1:], folder, setting, output)
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
