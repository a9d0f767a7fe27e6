# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace map``: which rank on which node, for any launcher, and a check of the outcome."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tailrace.cli.console import make_console
from tailrace.cli.help_all import HelpAll
from tailrace.cli.json_option import JsonOption, prints_json, put_json, require_json_place
from tailrace.errors import TailraceError
from tailrace.files import require_folder, require_place, write_whole
from tailrace.placement import comparison
from tailrace.placement.comparison import Row, compare_orders
from tailrace.placement.job import make_nodes, parse_hosts, scheduled_hosts
from tailrace.placement.node_choice import Choice, choose, read_numbers
from tailrace.placement.orders import ORDERS, Problem
from tailrace.placement.probe import probe
from tailrace.placement.rank_map import RankMap, make_map, map_text, read_map
from tailrace.placement.read_back import read_back
from tailrace.placement.switches import between_switches, read_topology, switch_of_nodes
from tailrace.placement.traffic import Traffic, grid_traffic, make_grid, read_traffic
from tailrace.placement.writers import WRITERS, launch_line
from tailrace.planning.machine import find_machine
from tailrace.planning.quantities import parse_amount
from tailrace.profile.placement import processors
from tailrace.profile.text import bytes_text
from tailrace.progress import working

SHOWN_DIFFERENCES = 10
SHOWN_CHOICES = 8


map_ = typer.Typer(
    help="Choose which rank runs on which node; write files for launchers.\n\n"
    "Example: tailrace map --grid 16x16 --hosts a:64,b:64,c:64,d:64 -o map",
    invoke_without_command=True,
    rich_markup_mode=None,
)


def _text(text: str, *names: str, metavar: str = "TEXT", hidden: bool = False) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, hidden=hidden)


def _count(text: str, *names: str, hidden: bool = False) -> Any:
    return typer.Option(*names, metavar="N", help=text, callback=_above_zero, hidden=hidden)


def _above_zero(value: int | None) -> int | None:
    if value is not None and value < 1:
        raise typer.BadParameter(f"{value} is below 1")
    return value


