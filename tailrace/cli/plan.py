# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace plan``: what output will cost a run, and how many servers hide it."""

import dataclasses
import importlib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace.cli.console import make_console
from tailrace.cli.help_all import HelpAll
from tailrace.cli.json_option import JsonOption, prints_json, put_json, require_json_place
from tailrace.cli.plan_transposes import transposes
from tailrace.errors import TailraceError
from tailrace.files import require_picture, require_place
from tailrace.planning import comparison, measured, model, table
from tailrace.planning.file_system import find_file_system
from tailrace.planning.model import Job, Machine
from tailrace.planning.plan import as_data, make_cases
from tailrace.planning.quantities import parse_amount, parse_counts
from tailrace.progress import working

plan = typer.Typer(
    help="Predict the cost of output, without and with servers.\n\n"
    "Example: tailrace plan --ranks 1k --bytes 64M --step-s 1 --measure /scratch",
    invoke_without_command=True,
    rich_markup_mode=None,
)
plan.command("transposes")(transposes)

PLACEMENTS = ("own_nodes", "spread")


def _option(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, **{"metavar": "N", **more})


@plan.callback()
def _plan(
    context: typer.Context,
    ranks: Annotated[str, _option("Compute ranks, e.g. 64,128 or 64..1M.")] = "",
    ranks_per_node: Annotated[int, _option("Ranks per node.", min=1)] = 64,
    rank_bytes: Annotated[str, _option("Output size per rank, e.g. 64M.", "--bytes")] = "",
    total_bytes: Annotated[str, _option("Output size of all ranks (strong scaling).")] = "",
    interval: Annotated[int, _option("Steps between outputs.")] = 1,
    step_s: Annotated[float, _option("Step time [s] with the fewest ranks.")] = 0,
    steps: Annotated[int, _option("Steps of the run (0: 1000 outputs).", min=0, hidden=True)] = 0,
    writer: Annotated[str, _option("Bandwidth of one writer, e.g. 1.5G.")] = "",
    file_system: Annotated[str, _option("File-system bandwidth, e.g. 200G.")] = "",
    measure: Annotated[
        Path | None, _option("Measure these two bandwidths in this folder.", metavar="FOLDER")
    ] = None,
    source: Annotated[
        Path | None,
        _option(
            "Read them from a file of `bench io --json FILE`.",
            "--from",
            metavar="FILE",
            hidden=True,
        ),
    ] = None,
    storage: Annotated[
        str, _option("File system: a TOML file, or hopper, spider, ...", metavar="NAME")
    ] = "",
    piece: Annotated[
        str, _option("Contiguous bytes of a rank in a shared file.", hidden=True)
    ] = "",
    memory: Annotated[str, _option("Staging memory of a node.", hidden=True)] = "8G",
    load: Annotated[float, _option("Share of the disk that others use.", hidden=True)] = 0,
    outage_s: Annotated[
        float, _option("Outage of the file system to bridge [s].", min=0, hidden=True)
    ] = 0,
    servers: Annotated[str, _option("Numbers of servers, e.g. 1,2,4 or 1..16.")] = "",
    placement: Annotated[
        str, _option("own_nodes (more nodes) or spread.", metavar="NAME", hidden=True)
    ] = "own_nodes",
    servers_per_node: Annotated[
        int, _option("Servers per node that only serves.", min=1, hidden=True)
    ] = 1,
    copy: Annotated[
        str, _option("Copy bandwidth of all ranks of a node together.", hidden=True)
    ] = "10G",
    network: Annotated[str, _option("Network bandwidth of a node.", hidden=True)] = "10G",
    disturbance: Annotated[
        float, _option("Share by which transfers slow down computing.", hidden=True)
    ] = 0.0019,
    json_to: JsonOption = None,
    picture: Annotated[
        Path | None, _option("Draw the result (.png, .svg).", metavar="FILE", hidden=True)
    ] = None,
    check: Annotated[
        Path | None,
        _option("Compare with a file of `tailrace bench servers`.", metavar="FILE", hidden=True),
    ] = None,
    help_all: HelpAll = False,
) -> None:
    if context.invoked_subcommand is not None:
        return
    require_json_place(json_to)
    if picture is not None:
        require_picture(picture)
        require_place(picture, "--picture")
    staging = parse_amount(memory, "--memory")
    if check is not None:
        compared = comparison.compare(check, staging)
        put_json(json_to, json.dumps([dataclasses.asdict(one) for one in compared], indent=2))
        if not prints_json(json_to):
            comparison.show(make_console(), compared)
        return
    if placement not in PLACEMENTS:
        raise TailraceError(f"--placement {placement}: expected own_nodes or spread", status=2)
    if not ranks:
        raise TailraceError("give the numbers of compute ranks, e.g. --ranks 64,1k", status=2)
    counts = parse_counts(ranks, "--ranks")
    numbers = parse_counts(servers, "--servers") if servers else []
    machine = _machine(writer, file_system, measure, source, storage, load)
    machine = dataclasses.replace(
        machine,
        memory=staging,
        copy=parse_amount(copy, "--copy"),
        network=parse_amount(network, "--network"),
        disturbance=disturbance,
        servers_per_node=servers_per_node,
        piece_bytes=parse_amount(piece, "--piece") if piece else 0.0,
    )
    if bool(rank_bytes) == bool(total_bytes):
        raise TailraceError("give either --bytes (of a rank) or --total-bytes", status=2)
    if rank_bytes:
        size = parse_amount(rank_bytes, "--bytes") * counts[0]
    else:
        size = parse_amount(total_bytes, "--total-bytes")
    job = Job(counts[0], ranks_per_node, size, interval, step_s, steps)
    model.check(job, machine)
    scale = model.weak if rank_bytes else model.strong
    cases = make_cases(job, machine, counts, scale, numbers, placement, outage_s)
    put_json(json_to, json.dumps(as_data(cases, machine), indent=2))
    if not prints_json(json_to):
        table.show(make_console(), cases, machine, outage_s)
    if picture is not None:
        # matplotlib takes a second to load: only here.
        drawing = importlib.import_module("tailrace.planning.picture")
        drawing.draw(picture, cases, machine, placement)


