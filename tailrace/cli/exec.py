# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace exec``: any program with measured settings, or with a library put before its own."""

import os
from typing import Annotated

import typer

from tailrace.cli.ranks_option import RanksOption
from tailrace.errors import TailraceError

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
            "pzgesv_",
            "pzposv_",
        ),
    ),
    "blas": ("blas", ("dgemm_", "sgemm_")),
}


def exec_(
    command: Annotated[
        list[str],
        typer.Argument(help="After --: the program and its arguments.", show_default=False),
    ],
    ranks: RanksOption,
    context: typer.Context,
    what: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="NAME",
            help="Settings file, or one of blas, collectives, hidden, io, refine, remembered, "
            "sparse, waiting.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Run any program with measured settings or a faster library, without a rebuild.

    \b
    waiting      ranks that share cores sleep while they wait
    collectives  faster collective calls        io      faster MPI-IO
    hidden       HDF5, netCDF and MPI-IO write while the program computes
    blas         faster BLAS calls              refine  faster dense solves
    sparse       faster sparse products and solves of PETSc and Epetra
    remembered   what tailrace advise found for this program

    Example: tailrace exec --with waiting -n 16 -- ./app
    """
    if not what:
        raise TailraceError(
            "give --with, e.g. --with waiting: a settings file, blas, collectives, hidden, "
            "io, refine, remembered, sparse or waiting",
            status=2,
        )
    source = context.get_parameter_source("ranks")
    is_given = source is not None and source.name == "COMMANDLINE"
    raise typer.Exit(_run_with(what, ranks, command, is_given))


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
            f"tailrace: {program.name} contains its own {part.upper()}, whose calls "
            "cannot be replaced; link the shared library",
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
    from tailrace.launch.launcher import Launch  # noqa: PLC0415
    from tailrace.profile.job import family_of, follow  # noqa: PLC0415

    runner = make_runner(ranks, command)
    setting = named_setting(what, runner)
    if what == "hidden":
        close = setting.environment["TAILRACE_IO_CLOSE"]
        meaning = {
            "later": "closing a file returns at once; a new file gets its name when it is complete",
            "wait": "closing a file waits until it is complete",
        }.get(close, "unknown value; wait is used")
        typer.echo(f"tailrace: TAILRACE_IO_CLOSE={close}: {meaning}", err=True)
        files = setting.environment["TAILRACE_IO_FILES"] or "none"
        typer.echo(
            f"tailrace: TAILRACE_IO_FILES={files}: writes by POSIX calls to these files are also "
            "hidden",
            err=True,
        )
        if ranks == 1 and not is_given and family_of(runner.program) is None:
            runner.launch = Launch("none", [])  # a program without MPI needs no launcher
    return follow(runner.words(setting), runner.launch)
