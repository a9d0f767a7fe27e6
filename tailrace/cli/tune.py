# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace tune``: the best methods on this machine, measured ahead of time, shown, handed on."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tailrace.cli.console import make_console
from tailrace.cli.json_option import JsonOption, prints_json, put_json, require_json_place
from tailrace.errors import TailraceError
from tailrace.files import require_place, write_whole
from tailrace.progress import working
from tailrace.tuning import memory, mpich, openmpi
from tailrace.tuning.measure import measure, mpich_library
from tailrace.tuning.memory import Timing, Winner
from tailrace.tuning.rules import LIBRARIES, collect

tune = typer.Typer(
    help="Measure which methods are fastest here; store the results.\n\n"
    "Example: tailrace tune --problem fft:extents=64x64x64 --ranks 2,4",
    invoke_without_command=True,
    rich_markup_mode=None,
)

DEFAULT_PROBLEMS = [
    "exchange:extents=64x64x64",
    "alltoall:bytes=1024",
    "alltoall:bytes=65536",
    "allreduce:bytes=8",
    "allreduce:bytes=1024",
    "allreduce:bytes=65536",
    "fft:extents=64x64x64",
]
COLLECTIVES = ("allreduce", "alltoall", "alltoallv")

FileOption = Annotated[
    Path | None, typer.Option("--file", help="Results file [default: the one that programs use].")
]
RanksOption = Annotated[str, typer.Option(help="Numbers of ranks, e.g. 2,4.")]
BudgetOption = Annotated[
    float, typer.Option("--budget", min=0.01, help="Time limit for each problem [s].")
]


def _numbers(text: str, option: str) -> list[int]:
    words = [word for word in text.replace(",", " ").split() if word]
    if not words or not all(word.isdigit() and int(word) > 0 for word in words):
        raise TailraceError(f"{option} {text}: expected positive integers, as in 1,2,4", status=2)
    return [int(word) for word in words]


def _time(seconds: float) -> str:
    for limit, unit in ((1e-3, 1e6), (1, 1e3)):
        if seconds < limit:
            return f"{seconds * unit:.3g} {'us' if unit == 1e6 else 'ms'}"
    return f"{seconds:.3g} s"


def _slower(runner_up: Timing | None, winner: Timing) -> str:
    if runner_up is None or winner.median_s <= 0:
        return "-"
    percent = round(100 * (runner_up.median_s / winner.median_s - 1))
    return f"{runner_up.name} {percent:+d} %"


def _machine(entry: Winner) -> str:
    machine = entry.machine
    cores = f"{machine['cores']} cores" if machine["cores"] else ""
    return ", ".join(filter(None, (machine["processor"], cores, machine["mpi"].split(",")[0])))


def _has(entry: Winner, words: str) -> bool:
    text = f"{entry.operation} {entry.key} {entry.places} {entry.winner} {_machine(entry)}".lower()
    return all(word in text for word in words.lower().split())


def _table(title: str, winners: list[Winner]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("operation", style="cyan", no_wrap=True)
    table.add_column("problem", min_width=8, overflow="fold", ratio=1)
    table.add_column("winner", style="green", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("+-", justify="right", no_wrap=True)
    table.add_column("runner-up", min_width=8, overflow="fold")
    table.add_column("null", justify="right", no_wrap=True)
    for entry in winners:
        own = entry.timing
        table.add_row(
            entry.operation,
            entry.key,
            entry.winner,
            _time(own.median_s) if own.samples else "-",
            _time(own.spread_s) if own.samples else "-",
            _slower(entry.runner_up, own),
            f"{100 * entry.null_spread:.1f} %",
        )
    return table


def _print(winners: list[Winner], console: Console) -> None:
    """One table for each machine and number of ranks, in the order of the file."""
    groups: dict[str, list[Winner]] = {}
    for entry in winners:
        groups.setdefault(f"{entry.places}: {_machine(entry)}", []).append(entry)
    for title, group in groups.items():
        dates = sorted({entry.date[:10] for entry in group})
        when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        console.print(_table(f"{title}, {when}", group))


def _measure_all(
    file: Path, problems: list[str], ranks: str, budget_s: float, json_to: Path | None
) -> None:
    require_place(file, "--file")
    require_json_place(json_to)
    console = make_console()
    found: list[Winner] = []
    for number in _numbers(ranks, "--ranks"):
        with working(f"tune on {number} ranks", len(problems)) as tell:
            winners = measure(file, problems, number, budget_s, tell)
        found += winners
        if not prints_json(json_to):
            _print(winners, console)
    put_json(json_to, _json(file, found))
    if not prints_json(json_to):
        console.print(f"remembered in {file}")


def _json(file: Path, winners: list[Winner]) -> str:
    entries = [dataclasses.asdict(entry) for entry in winners]
    return json.dumps({"file": str(file), "entries": entries}, indent=2)


@tune.callback()
def _tune(
    context: typer.Context,
    problem: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:KEY=VALUE",
            help="fft or exchange with extents=64x64x64, allreduce or alltoall with bytes=8; "
            "repeatable.",
        ),
    ] = None,
    ranks: RanksOption = "2",
    budget_s: BudgetOption = 3,
    file: FileOption = None,
    json_to: JsonOption = None,
) -> None:
    if context.invoked_subcommand is None:
        problems = problem or DEFAULT_PROBLEMS
        _measure_all(file or memory.default_file(), problems, ranks, budget_s, json_to)