def _machine(
    writer: str,
    file_system: str,
    folder: Path | None,
    source: Path | None,
    storage: str,
    load: float,
) -> Machine:
    """Return the machine as far as its file system is known."""
    if not storage:
        one, whole = _bandwidths(writer, file_system, folder, source)
        return Machine(writer=one, file_system=whole, load=load)
    if writer or file_system or folder or source:
        raise TailraceError(
            "--storage describes the file system: omit --writer, --file-system, --measure and "
            "--from",
            status=2,
        )
    system = find_file_system(storage)
    if 0 < load < 1:  # a share out of range is refused with all other figures of the machine
        of_others = dataclasses.replace(system.load, mean=load)
        if not of_others.possible():
            raise TailraceError(
                f"--load {load:g}: a share with load.spread = {system.load.spread:g} of {storage} "
                "cannot have this mean",
                status=2,
            )
        system = dataclasses.replace(system, load=of_others)
    return dataclasses.replace(model.on_machine(system), load=load or system.load.mean)


def _bandwidths(
    writer: str, file_system: str, folder: Path | None, source: Path | None
) -> tuple[float, float]:
    """Return the bandwidths of one writer and of all: measured, read, or as given."""
    if folder is not None and source is not None:
        raise TailraceError("give either --measure or --from", status=2)
    found = None
    if folder is not None:
        with working(f"writing to {folder}"):
            found = measured.measure_folder(folder)
    elif source is not None:
        found = measured.read_file(source)
    elif not (writer and file_system):
        raise TailraceError(
            "give --writer and --file-system, or --measure FOLDER, --from FILE or --storage NAME",
            status=2,
        )
    one = parse_amount(writer, "--writer") if writer else found[0] if found else 0.0
    whole = (
        parse_amount(file_system, "--file-system") if file_system else found[1] if found else 0.0
    )
    return one, whole