@map_.callback()
def _map(
    context: typer.Context,
    grid: Annotated[str, _text("Grid of ranks, the last axis fastest.", metavar="AxBxC")] = "",
    profile: Annotated[
        Path | None, _text("Messages from a file of tailrace profile --json.", metavar="FILE")
    ] = None,
    periodic: Annotated[
        bool, typer.Option("--periodic", help="Make axes periodic.", hidden=True)
    ] = False,
    pattern: Annotated[str, _text("neighbours, or lines (all-to-all along axes).")] = "neighbours",
    size: Annotated[
        str,
        _text("Bytes of a message, or per axis: 64K:64K:8K.", "--bytes", metavar="N"),
    ] = "1",
    per_node: Annotated[int | None, _count("Ranks per node.", "--ranks-per-node")] = None,
    hosts: Annotated[str, _text("Nodes: a,b or a:4,b:4 [default: the job's].")] = "",
    cores: Annotated[
        int | None, _count("Cores per node [default: its ranks].", hidden=True)
    ] = None,
    scatter: Annotated[
        str, _text("Spread these ranks over nodes, e.g. 0-63,128.", metavar="RANKS", hidden=True)
    ] = "",
    topology: Annotated[
        str,
        _text(
            "Keep nodes of a switch together: topology.conf, topology.yaml or slurm.",
            metavar="FILE",
            hidden=True,
        ),
    ] = "",
    machine: Annotated[str, _text("Machine for link times: torus:8x8x8,bw=10.")] = "",
    nodes: Annotated[
        str, _text("Nodes of the job on the machine: N, 6x24x24, scattered:N.", hidden=True)
    ] = "all",
    order: Annotated[str, _text("Write this order instead of the cheapest.", metavar="NAME")] = "",
    output: Annotated[
        Path | None, _text("Write files for all launchers.", "-o", metavar="FOLDER")
    ] = None,
    json_to: JsonOption = None,
    help_all: HelpAll = False,
) -> None:
    if context.invoked_subcommand is not None:
        return
    require_json_place(json_to)
    traffic = _traffic(grid, profile, periodic, pattern, size)
    named = parse_hosts(hosts, "--hosts") if hosts else [(name, None) for name in _scheduled()]
    switches = read_topology(topology) if topology else {}
    if topology:
        number = dict(zip(named, switch_of_nodes(switches, [n for n, _ in named]), strict=True))
        named.sort(key=lambda node: number[node])
    job, names = make_nodes(traffic.num_ranks, per_node, named)
    if topology and not names:
        raise TailraceError("--topology needs the names of the nodes: --hosts a,b", status=2)
    site = comparison.make_site(machine, nodes, job.num_nodes) if machine else None
    if order and order not in [one.name for one in ORDERS]:
        known = ", ".join(one.name for one in ORDERS)
        raise TailraceError(f"--order {order}: expected one of {known}", status=2)
    if output and not names:
        raise TailraceError("-o writes node names to the files: give them with --hosts", status=2)
    if output:
        require_folder(output, "-o")
    spread = _ranks(scatter, traffic.num_ranks)
    with working("map", len(ORDERS)) as tell:
        rows, left_out = compare_orders(Problem(traffic, job), site, spread, tell)
    chosen = next((row for row in rows if not order or row.name == order), None)
    if chosen is None:
        raise TailraceError(f"--order {order}: {left_out[order]}", status=2)
    rank_map = make_map(
        chosen.name,
        chosen.made.ranks,
        job,
        names or [f"node{i + 1}" for i in range(job.num_nodes)],
        cores or max(job.capacities),
    )
    data = _data(rows, left_out, rank_map)
    if topology:
        switch = switch_of_nodes(switches, names)
        between = between_switches(traffic, chosen.made.ranks, job, switch)
        data |= {"switch_of_node": switch, "bytes_between_switches": between}
    put_json(json_to, json.dumps(data))
    if not prints_json(json_to):
        _show(rows, left_out, traffic, job.capacities)
        if topology:
            typer.echo(f"{len(set(switch))} switches, {bytes_text(between)} between them")
    if output:
        written = _write(rank_map, output)
        typer.echo("\n".join(written), err=prints_json(json_to))


def _scheduled() -> list[str]:
    return scheduled_hosts()


def _traffic(grid: str, profile: Path | None, periodic: bool, pattern: str, size: str) -> Traffic:
    if not grid and profile is None:
        raise TailraceError(
            "give the messages by --grid AxBxC or --profile FILE (or both, for measured messages "
            "of a program whose ranks form a grid)",
            status=2,
        )
    amounts = [parse_amount(word, "--bytes") for word in size.split(":")]
    found = make_grid(grid, periodic, pattern, amounts) if grid else None
    if profile is not None:
        return read_traffic(profile, found)
    assert found is not None
    return grid_traffic(found)


def _ranks(text: str, num_ranks: int) -> list[int]:
    """Return the ranks of a list such as 0-63,128."""
    try:
        found = processors(text)
    except ValueError:
        found = [-1]
    if any(not 0 <= rank < num_ranks for rank in found):
        raise TailraceError(
            f"--scatter {text}: expected ranks below {num_ranks}, as in 0-3,8", status=2
        )
    return found


def _data(rows: list[Row], left_out: dict[str, str], rank_map: RankMap) -> dict[str, Any]:
    return {
        "orders": [row.as_data() for row in rows],
        "left_out": left_out,
        "chosen": rank_map.order,
        "hosts": rank_map.hosts,
        "node_of_rank": rank_map.node,
        "slot_of_rank": rank_map.slot,
    }


def _shape(capacities: tuple[int, ...]) -> str:
    counts = sorted(set(capacities))
    each = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{sum(capacities)} ranks on {len(capacities)} nodes of {each}"


def _time(seconds: float) -> str:
    for limit, unit, scale in ((1e-3, "us", 1e6), (1.0, "ms", 1e3)):
        if seconds < limit:
            return f"{seconds * scale:.4g} {unit}"
    return f"{seconds:.4g} s"


