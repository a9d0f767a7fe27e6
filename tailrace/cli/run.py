# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace run``: a case, on so many ranks, with a progress bar."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from tailrace.simulation import Job, run_job


def run(
    case: Annotated[str, typer.Argument(help="Case file, or the name of a shipped case.")],
    ranks: Annotated[int, typer.Option("-n", "--ranks", help="Number of MPI ranks.")] = 1,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Override a key of the case."),
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option(help="Folder of the results [default: runs/NAME-DATE-TIME].")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="OpenMP threads of each rank.")] = 1,
    servers: Annotated[
        str | None,
        typer.Option(help="Who writes: none, thread, process, auto, N or 'N per node'."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Start afresh in a folder that holds a run.")
    ] = False,
) -> None:
    """Run a case. SIGTERM or Ctrl-C writes a last checkpoint and ends the run cleanly.

    Example: tailrace run taylor_green -n 4 --set grid.n=128
    """
    given = [*(settings or []), *([f"output.servers={servers}"] if servers else [])]
    status, folder = run_job(Job(case, ranks, threads, given, run_dir, overwrite=overwrite))
    if status == 0:  # the program has said where its results are
        typer.echo(f"See them with: tailrace report {shlex.quote(str(folder))}")
    raise typer.Exit(status)
