# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace run``: a case on n ranks, with a progress bar."""

import os
import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli.ranks_option import RanksOption
from tailrace.errors import TailraceError
from tailrace.runs.simulation import Job, run_job

# What is put before BLAS or LAPACK, and routines that show that a program has its own.
DENSE_LIBRARIES = {
    "refine": (
        "lapack",
        (
            "dgesv_",
            "dposv_",
            "dgels_",
            "zgesv_",
            "zposv_",
            "zgels_",
            "pdgesv_",
            "pdposv_",
            "pdgels_",
        ),
    ),
    "blas": ("blas", ("dgemm_", "sgemm_")),
}

KEY = re.compile(r"\w+(\.\w+)+=")  # of a case, with the value that it is to have


def run(
    case: Annotated[
        list[str],
        typer.Argument(help="Case file, or the name of a shipped case; PROGRAM ARGS with --with."),
    ],
    ranks: RanksOption,
    context: typer.Context,
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
    profile: Annotated[
        bool, typer.Option("--profile", help="Record its MPI calls, for the report.")
    ] = False,
    with_file: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="FILE",
            help="Settings of a program; blas, collectives, io, refine, "
            "remembered, sparse, waiting",
        ),
    ] = None,
) -> None:
    """Run a case; SIGTERM or Ctrl-C ends it cleanly, with a last checkpoint.

    Example: tailrace run taylor_green -n 4 --set grid.n=128
    """
    if with_file is not None:
        source = context.get_parameter_source("ranks")
        is_given = source is not None and source.name == "COMMANDLINE"
        raise typer.Exit(_run_with(with_file, ranks, case, is_given))
    if len(case) > 1:
        keys = [word for word in case if KEY.match(word)]
        if keys:
            sets = " ".join(f"--set {shlex.quote(key)}" for key in keys)
            raise TailraceError(f"{keys[0]}: a key of the case is given as {sets}", status=2)
        raise TailraceError(
            f"{case[1]}: one case is run at a time; for your own program use --with, as in "
            "tailrace run --with waiting -- ./app",
            status=2,
        )
    given = [*(settings or []), *([f"output.servers={servers}"] if servers else [])]
    job = Job(case[0], ranks, threads, given, run_dir, overwrite=overwrite, profile=profile)
    status, folder = run_job(job)
    if status == 0:  # the program has said where its results are
        typer.echo(f"See them with: tailrace report {shlex.quote(str(folder))}")
    raise typer.Exit(status)


def _run_dense(what: str, ranks: int, command: list[str], is_given: bool) -> int:
    """Run a program with our dgesv or dgemm before its own; one rank needs no launcher.

    A program without MPI is not started once for each task of a job, unless `ranks` `is_given`.
    """
    from tailrace.advice.runner import make_runner  # noqa: PLC0415
    from tailrace.advice.setting import Setting  # noqa: PLC0415
    from tailrace.launch.launcher import Launch  # noqa: PLC0415
    from tailrace.profile.job import (  # noqa: PLC0415
        check_program,
        family_of,
        find_dense_library,
        follow,
    )
    from tailrace.profile.symbols import defines  # noqa: PLC0415

    part, routines = DENSE_LIBRARIES[what]
    library = str(find_dense_library(part))
    before = os.environ.get("LD_PRELOAD")
    setting = Setting(what, {"LD_PRELOAD": f"{library}:{before}" if before else library})
    program = check_program(command[0])
    if defines(program, routines):
        typer.echo(
            f"tailrace: {program.name} contains its own {part.upper()}, whose calls cannot be "
            "seen; link it with the shared one",
            err=True,
        )
    if ranks > 1 and (is_given or family_of(program) is not None):
        runner = make_runner(ranks, command)
        return follow(runner.words(setting), runner.launch)
    words = [f"{name}={value}" for name, value in setting.environment.items()]
    return follow(["env", *words, str(program), *command[1:]], Launch("none", []))


def _run_with(what: str, ranks: int, command: list[str], is_given: bool) -> int:
    """Run a program with settings of a file or one of the plug-ins; return its exit status."""
    if what in DENSE_LIBRARIES:
        return _run_dense(what, ranks, command, is_given)
    from tailrace.advice.named import named_setting  # noqa: PLC0415
    from tailrace.advice.runner import make_runner  # noqa: PLC0415
    from tailrace.profile.job import follow  # noqa: PLC0415

    runner = make_runner(ranks, command)
    setting = named_setting(what, runner)
    return follow(runner.words(setting), runner.launch)
