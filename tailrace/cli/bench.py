# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace bench``: ours beside others, measured in the same run; a subcommand a bench."""

from pathlib import Path
from typing import Annotated

import typer

from tailrace.benchmarks.options import IoOptions, ServersOptions
from tailrace.cli.bench_options import (
    FOLDER,
    Bus,
    Compute,
    ComputeOption,
    ComputeS,
    Edges,
    Entries,
    Folder,
    Grid,
    Json,
    Kind,
    Methods,
    Nodes,
    Peers,
    Picture,
    Precision,
    PrecisionOption,
    Ranks,
    RareBus,
    RareThreads,
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
from tailrace.cli.bench_solvers import add_solvers
from tailrace.cli.help_all import CommandsOnly, HelpAll
from tailrace.cli.list import require_hints

bench = typer.Typer(
    help="Measure ours beside others in turn: tailrace bench fft --n 128",
    cls=CommandsOnly,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@bench.command()
def fft(
    n: Edges = "",
    ranks: Ranks = "",
    precision: PrecisionOption = Precision.double,
    kind: Annotated[Kind, option("Real or complex fields.", metavar="r2c|c2c")] = Kind.r2c,
    fields: Annotated[int, option("Fields in one call of ours.", min=1)] = 1,
    grid: Annotated[Grid, option("Grid of ranks.", metavar="auto|slabs|pencils")] = Grid.auto,
    kernel: Annotated[
        str, option("1D kernels of ours, as in auto,fftw,ducc0.", metavar="TEXT")
    ] = "",
    method: Annotated[str, option("Exchange method of ours.")] = "auto",
    threads: RareThreads = 1,
    rounds: Rounds = 5,
    repeats: Repeats = 5,
    peers: Peers = True,
    bus: RareBus = 0,
    json: Json = None,
    help_all: HelpAll = False,
) -> None:
    """Transform a cube and back, beside other libraries.

    Example: tailrace bench fft --n 128,256 --ranks 1,2
    """
    options = basic(
        n,
        ranks,
        rounds,
        repeats=repeats,
        precision=precision.value,
        kind=kind.value,
        fields=fields,
        grid="" if grid is Grid.auto else grid.value,
        kernels=kernel.replace(",", " ").split(),
        method=method,
        threads=threads,
        peers=peers,
        bus=bus,
    )
    measure_bench("fft", options, json)


@bench.command()
def step(
    n: Edges = "",
    ranks: Ranks = "",
    precision: PrecisionOption = Precision.double,
    threads: Threads = 1,
    fluidsim_python: Annotated[
        str, option("A Python that has fluidsim, to compare with.", metavar="TEXT")
    ] = "",
    rounds: Rounds = 5,
    repeats: Repeats = 5,
    peers: Peers = True,
    bus: Bus = 0,
    json: Json = None,
) -> None:
    """Time a dealiased RK4 step, beside fluidsim.

    Example: tailrace bench step --n 128 --ranks 2
    """
    options = basic(
        n,
        ranks,
        rounds,
        repeats=repeats,
        precision=precision.value,
        threads=threads,
        fluidsim_python=fluidsim_python,
        peers=peers,
        bus=bus,
    )
    measure_bench("step", options, json)


@bench.command()
def output(
    n: Edges = "",
    ranks: Ranks = "",
    folder: Folder = FOLDER,
    throttle: Throttle = "",
    steps: Steps = 4,
    compute_s: ComputeS = 0.7,
    compute: ComputeOption = Compute.work,
    rounds: Rounds = 5,
    json: Json = None,
) -> None:
    """Time runs with hidden, synchronous and MPI-IO output.

    Example: tailrace bench output --folder /scratch/me/bench --rounds 3
    """
    options = basic(
        n,
        ranks,
        rounds,
        folder=folder,
        throttle=throttle,
        steps=steps,
        compute_s=compute_s,
        compute=compute.value,
    )
    measure_bench("output", options, json)


@bench.command()
def io(
    dirs: Annotated[
        list[Path] | None, option("A folder for files; may be repeated.", "--dir", metavar="DIR")
    ] = None,
    patterns: Annotated[
        str, option("segmented, contiguous, blocks3d:slabs, ...", metavar="TEXT")
    ] = "",
    n: Edges = "",
    ranks: Ranks = "",
    block: Annotated[str, option("Bytes of a block, as in 10000,1000000.", metavar="TEXT")] = "",
    transfer: Annotated[
        int, option("Bytes of a call of one piece.", min=0, metavar="N", hidden=True)
    ] = 0,
    total: Annotated[int, option("About, of a file (0 = 20 MB).", "--bytes", min=0)] = 0,
    entries: Entries = "",
    hints: Annotated[str, option("Hints of ours, name=value:name=value.", metavar="TEXT")] = "",
    wrapper: Annotated[
        str, option("A command put before the driver.", metavar="TEXT", hidden=True)
    ] = "",
    read: Annotated[bool, option("Measure reading too.", "--read")] = False,
    count: Annotated[bool, option("Count system calls with strace instead.", "--count")] = False,
    rounds: Rounds = 5,
    json: Json = None,
    picture: Picture = None,
    help_all: HelpAll = False,
) -> None:
    """Write a file by every strategy, MPI-IO and HDF5.

    Example: tailrace bench io --dir /scratch/me --ranks 1,4
    """
    require_hints(hints, "--hints")
    chosen = IoOptions(
        folders=dirs or [],
        patterns=words(patterns),
        blocks=numbers(block, "--block"),
        transfer=transfer,
        total_bytes=total,
        entries=words(entries, ";"),
        hints=hints,
        wrapper=wrapper,
        read=read,
        count=count,
    )
    measure_bench("io", basic(n, ranks, rounds, io=chosen), json, picture)


@bench.command()
def servers(
    n: Edges = "",
    ranks: Ranks = "",
    servers: Annotated[int, option("Ranks that serve.", min=1)] = 1,
    shapes: Annotated[str, option("slab, pencil or both.", metavar="TEXT")] = "",
    folder: Folder = FOLDER,
    throttle: Throttle = "",
    fractions: Annotated[
        str, option("Disks of 1/2, 1/4, ... of the speed, as in 2,4.", metavar="TEXT", hidden=True)
    ] = "",
    steps: Steps = 4,
    every: Annotated[int, option("Steps between outputs.", min=1)] = 1,
    compute_s: ComputeS = 0.7,
    compute: ComputeOption = Compute.work,
    calls: Annotated[int, option("Calls of progress in a step.", min=1, hidden=True)] = 4,
    halo: Annotated[
        int, option("Doubles sent to neighbours at each call.", min=0, hidden=True)
    ] = 0,
    competitor: Annotated[
        bool, option("Again beside another writer.", "--competitor", hidden=True)
    ] = False,
    idle_s: Annotated[
        float, option("Watch idle servers.", metavar="SECONDS", min=0, hidden=True)
    ] = 1,
    entries: Entries = "",
    peers: Peers = True,
    rounds: Rounds = 5,
    json: Json = None,
    picture: Picture = None,
    help_all: HelpAll = False,
) -> None:
    """Run with every kind of server, beside HDF5 and ADIOS2.

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
    options = basic(
        n,
        ranks,
        rounds,
        folder=folder,
        throttle=throttle,
        steps=steps,
        compute_s=compute_s,
        compute=compute.value,
        peers=peers,
        io=IoOptions(entries=words(entries, ";")),
        servers=chosen,
    )
    measure_bench("servers", options, json, picture)


@bench.command()
def exchange(
    patterns: Annotated[
        str, option("uniform, fat, zipf, pencils, kept, slabs.", metavar="TEXT")
    ] = "",
    sizes: Annotated[
        str, option("Bytes of a pair, as in 8,4k,1M; full: 8 to 64M.", metavar="TEXT")
    ] = "",
    n: Edges = "",
    ranks: Ranks = "",
    nodes: Nodes = 1,
    method: Methods = "",
    entries: Entries = "",
    rounds: Rounds = 5,
    repeats: Repeats = 5,
    peers: Peers = True,
    bus: Bus = 0,
    json: Json = None,
    picture: Picture = None,
) -> None:
    """Move data by every method, beside MPI and others.

    Example: tailrace bench exchange --patterns pencils --n 256 --ranks 2,4
    """
    chosen = moving(patterns, sizes, method, entries, nodes)
    options = basic(n, ranks, rounds, repeats=repeats, peers=peers, moving=chosen, bus=bus)
    measure_bench("exchange", options, json, picture)


@bench.command()
def allreduce(
    patterns: Annotated[str, option("allreduce, reduce, barrier, many.", metavar="TEXT")] = "",
    sizes: Annotated[str, option("Bytes, as in 8,4k,1M; full: 8 to 64M.", metavar="TEXT")] = "",
    ranks: Ranks = "",
    nodes: Nodes = 1,
    method: Methods = "",
    entries: Entries = "",
    rounds: Rounds = 5,
    repeats: Repeats = 5,
    peers: Peers = True,
    json: Json = None,
    picture: Picture = None,
) -> None:
    """Reduce by every method, beside MPI and others.

    Example: tailrace bench allreduce --patterns barrier --ranks 2,4
    """
    chosen = moving(patterns, sizes, method, entries, nodes)
    options = basic("", ranks, rounds, repeats=repeats, peers=peers, moving=chosen)
    measure_bench("allreduce", options, json, picture)


@bench.command()
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


@bench.command()
def tune(
    ranks: Ranks = "",
    rounds: Rounds = 5,
    json: Json = None,
) -> None:
    """Compare the tuner's choices with every method.

    Example: tailrace bench tune --rounds 1 --ranks 2
    """
    measure_bench("tune", basic("", ranks, rounds), json)


@bench.command()
def faces(
    ranks: Ranks = "",
    rounds: Rounds = 5,
    repeats: Repeats = 5,
    json: Json = None,
) -> None:
    """Time calls from C, Fortran and Python, beside C++.

    Example: tailrace bench faces --ranks 1,2
    """
    measure_bench("faces", basic("", ranks, rounds, repeats=repeats), json)


@bench.command()
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


@bench.command()
def memory(
    n: Edges = "",
    ranks: Ranks = "",
    precision: PrecisionOption = Precision.double,
    threads: Threads = 1,
    rounds: Rounds = 5,
    json: Json = None,
) -> None:
    """Count the memory of a turbulence run.

    Example: tailrace bench memory --n 128
    """
    options = basic(n, ranks, rounds, precision=precision.value, threads=threads)
    measure_bench("memory", options, json)


add_solvers(bench)
