# SPDX-License-Identifier: BSD-3-Clause
"""The subcommands of studies of dense and sparse kernels and of two applications."""

from typing import Annotated

from bench.studies.options import ServersOptions, study
from tailrace.benchmarks.options import IoOptions, MovingOptions
from tailrace.cli.bench_options import (
    FOLDER,
    Edges,
    Entries,
    Folder,
    Json,
    NoOtherLibraries,
    Picture,
    Ranks,
    Repeats,
    Rounds,
    Steps,
    Threads,
    basic,
    option,
    words,
)
from tailrace.cli.bench_run import measure_bench


def dense(
    n: Edges = "",
    threads: Threads = 1,
    rounds: Rounds = 5,
    repeats: Repeats = 5,
    json: Json = None,
) -> None:
    """Solve dense systems; compare with LAPACK.

    Example: tailrace bench dense --points 1000,2000
    """
    measure_bench("dense", basic(n, "", rounds, repeats=repeats, threads=threads), json)


def blas(
    shapes: Annotated[str, option("MxNxK or MxNxK:TN, separated by commas.", metavar="TEXT")] = "",
    rounds: Rounds = 5,
    repeats: Repeats = 5,
    no_other_libraries: NoOtherLibraries = False,
    json: Json = None,
) -> None:
    """Multiply matrices; compare with OpenBLAS, MKL.

    Example: tailrace bench blas --shapes 100000x8x8,64x64x20000:TN
    """
    chosen = MovingOptions(patterns=words(shapes))
    options = basic(
        "", "", rounds, repeats=repeats, moving=chosen, other_libraries=not no_other_libraries
    )
    measure_bench("blas", options, json)


def sparse(
    matrices: Annotated[
        str,
        option("stencil7, stencil7v, blocks15, fem3, band21, short, power, drawn, FILE.mtx."),
    ] = "",
    operations: Annotated[
        str,
        option("multiply, formats (all), solve (ILU(0)), cg-jacobi, cg-icc0.", metavar="TEXT"),
    ] = "",
    n: Edges = "",
    rounds: Rounds = 5,
    repeats: Repeats = 5,
    json: Json = None,
    picture: Picture = None,
) -> None:
    """Multiply and solve; compare with PETSc, Eigen.

    Example: tailrace bench sparse --matrices band21,short --rounds 3
    """
    chosen = MovingOptions(patterns=words(matrices), methods=words(operations))
    measure_bench("sparse", basic(n, "", rounds, repeats=repeats, moving=chosen), json, picture)


def groundwater(
    n: Edges = "",
    ranks: Ranks = "",
    pflotran: Annotated[
        str,
        option("PFLOTRAN executable to compare with.", envvar="TAILRACE_PFLOTRAN", metavar="FILE"),
    ] = "",
    folder: Folder = FOLDER,
    rounds: Rounds = 5,
    json: Json = None,
) -> None:
    """Run a steady flow; compare with PFLOTRAN.

    Example: tailrace bench groundwater --points 100 --pflotran pflotran/src/pflotran/pflotran
    """
    options = study(n, ranks, rounds, folder=folder, pflotran=pflotran)
    measure_bench("groundwater", options, json)


def helium(
    n: Edges = "",
    ranks: Ranks = "",
    folder: Folder = FOLDER,
    steps: Steps = 225,
    every: Annotated[int, option("Steps between checkpoints.", min=1)] = 50,
    competitor: Annotated[bool, option("Repeat with a competing writer.", "--competitor")] = False,
    entries: Entries = "",
    rounds: Rounds = 5,
    json: Json = None,
) -> None:
    """Write checkpoints with every kind of server.

    Example: tailrace bench helium --ranks 2 --competitor
    """
    chosen = ServersOptions(every=every, competitor=competitor)
    options = study(
        n,
        ranks,
        rounds,
        folder=folder,
        steps=steps,
        io=IoOptions(entries=words(entries, ";")),
        servers=chosen,
    )
    measure_bench("helium", options, json)


COMMANDS = (dense, blas, sparse, groundwater, helium)
