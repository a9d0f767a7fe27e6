# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace plan transposes``: what transposes cost, and the best nodes and grid."""

import json
from typing import Annotated, Any

import typer
from rich.table import Table

from tailrace.cli.console import make_console
from tailrace.cli.json_option import JsonOption, prints_json, put_json, require_json_place
from tailrace.errors import TailraceError
from tailrace.planning.pricing import Job, Price, parse_grid
from tailrace.planning.pricing import price as price_grids
from tailrace.planning.quantities import parse_amount
from tailrace.progress import working

SHOWN = 5  # grids of each set of nodes


def _option(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, **{"metavar": "N", **more})


def transposes(
    machine: Annotated[
        str, _option("torus:..., dragonfly:..., fat_tree:...; gemini.", metavar="TEXT")
    ] = "gemini",
    nodes: Annotated[
        list[str] | None, _option("all, N, or a box such as 6x24x24; repeatable.")
    ] = None,
    ranks_per_node: Annotated[int, _option("Ranks per node.", min=1)] = 1,
    order: Annotated[
        str, _option("blocks, round_robin, random:SEED, tiles:AxB.", metavar="TEXT")
    ] = "blocks",
    grid: Annotated[
        list[str] | None, _option("Rows x columns of ranks [default: all].", metavar="AxB")
    ] = None,
    n: Annotated[int, _option("Points along each axis of the array.", "--points", min=0)] = 0,
    fields: Annotated[int, _option("Number of arrays.", min=1)] = 1,
    item: Annotated[int, _option("Bytes of a point.", min=1)] = 8,
    size: Annotated[str, _option("Size of all arrays, instead of --points.", "--bytes")] = "",
    rounds: Annotated[bool, typer.Option("--rounds", help="Exchange in pairwise rounds.")] = False,
    json_to: JsonOption = None,
) -> None:
    """Predict the time of transposes of an array on a machine.

    Example: tailrace plan transposes --nodes 6x24x24 --points 8192 --fields 3
    """
    require_json_place(json_to)
    if bool(n) == bool(size):
        raise TailraceError("give either --points (along each axis) or --bytes", status=2)
    amount = parse_amount(size, "--bytes") if size else float(n) ** 3 * fields * item
    grids = [parse_grid(text) for text in grid or []]
    found = {}
    placements = nodes or ["all"]
    with working("transposes", len(placements)) as tell:
        for placement in placements:
            tell(placement)
            job = Job(machine, placement, ranks_per_node, order, amount, rounds)
            found[placement] = price_grids(job, grids, n)
    rows = [_as_data(one) for prices in found.values() for one in prices]
    put_json(json_to, json.dumps(rows))
    if prints_json(json_to):
        return
    _show(found, amount, machine)


def _as_data(one: Price) -> dict[str, Any]:
    seconds = {"seconds": one.seconds, "worst": one.worst}
    return {"nodes": one.nodes, "num_nodes": one.num_nodes} | seconds | one.data


def _show(found: dict[str, list[Price]], amount: float, machine: str) -> None:
    table = Table(
        title=f"Transposes of {amount / 1e9:.4g} GB on {machine}",
        title_justify="left",
        title_style="bold",
    )
    for heading in ("nodes", "ranks", "grid", "rows [s]", "columns [s]", "both [s]"):
        table.add_column(heading, justify="left" if heading == "nodes" else "right", no_wrap=True)
    table.add_column("GB/s per node", justify="right")
    table.add_column("fullest link")
    for placement, prices in found.items():
        for one in prices[:SHOWN]:
            rows, columns = one.load("rows"), one.load("columns")
            moved = amount * len(one.data["exchanges"]) / one.num_nodes / 1e9
            table.add_row(
                placement,
                str(one.data["ranks"]),
                f"{one.grid[0]}x{one.grid[1]}",
                f"{rows['seconds']:.4g}" if rows else "-",
                f"{columns['seconds']:.4g}" if columns else "-",
                f"{one.seconds:.4g}",
                f"{moved / one.seconds:.3g}" if one.seconds > 0 else "-",
                one.worst,
            )
        if len(prices) > SHOWN:
            table.add_row(placement, "", "...", "", "", f"{prices[-1].seconds:.4g}", "", "")
        table.add_section()
    console = make_console()
    console.print(table)
    best = min((prices[0] for prices in found.values()), key=lambda one: one.seconds)
    console.print(
        f"Shortest: {best.seconds:.4g} s with {best.grid[0]}x{best.grid[1]} ranks on {best.nodes}. "
        "The model includes only the bandwidth of the links, not latency."
    )