@tune.command("mpi")
def mpi_(
    ranks: RanksOption = "2",
    collectives: Annotated[
        str, typer.Option(help=f"One or more of {','.join(COLLECTIVES)}.")
    ] = "allreduce,alltoall",
    sizes: Annotated[
        str, typer.Option(help="Bytes per rank (allreduce) or per pair of ranks.")
    ] = "8,64,512,4096,32768,262144,1048576",
    budget_s: BudgetOption = 3,
    file: FileOption = None,
    json_to: JsonOption = None,
) -> None:
    """Measure the MPI library's own algorithms, for export.

    Example: tailrace tune mpi --collectives allreduce --ranks 2,4
    """
    wanted = collectives.replace(",", " ").split()
    unknown = [name for name in wanted if name not in COLLECTIVES]
    if unknown or not wanted:
        raise TailraceError(
            f"--collectives {collectives}: expected some of {', '.join(COLLECTIVES)}", status=2
        )
    bytes_ = _numbers(sizes, "--sizes")
    problems = [f"mpi_{name}:bytes={size}" for name in wanted for size in bytes_]
    _measure_all(file or memory.default_file(), problems, ranks, budget_s, json_to)


@tune.command()
def show(
    file: FileOption = None,
    only: Annotated[str, typer.Option(help="Show only entries containing these words.")] = "",
    json_to: JsonOption = None,
) -> None:
    """Show the stored results: fastest methods, runners-up, noise floor.

    Example: tailrace tune show --only "exchange 4 ranks"
    """
    require_json_place(json_to)
    path = file or memory.default_file()
    winners = memory.read(path)
    put_json(json_to, _json(path, winners))
    if prints_json(json_to):
        return
    console = make_console()
    shown = [entry for entry in winners if _has(entry, only)]
    _print(shown, console)
    console.print(
        f"{len(shown)} of {len(winners)} winners in {path}; null: difference of two equal entries"
    )


@tune.command()
def export(
    output: Annotated[Path, typer.Argument(help="File to write.")],
    format_: Annotated[str, typer.Option("--format", help=f"{' or '.join(LIBRARIES)}.")],
    file: FileOption = None,
    base: Annotated[
        Path | None,
        typer.Option(help="mpich: selection file to extend [default: the library's]."),
    ] = None,
) -> None:
    """Write the results of `tune mpi` as rules for the MPI library.

    Example: tailrace tune export rules.conf --format openmpi
    """
    if format_ not in LIBRARIES:
        raise TailraceError(f"--format {format_}: expected {' or '.join(LIBRARIES)}", status=2)
    rules, machine = collect(memory.read(file or memory.default_file()), format_)
    if format_ == "openmpi":
        content = openmpi.text(rules, machine)
        hint = (
            "OMPI_MCA_coll_tuned_use_dynamic_rules=1 "
            f"OMPI_MCA_coll_tuned_dynamic_rules_filename={output.resolve()}"
        )
    else:
        start = mpich.read_base(base) if base else mpich.own_selection(mpich_library())
        content = mpich.text(rules, start)
        hint = f"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE={output.resolve()}"
    write_whole(output, content)
    typer.echo(f"{output} was written; programs use it with\n  {hint}")
