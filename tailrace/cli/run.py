# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace run``: a case on n ranks, with a progress bar."""

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli.ranks_option import RanksOption
from tailrace.errors import TailraceError
from tailrace.programs import shipped_cases
from tailrace.runs.simulation import Job, run_job

KEY = re.compile(r"\w+(\.\w+)+=")  # of a case, with the value that it is to have


def run(
    case: Annotated[
        list[str],
        typer.Argument(help="Case file, or the name of a shipped case."),
    ],
    ranks: RanksOption,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Override a key of the case."),
    ] = None,
    run_dir: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--run-dir",
            metavar="FOLDER",
            help="Folder of the results [default: runs/NAME-DATE-TIME].",
        ),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="OpenMP threads of each rank.")] = 1,
    servers: Annotated[
        str | None,
        typer.Option(help="Writers: hidden, none, thread, process, auto, N, 'N per node'."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run in an existing folder.")
    ] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Record the MPI calls for the report.")
    ] = False,
) -> None:
    """Run a case; SIGTERM or Ctrl-C ends it cleanly, with a last checkpoint.

    Example: tailrace run taylor_green -n 4 --set grid.n=128
    """
    if _is_program(case[0]):
        raise TailraceError(
            f"{case[0]}: is a program, not a case; run it by tailrace exec --with waiting -- "
            f"{case[0]}, or profile it by tailrace profile -- {case[0]}",
            status=2,
        )
    if len(case) > 1:
        keys = [word for word in case if KEY.match(word)]
        if keys:
            sets = " ".join(f"--set {shlex.quote(key)}" for key in keys)
            raise TailraceError(f"{keys[0]}: give a key of the case as {sets}", status=2)
        raise TailraceError(
            f"{case[1]}: give one case only; run your own program by tailrace exec --with waiting "
            "-- ./app",
            status=2,
        )
    given = [*(settings or []), *([f"output.servers={servers}"] if servers else [])]
    job = Job(case[0], ranks, threads, given, run_dir, overwrite=overwrite, profile=profile)
    status, folder = run_job(job)
    if status == 0:  # the program has said where its results are
        typer.echo(f"See them with: tailrace report {shlex.quote(str(folder))}")
    raise typer.Exit(status)


def _is_program(word: str) -> bool:
    """Tell whether a word that should be a case names a program: by its path, or on PATH."""
    path = Path(word)
    if word in shipped_cases() or path.suffix == ".toml" or path.is_dir():
        return False
    return os.access(path, os.X_OK) if path.exists() else shutil.which(word) is not None
