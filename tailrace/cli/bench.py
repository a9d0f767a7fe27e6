# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace bench``: measures this machine in interleaved rounds; a subcommand each."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace.benchmarks.clone import STUDIES, in_clone, load_module, load_study
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
    Grid,
    Json,
    Kind,
    Methods,
    Nodes,
    NoOtherLibraries,
    Picture,
    Precision,
    PrecisionOption,
    Ranks,
    RareBus,
    RareThreads,
    Repeats,
    Rounds,
    Steps,
    Throttle,
    basic,
    moving,
    numbers,
    option,
    words,
)
from tailrace.cli.bench_run import measure_bench
from tailrace.cli.help_all import CommandsOnly, HelpAll
from tailrace.cli.list import require_hints

# Names of 0.1, which are accepted for one release with a line of warning.
OLD_COMMANDS = {"faces": "bindings"}
OLD_OPTIONS = {
    "--no-peers": "--no-other-libraries",
    "--peers": "",
    "--n": "--points",
    "--dir": "--folder",
}
NO_CLONE = "Comparisons with other libraries need a clone of the repository (bench/)."


class Benchmarks(CommandsOnly):
    """The benchmarks, and in a clone the studies, by their names now and those of 0.1."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Replace old names before the arguments are read."""
        new = [_renamed(word) for word in args]
        if new:
            new[0] = OLD_COMMANDS.get(new[0], new[0])
        for old, now in zip(args, new, strict=True):
            if old != now:
                print(f"tailrace: bench: {old} is now {now or 'the default'}", file=sys.stderr)
        return super().parse_args(
            ctx, [now for old, now in zip(args, new, strict=True) if now or not old]
        )

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the subcommand; complains about a study outside of a clone."""
        if cmd_name in STUDIES and not in_clone():
            load_study(cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the section of commands, and where more are."""
        super().format_options(ctx, formatter)
        if not in_clone():
            formatter.write_paragraph()
            formatter.write_text(NO_CLONE)


def _renamed(word: str) -> str:
    """Return an option by its name of today, "" if what it asked for is the default."""
    option, equals, value = word.partition("=")
    now = OLD_OPTIONS.get(option, option)
    return now + equals + value if now else ""


bench = typer.Typer(
    help="Benchmark this machine and compare with other libraries: tailrace bench fft --points 128",
    cls=Benchmarks,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@bench.command()
def fft(
    n: Edges = "",
    ranks: Ranks = "",
    precision: PrecisionOption = Precision.double,
    kind: Annotated[Kind, option("Real or complex fields.", metavar="r2c|c2c")] = Kind.r2c,
    shapes: Annotated[
        str, option("cube,2d,4d,batches,lines,cosine,sine,channel.", metavar="TEXT")
    ] = "",
    fields: Annotated[int, option("Fields in one call.", min=1)] = 1,
    grid: Annotated[Grid, option("Grid of ranks.", metavar="auto|slabs|pencils")] = Grid.auto,
    kernel: Annotated[str, option("1D kernels, e.g. auto,fftw,ducc0.", metavar="TEXT")] = "",
    method: Annotated[str, option("Exchange method.")] = "auto",
    threads: RareThreads = 1,
    rounds: Rounds = 5,
    repeats: Repeats = 5,
    no_other_libraries: NoOtherLibraries = False,
    bus: RareBus = 0,
    json: Json = None,
    help_all: HelpAll = False,
) -> None:
    """Transform arrays; compare with other libraries.

    Example: tailrace bench fft --shapes 2d,cosine --ranks 1,2
    """
    options = basic(
        n,
        ranks,
        rounds,
        repeats=repeats,
        precision=precision.value,
        kind=kind.value,
        shapes=words(shapes),
        fields=fields,
        grid="" if grid is Grid.auto else grid.value,
        kernels=kernel.replace(",", " ").split(),
        method=method,
        threads=threads,
        other_libraries=not no_other_libraries,
        bus=bus,
    )
    measure_bench("fft", options, json)


@bench.command()
def output(
    n: Edges = "",
    ranks: Ranks = "",
    folder: Folder = FOLDER,
    throttle: Throttle = "",
    steps: Steps = 4,
    compute_s: ComputeS = 0.7,
    compute: ComputeOption = Compute.work,
    compress: Annotated[
        str, option("Also measure compressed output: deflate:1;deflate:1 digits=3.", metavar="TEXT")
    ] = "",
    fields: Annotated[
        str, option("Write a 3D array from an HDF5 file.", metavar="FILE:ARRAY")
    ] = "",
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
        compress=compress,
        field_file=fields,
    )
    measure_bench("output", options, json)


@bench.command()
def io(
    dirs: Annotated[
        list[Path] | None, option("Folder to measure; repeatable.", "--folder", metavar="FOLDER")
    ] = None,
    patterns: Annotated[
        str, option("segmented, contiguous, blocks3d:slabs, ...", metavar="TEXT")
    ] = "",
    n: Edges = "",
    ranks: Ranks = "",
    block: Annotated[str, option("Bytes of a block, e.g. 10000,1000000.", metavar="TEXT")] = "",
    transfer: Annotated[
        int, option("Bytes per call if a rank writes one piece.", min=0, metavar="N", hidden=True)
    ] = 0,
    total: Annotated[int, option("Approximate file size (0 = 20 MB).", "--bytes", min=0)] = 0,
    entries: Entries = "",
    hints: Annotated[str, option("Hints, name=value:name=value.", metavar="TEXT")] = "",
    wrapper: Annotated[
        str, option("Command that starts the driver, e.g. strace.", metavar="TEXT", hidden=True)
    ] = "",
    read: Annotated[bool, option("Also measure reading.", "--read")] = False,
    count: Annotated[
        bool, option("Count system calls with strace, without timing.", "--count")
    ] = False,
    rounds: Rounds = 5,
    json: Json = None,
    picture: Picture = None,
    help_all: HelpAll = False,
) -> None:
    """Write a file by every strategy, MPI-IO and HDF5.

    Example: tailrace bench io --folder /scratch/me --ranks 1,4
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
def exchange(
    patterns: Annotated[
        str, option("uniform, fat, zipf, pencils, kept, slabs.", metavar="TEXT")
    ] = "",
    sizes: Annotated[
        str, option("Bytes per pair, e.g. 8,4k,1M; full: 8 to 64M.", metavar="TEXT")
    ] = "",
    n: Edges = "",
    ranks: Ranks = "",
    nodes: Nodes = 1,
    method: Methods = "",
    entries: Entries = "",
    rounds: Rounds = 5,
    repeats: Repeats = 5,
    no_other_libraries: NoOtherLibraries = False,
    bus: Bus = 0,
    json: Json = None,
    picture: Picture = None,
) -> None:
    """Move data by every method; compare with MPI.

    Example: tailrace bench exchange --patterns pencils --points 256 --ranks 2,4
    """
    chosen = moving(patterns, sizes, method, entries, nodes)
    options = basic(
        n,
        ranks,
        rounds,
        repeats=repeats,
        other_libraries=not no_other_libraries,
        moving=chosen,
        bus=bus,
    )
    measure_bench("exchange", options, json, picture)


if in_clone():
    load_module("studies.commands").add_studies(bench)
