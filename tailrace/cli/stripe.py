# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace stripe``: how files are spread over the storage targets of a file system."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli.json_option import JsonOption, prints_json, put_json, require_json_place
from tailrace.errors import TailraceError
from tailrace.striping import file_system
from tailrace.striping.advice import advise as advise_stripes
from tailrace.striping.layout import (
    ALL_TARGETS,
    Component,
    Layout,
    parse_size,
    short_size,
    size_text,
)

stripe = typer.Typer(
    help="Show, recommend or set the stripes of files on Lustre and CephFS.\n\n"
    "Example: tailrace stripe show /scratch/me",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Where = Annotated[Path, typer.Argument(help="File or folder.")]


def _extent(component: Component) -> str:
    end = "end" if component.end is None else size_text(component.end)
    return f"{size_text(component.start) if component.start else '0'} to {end}"


def _component_lines(component: Component, parts: int) -> list[str]:
    count = component.stripe_count
    lines = [f"  bytes {_extent(component)}"] if parts > 1 else []
    lines.append(f"  stripe count  {'all targets' if count == ALL_TARGETS else count}")
    lines.append(f"  stripe size   {size_text(component.stripe_bytes)}")
    if component.targets:
        lines.append(f"  targets       {' '.join(map(str, component.targets))}")
    if component.pool:
        lines.append(f"  pool          {component.pool}")
    return lines


def _print(layout: Layout) -> None:
    what = "new files of this folder" if layout.is_folder else "this file"
    source = f", from {layout.source}" if layout.source else ""
    if not layout.components:
        typer.echo(f"{layout.path}: {layout.file_system} has no stripes that can be read or set")
        return
    typer.echo(f"{layout.path}: {layout.file_system}, {what}{source}")
    for component in layout.components:
        typer.echo("\n".join(_component_lines(component, len(layout.components))))
    for name, value in layout.extra.items():
        typer.echo(f"  {name:13} {size_text(int(value))}")


@stripe.command()
def show(
    path: Where,
    json_to: JsonOption = None,
) -> None:
    """Show the layout of a file or of new files of a folder.

    Example: tailrace stripe show /scratch/me
    """
    require_json_place(json_to)
    layout = file_system.read_layout(path)
    put_json(json_to, json.dumps(dataclasses.asdict(layout), indent=2))
    if not prints_json(json_to):
        _print(layout)


@stripe.command()
def advise(
    path: Where,
    files: Annotated[int, typer.Option(min=1, help="Files written at the same time.")],
    writers: Annotated[int, typer.Option(min=1, help="Processes that write to each file.")],
    file_bytes: Annotated[
        str, typer.Option("--bytes", metavar="SIZE", help="Size of each file, e.g. 64G.")
    ],
    targets: Annotated[
        int, typer.Option(min=0, help="Storage targets [default: from the file system].")
    ] = 0,
    json_to: JsonOption = None,
) -> None:
    """Recommend stripes, with reasons and the command that sets them. Changes nothing.

    Example: tailrace stripe advise /scratch/me --files 1 --writers 64 --bytes 64G
    """
    require_json_place(json_to)
    size = parse_size(file_bytes, "--bytes")
    if size == 0:
        raise TailraceError("--bytes 0: expected the size of a file", status=2)
    number = targets or file_system.count_targets(path)
    if number == 0:
        kind = file_system.file_system_of(path)
        raise TailraceError(
            f"{path}: {kind} does not report its number of storage targets; give --targets"
        )
    advice = advise_stripes(files, writers, size, number)
    command = file_system.set_command(path, advice.count, advice.size)
    hints = f"striping_factor={advice.count}:striping_unit={short_size(advice.size)}"
    answer = {**dataclasses.asdict(advice), "targets": number, "command": command}
    put_json(json_to, json.dumps(answer, indent=2))
    if prints_json(json_to):
        return
    typer.echo(f"stripe count {advice.count}, stripe size {size_text(advice.size)}")
    for reason in advice.reasons:
        typer.echo(f"  {reason}")
    if command:
        typer.echo(f"set it before you create the files: {command}")
        typer.echo(f"or for files of Tailrace: TAILRACE_HINTS='PATTERN:{hints}'")
    else:
        kind = file_system.file_system_of(path)
        typer.echo(f"{path} is on {kind}, which has no stripes to set")


@stripe.command("set")
def set_(
    path: Where,
    count: Annotated[int, typer.Option(help="Storage targets; -1: all.")] = 0,
    size: Annotated[str, typer.Option(help="Stripe size, e.g. 4M.")] = "0",
) -> None:
    """Set the stripes of a folder or file. A file must be new or empty.

    Example: tailrace stripe set /scratch/me --count 4 --size 4M
    """
    file_system.set_layout(path, count, parse_size(size, "--size"))
    _print(file_system.read_layout(path))