def _show(
    rows: list[Row], left_out: dict[str, str], traffic: Traffic, capacities: tuple[int, ...]
) -> None:
    grid = traffic.grid
    what = ""
    if grid is not None:
        what = f", grid {grid.text}{' periodic' if grid.periodic else ''}"
    table = Table(title=_shape(capacities) + what, title_justify="left", title_style="bold")
    table.add_column("order", no_wrap=True, style="cyan")
    for heading in ("off node:\npairs", "\nbytes", "busiest\nnode"):
        table.add_column(heading, justify="right", no_wrap=True)
    with_links = rows[0].load is not None
    if with_links:
        table.add_column("links", justify="right", no_wrap=True)
        table.add_column("fullest link")
    for row in rows:
        cost = row.cost
        words = [
            f"{row.name} {row.made.detail}".strip(),
            str(cost.off_node_pairs),
            bytes_text(cost.off_node_bytes),
            bytes_text(cost.busiest_node_bytes),
        ]
        if with_links:
            assert row.load is not None
            words += [_time(float(row.load["seconds"])), str(row.load["worst"])]
        table.add_row(*words)
    console = make_console()
    console.print(table)
    for name, why in left_out.items():
        console.print(f"{name}: left out, {why}", highlight=False)
    best, usual = rows[0], next(row for row in rows if row.name == "consecutive")
    console.print(_verdict(best, usual), highlight=False)


def _verdict(best: Row, usual: Row) -> str:
    if best.name == usual.name:
        return "The best of these orders is the consecutive one, which launchers use."
    parts = [
        f"{own / other:.2f} of its {what}"
        for what, own, other in (
            ("bytes off node", best.cost.off_node_bytes, usual.cost.off_node_bytes),
            ("busiest node's", best.cost.busiest_node_bytes, usual.cost.busiest_node_bytes),
            ("fullest link's time", best.seconds, usual.seconds),
        )
        if own is not None and other
    ]
    name = f"{best.name} {best.made.detail}".strip()
    return f"Best: {name}. Compared with consecutive ranks: " + ", ".join(parts)


def _write(rank_map: RankMap, folder: Path) -> list[str]:
    """Write the files of all launchers; return what to type for each."""
    write_whole(folder / "map.json", map_text(rank_map))
    said = [f"Order {rank_map.order}, for each launcher (append the program):"]
    for writer in WRITERS:
        path = folder / writer.file
        write_whole(path, writer.text(rank_map))
        said.append(f"  {writer.summary}:\n    {launch_line(writer, rank_map, str(path))}")
        caveat = writer.caveat(rank_map)
        if caveat:
            said.append(f"    Note: {caveat}")
    said.append(f"Check it: tailrace map check {folder / 'map.json'} -- LAUNCHER OPTIONS")
    return said


@map_.command()
def check(
    file: Annotated[
        Path, typer.Argument(metavar="MAP.JSON", help="The map.json that -o FOLDER wrote.")
    ],
    command: Annotated[
        list[str],
        typer.Argument(metavar="LAUNCHER...", help="After --: the launcher with its options."),
    ],
    json_to: JsonOption = None,
) -> None:
    """Start a launcher with a probe and compare each rank with the map. Exit status 1 if they
    differ.

    Example: tailrace map check map/map.json -- mpirun -n 8 --rankfile FILE
    """
    require_json_place(json_to)
    rank_map = read_map(file)
    found = read_back(rank_map, command)
    data = {"host_of_rank": found.host, "wrong": found.wrong, "notes": found.notes}
    put_json(json_to, json.dumps(data))
    if prints_json(json_to):
        raise typer.Exit(1 if found.wrong else 0)
    if found.wrong:
        for line in found.wrong[:SHOWN_DIFFERENCES]:
            typer.echo(line)
        if len(found.wrong) > SHOWN_DIFFERENCES:
            typer.echo(f"... {len(found.wrong)} differences in all")
    else:
        typer.echo(
            f"{len(found.host)} ranks on {found.groups} nodes are where the map puts them (order "
            f"{rank_map.order})"
        )
    for note in found.notes:
        typer.echo(f"Note: {note}")
    raise typer.Exit(1 if found.wrong else 0)


