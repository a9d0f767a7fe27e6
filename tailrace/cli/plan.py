# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace plan``: what output will cost a run, and how many servers hide it."""

import importlib
import json
from pathlib import Path
from typing import Annotated

import typer

from tailrace.benchmarks.report import make_console
from tailrace.errors import TailraceError
from tailrace.files import require_picture
from tailrace.planning import comparison, measured, model, table
from tailrace.planning.model import Job, Machine
from tailrace.planning.plan import as_data, make_cases
from tailrace.planning.quantities import parse_amount, parse_counts

PLACEMENTS = ("own_nodes", "spread")


def plan(
    ranks: Annotated[str, typer.Option(help="Ranks that compute, as in 64,128 or 64..1M.")] = "",
    ranks_per_node: Annotated[int, typer.Option(min=1, help="Ranks of a node.")] = 64,
    rank_bytes: Annotated[
        str, typer.Option("--bytes", help="Bytes that each rank outputs, as in 64M.")
    ] = "",
    total_bytes: Annotated[
        str, typer.Option(help="Bytes of an output of all ranks, instead; strong scaling.")
    ] = "",
    interval: Annotated[int, typer.Option(help="Steps from one output to the next.")] = 1,
    step_s: Annotated[
        float, typer.Option(help="Time of a step [s]; with --total-bytes on the fewest ranks.")
    ] = 0,
    steps: Annotated[int, typer.Option(min=0, help="Steps of the run (0: 1000 outputs).")] = 0,
    writer: Annotated[str, typer.Option(help="Bandwidth of one writer, as in 1.5G.")] = "",
    file_system: Annotated[str, typer.Option(help="That of the file system, as in 200G.")] = "",
    measure: Annotated[
        Path | None, typer.Option(help="Measure both in this folder, for some seconds.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="Take both from a file of `tailrace bench io`.")
    ] = None,
    memory: Annotated[str, typer.Option(help="Staging memory of a node.")] = "8G",
    load: Annotated[float, typer.Option(help="Share of the file system taken by others.")] = 0,
    outage_s: Annotated[float, typer.Option(min=0, help="Outage to be ridden out [s].")] = 0,
    servers: Annotated[str, typer.Option(help="Numbers to consider, as in 1,2,4 or 1..16.")] = "",
    placement: Annotated[
        str, typer.Option(help="own_nodes (more nodes) or spread (taken from the ranks).")
    ] = "own_nodes",
    servers_per_node: Annotated[
        int, typer.Option(min=1, help="Servers of a node that only serves.")
    ] = 1,
    copy: Annotated[str, typer.Option(help="Memory copies of all ranks of a node.")] = "10G",
    network: Annotated[str, typer.Option(help="Network bandwidth of a node.")] = "10G",
    disturbance: Annotated[
        float, typer.Option(help="Share by which transfers slow the computing meanwhile.")
    ] = 0.0019,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Draw it (.png, .svg).")] = None,
    check: Annotated[
        Path | None,
        typer.Option(help="Compare the model with a file of `tailrace bench servers`, instead."),
    ] = None,
) -> None:
    """Say what output costs a run without servers and with N, and how many hide it."""
    if picture is not None:
        require_picture(picture)
    staging = parse_amount(memory, "--memory")
    if check is not None:
        comparison.show(make_console(), comparison.compare(check, staging))
        return
    if placement not in PLACEMENTS:
        raise TailraceError(f"--placement {placement}: expected own_nodes or spread", status=2)
    counts = parse_counts(ranks, "--ranks")
    numbers = parse_counts(servers, "--servers") if servers else []
    one, whole = _bandwidths(writer, file_system, measure, source)
    machine = Machine(
        writer=one,
        file_system=whole,
        load=load,
        memory=staging,
        copy=parse_amount(copy, "--copy"),
        network=parse_amount(network, "--network"),
        disturbance=disturbance,
        servers_per_node=servers_per_node,
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
    if as_json:
        typer.echo(json.dumps(as_data(cases, machine), indent=2))
    else:
        table.show(make_console(), cases, machine, outage_s)
    if picture is not None:
        # matplotlib takes a second to load: only here.
        drawing = importlib.import_module("tailrace.planning.picture")
        drawing.draw(picture, cases, machine, placement)


def _bandwidths(
    writer: str, file_system: str, folder: Path | None, source: Path | None
) -> tuple[float, float]:
    """Return the bandwidths of one writer and of all: measured, read, or as given."""
    if folder is not None and source is not None:
        raise TailraceError("--measure and --from: give one of them", status=2)
    found = None
    if folder is not None:
        found = measured.measure_folder(folder)
    elif source is not None:
        found = measured.read_file(source)
    elif not (writer and file_system):
        raise TailraceError(
            "give --writer and --file-system, or --measure FOLDER, or --from FILE", status=2
        )
    one = parse_amount(writer, "--writer") if writer else found[0] if found else 0.0
    whole = (
        parse_amount(file_system, "--file-system") if file_system else found[1] if found else 0.0
    )
    return one, whole
