# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace reproduce``: what the models give for the published figures of earlier studies."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tailrace.cli.console import make_console
from tailrace.cli.json_option import JsonOption, prints_json, put_json, require_json_place
from tailrace.errors import TailraceError
from tailrace.files import require_place, write_whole
from tailrace.launch.interrupts import ended_by_interrupts
from tailrace.progress import working
from tailrace.reproduce.figure import Row, as_data, listed, texts
from tailrace.reproduce.figures import FIGURES, compute, find_figure


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="One figure [default: all].", show_default=False)
    ] = "",
    only_list: Annotated[
        bool, typer.Option("--list", help="List the figures without computing them.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write a page with the model's curves."
        ),
    ] = None,
    json_to: JsonOption = None,
) -> None:
    """Compare the models of `plan` with figures that studies published.

    Example: tailrace reproduce -o reproduce.html
    """
    require_json_place(json_to)
    if output is not None:
        if only_list:
            raise TailraceError("give either --list or -o", status=2)
        require_place(output, "-o")
    chosen = [find_figure(name)] if name else FIGURES
    if only_list:
        put_json(json_to, json.dumps([listed(figure) for figure in chosen], indent=1))
        if not prints_json(json_to):
            table = Table()
            table.add_column("name", no_wrap=True)
            table.add_column("figure")
            table.add_column("published")
            for figure in chosen:
                table.add_row(figure.name, f"{figure.what} ({figure.of})", figure.published)
            make_console().print(table)
        return
    rows = []
    with working("figures", len(chosen)) as tell:
        for figure in chosen:
            tell(figure.name)
            rows.append(compute(figure))
    data = [as_data(row) for row in rows]
    put_json(json_to, json.dumps(data[0] if name else data, indent=1))
    if output is not None:
        with ended_by_interrupts():  # matplotlib takes a second to load: only here
            from tailrace.reproduce.page import render  # noqa: PLC0415
        write_whole(output, render(rows))
    if not prints_json(json_to):
        _show(rows, bool(name))
        if output is not None:
            typer.echo(f"Page: {output}")


def _show(rows: list[Row], one: bool) -> None:
    console = make_console()
    table = Table()
    table.add_column("name", no_wrap=True)
    table.add_column("figure")
    for heading in ("study", "ours", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    for row in rows:
        table.add_row(row.figure.name, row.figure.what, *texts(row), row.verdict)
    console.print(table)
    printed = [row for row in rows if row.figure.study is not None]
    if one:
        console.print(rows[0].found.reason, highlight=False)
        for line in rows[0].found.assumed:
            console.print(f"Assumed: {line}.", highlight=False)
        return
    good = sum(row.reproduced for row in rows)
    console.print(
        f"{good} of {len(printed)} figures with printed values are within 15 %. `tailrace "
        "reproduce NAME` gives the reason for a difference.",
        highlight=False,
    )