@map_.command("probe")
def probe_(
    command: Annotated[
        list[str],
        typer.Argument(metavar="LAUNCHER...", help="After --: the launcher with its options."),
    ],
    limit: Annotated[
        float, typer.Option(help="Limit for slow nodes, as a multiple of the median.")
    ] = 1.2,
    output: Annotated[
        Path | None, _text("Write the list of nodes that are not slow.", "-o", metavar="FILE")
    ] = None,
    json_to: JsonOption = None,
) -> None:
    """Find slow nodes: all ranks time arithmetic and memory. Exit status 1 if any node is slow.

    Example: tailrace map probe -o good -- srun -n 512
    """
    require_json_place(json_to)
    if output:
        require_place(output, "-o")
    found = probe(command)
    slow = [one for one in found if one.worst > limit]
    if output:
        write_whole(output, "".join(f"{one.host}\n" for one in found if one not in slow))
    put_json(json_to, json.dumps([{**asdict(one), "slow": one in slow} for one in found]))
    if prints_json(json_to):
        raise typer.Exit(1 if slow else 0)
    for one in slow:
        typer.echo(
            f"{one.host}: {one.compute:.2f} times the median in computing, {one.memory:.2f} times "
            "in memory"
        )
    worst = max(found[len(slow) :], key=lambda one: one.worst, default=None)
    rest = f"the others within {worst.worst:.2f} times it" if worst else "no others"
    typer.echo(f"{len(slow)} of {len(found)} nodes are slower than {limit:g} medians, {rest}")
    raise typer.Exit(1 if slow else 0)


@map_.command("nodes")
def choose_nodes_(
    machine: Annotated[str, _text("torus:..., as tailrace plan transposes; gemini.")] = "gemini",
    count: Annotated[int | None, _count("Nodes of the job.")] = None,
    given: Annotated[
        Path | None, _text("Also rate this list of node numbers.", metavar="FILE")
    ] = None,
    down: Annotated[Path | None, _text("List of unavailable nodes.", metavar="FILE")] = None,
    output: Annotated[Path | None, _text("Write the best list.", "-o", metavar="FILE")] = None,
    json_to: JsonOption = None,
) -> None:
    """Find the nodes of a machine that exchange fastest. Can also score a list.

    Example: tailrace map nodes --machine gemini --count 3312
    """
    require_json_place(json_to)
    site = find_machine(machine)
    numbers = read_numbers(given, site, "--given") if given else None
    without = frozenset(read_numbers(down, site, "--down")) if down else frozenset()
    wanted = count or (len(numbers) if numbers else 0)
    if not wanted:
        raise TailraceError("give the number of nodes: --count N, or --given FILE", status=2)
    if output:
        require_place(output, "-o")
    with working("nodes") as tell:
        found = choose(site, wanted, numbers, without, tell)
    if output:
        write_whole(output, "\n".join(map(str, found[0].nodes)) + "\n")
    rows = [{**asdict(one), "gb_per_s": one.gb_per_s} for one in found]
    put_json(json_to, json.dumps(rows))
    if prints_json(json_to):
        return
    _show_choices(found, site.text)


def _show_choices(found: list[Choice], machine: str) -> None:
    table = Table(title=f"All-to-all on {machine}", title_justify="left", title_style="bold")
    table.add_column("nodes", style="cyan", no_wrap=True)
    for heading in ("number", "GB/s per node", "of the best"):
        table.add_column(heading, justify="right")
    table.add_column("fullest link")
    shapes = [one for one in found if one.alone]
    shown = [*shapes[:SHOWN_CHOICES], *(shapes[-1:] if len(shapes) > SHOWN_CHOICES else [])]
    for one in [*shown, *(one for one in found if not one.alone)]:
        if one in shown[SHOWN_CHOICES:]:
            table.add_row("...", "", "", "", "")
        share = found[0].seconds / one.seconds if one.seconds else 1.0
        table.add_row(
            one.name, str(len(one.nodes)), f"{one.gb_per_s:.3g}", f"{share:.2f}", one.worst
        )
    console = make_console()
    console.print(table)
    if shapes:
        console.print(
            "Messages within a box stay on its links; those of other lists also cross "
            "links of other jobs, which the model does not include."
        )
