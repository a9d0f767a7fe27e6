# SPDX-License-Identifier: BSD-3-Clause
"""The subcommands of ``tailrace bench`` for the studies."""

from collections.abc import Callable
from typing import Annotated

import typer

from bench.studies import solver_commands
from bench.studies.options import ServersOptions, study
from tailrace.benchmarks.options import IoOptions
from tailrace.cli.bench_options import (
    FOLDER,
    Bus,
    Compute,
    ComputeOption,
    ComputeS,
    Edges,
    Entries,
    Folder,
    Json,
    Methods,
    Nodes,
    NoOtherLibraries,
    Picture,
    Precision,
    PrecisionOption,
    Ranks,
    Repeats,
    Rounds,
    Steps,
    Threads,
    Throttle,
    basic,
    moving,
    numbers,
    option,
    words,
)
from tailrace.cli.bench_run import measure_bench
from tailrace.cli.help_all import HelpAll


def step(
    n: Edges = "",
    ranks: Ranks = "",
    precision: PrecisionOption = Precision.double,
    threads: Threads = 1,
    fluidsim_python: Annotated[
        str, option("Python interpreter with fluidsim, to compare with.", metavar="TEXT")
    ] = "",
    rounds: Rounds = 5,
    repeats: Repeats = 5,
    no_other_libraries: NoOtherLibraries = False,
    bus: Bus = 0,
    json: Json = None,
) -> None:
    """Time a dealiased RK4 step; compare with fluidsim.

    Example: tailrace bench step --points 128 --ranks 2
    """
    options = study(
        n,
        ranks,
        rounds,
        repeats=repeats,
        precision=precision.value,
        threads=threads,
        fluidsim_python=fluidsim_python,
        other_libraries=not no_other_libraries,
        bus=bus,
    )
    measure_bench("step", options, json)


def servers(
    n: Edges = "",
    ranks: Ranks = "",
    servers: Annotated[int, option("Ranks that serve.", min=1)] = 1,
    shapes: Annotated[str, option("slab, pencil or both.", metavar="TEXT")] = "",
    folder: Folder = FOLDER,
    throttle: Throttle = "",
    fractions: Annotated[
        str,
        option(
            "Also limit the disk to 1/2, 1/4, ... of its speed: 2,4.", metavar="TEXT", hidden=True
        ),
    ] = "",
    steps: Steps = 4,
    every: Annotated[int, option("Steps between outputs.", min=1)] = 1,
    compute_s: ComputeS = 0.7,
    compute: ComputeOption = Compute.work,
    calls: Annotated[int, option("Calls of progress per step.", min=1, hidden=True)] = 4,
    halo: Annotated[
        int, option("Doubles sent to neighbours at each call.", min=0, hidden=True)
    ] = 0,
    competitor: Annotated[
        bool, option("Repeat with a competing writer.", "--competitor", hidden=True)
    ] = False,
    idle_s: Annotated[
        float,
        option("Time for which idle servers are observed.", metavar="SECONDS", min=0, hidden=True),
    ] = 1,
    entries: Entries = "",
    no_other_libraries: NoOtherLibraries = False,
    rounds: Rounds = 5,
    json: Json = None,
    picture: Picture = None,
    help_all: HelpAll = False,
) -> None:
    """Run every kind of server; compare with ADIOS2.

    Example: tailrace bench servers --folder /scratch/me --rounds 3
    """
    chosen = ServersOptions(
        servers=servers,
        shapes=words(shapes),
        every=every,
        calls=calls,
        halo=halo,
        fractions=numbers(fractions, "--fractions"),
        competitor=competitor,
        idle_s=idle_s,
    )
    options = study(
        n,
        ranks,
        rounds,
        folder=folder,
        throttle=throttle,
        steps=steps,
        compute_s=compute_s,
        compute=compute.value,
        other_libraries=not no_other_libraries,
        io=IoOptions(entries=words(entries, ";")),
        servers=chosen,
    )
    measure_bench("servers", options, json, picture)


def allreduce(
    patterns: Annotated[str, option("allreduce, reduce, barrier, many.", metavar="TEXT")] = "",
    sizes: Annotated[str, option("Bytes, as in 8,4k,1M; full: 8 to 64M.", metavar="TEXT")] = "",
    ranks: Ranks = "",
    nodes: Nodes = 1,
    method: Methods = "",
    entries: Entries = "",
    rounds: Rounds = 5,
    repeats: Repeats = 5,
    no_other_libraries: NoOtherLibraries = False,
    json: Json = None,
    picture: Picture = None,
) -> None:
    """Reduce by every method; compare with MPI.

    Example: tailrace bench allreduce --patterns barrier --ranks 2,4
    """
    chosen = moving(patterns, sizes, method, entries, nodes)
    options = basic(
        "", ranks, rounds, repeats=repeats, other_libraries=not no_other_libraries, moving=chosen
    )
    measure_bench("allreduce", options, json, picture)


def scale(
    patterns: Annotated[
        str, option("torus, dragonfly, fat_tree, slab, pull.", metavar="TEXT")
    ] = "",
    sizes: Annotated[str, option("Bytes of a pair, as in 8,4k,1M.", metavar="TEXT")] = "",
    ranks: Ranks = "",
    method: Methods = "",
    entries: Entries = "",
    rounds: Rounds = 5,
    json: Json = None,
    picture: Picture = None,
) -> None:
    """Run the methods on simulated machines.

    Example: tailrace bench scale --patterns torus --picture map.png
    """
    chosen = moving(patterns, sizes, method, entries, 1)
    measure_bench("scale", basic("", ranks, rounds, moving=chosen), json, picture)


def tune(
    ranks: Ranks = "",
    rounds: Rounds = 5,
    json: Json = None,
) -> None:
    """Compare the tuner's choices with every method.

    Example: tailrace bench tune --rounds 1 --ranks 2
    """
    measure_bench("tune", basic("", ranks, rounds), json)


def bindings(
    ranks: Ranks = "",
    rounds: Rounds = 5,
    repeats: Repeats = 5,
    json: Json = None,
) -> None:
    """Time calls from C, Fortran and Python.

    Example: tailrace bench bindings --ranks 1,2
    """
    measure_bench("bindings", basic("", ranks, rounds, repeats=repeats), json)


def memory_bandwidth(
    ranks: Ranks = "",
    rounds: Rounds = 5,
    repeats: Repeats = 5,
    bus: Bus = 0,
    json: Json = None,
) -> None:
    """Copy, scale and add arrays larger than the caches.

    Example: tailrace bench memory-bandwidth --ranks 1,2
    """
    measure_bench("memory-bandwidth", basic("", ranks, rounds, repeats=repeats, bus=bus), json)


def memory(
    n: Edges = "",
    ranks: Ranks = "",
    precision: PrecisionOption = Precision.double,
    threads: Threads = 1,
    rounds: Rounds = 5,
    json: Json = None,
) -> None:
    """Measure the memory use of a turbulence run.

    Example: tailrace bench memory --points 128
    """
    options = basic(n, ranks, rounds, precision=precision.value, threads=threads)
    measure_bench("memory", options, json)


COMMANDS: tuple[Callable[..., None], ...] = (
    step,
    servers,
    allreduce,
    scale,
    tune,
    bindings,
    memory_bandwidth,
    memory,
    *solver_commands.COMMANDS,
)


def add_studies(bench: typer.Typer) -> None:
    """Add the subcommands of all studies."""
    for command in COMMANDS:
        bench.command()(command)
