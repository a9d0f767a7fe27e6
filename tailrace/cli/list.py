# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace list``: the tables of the library, as it was built here."""

import difflib
import itertools
import json
from typing import Annotated, Any

import typer

from tailrace.cli.json_option import JsonOption, prints_json, put_json, require_json_place
from tailrace.errors import TailraceError
from tailrace.launch.alone import run_alone
from tailrace.programs import shipped_cases

Table = dict[str, Any]


def read_tables() -> list[Table]:
    """Return the tables.

    Each is ``{"name", "title", "columns", "entries": [{"name", "summary", "applies",
    "available"}]}``.
    """
    done = run_alone("tailrace-list")
    if done.returncode != 0:
        raise TailraceError(f"tailrace-list failed: {done.stderr.strip()}")
    try:
        tables: list[Table] = json.loads(done.stdout)["tables"]
    except (ValueError, KeyError) as error:
        raise TailraceError("tailrace-list printed no tables; run `make build`") from error
    cases = [
        {
            "name": name,
            "summary": _first_comment(path.read_text()),
            "applies": "",
            "available": True,
        }
        for name, path in shipped_cases().items()
    ]
    columns = ["case", "what it shows", ""]
    title = "Shipped cases (tailrace run)"
    return [*tables, {"name": "cases", "title": title, "columns": columns, "entries": cases}]


def _first_comment(text: str) -> str:
    first = text.partition("\n")[0]
    return first.lstrip("# ").rstrip() if first.startswith("#") else ""


def did_you_mean(name: str, known: list[str]) -> str:
    """Return "; did you mean X?" if one of `known` is near `name`, else ""."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def require_hints(text: str, option: str) -> None:
    """Refuse text that is not NAME=VALUE:NAME=VALUE with names of the table of hints."""
    pairs = [word for word in text.split(":") if word]
    if not pairs:
        return
    table = next(table for table in read_tables() if table["name"] == "hints")
    names = [entry["name"] for entry in table["entries"]]
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not value:
            raise TailraceError(f"{option} {pair}: expected NAME=VALUE:NAME=VALUE", status=2)
        if name not in names:
            raise TailraceError(
                f"{option} {pair}: there is no hint {name}{did_you_mean(name, names)} "
                "(tailrace list hints shows all)",
                status=2,
            )


def _choose(tables: list[Table], name: str) -> list[Table]:
    if not name:
        return tables
    chosen = [table for table in tables if table["name"] == name]
    if not chosen:
        names = [table["name"] for table in tables]
        raise TailraceError(
            f"no table {name}{did_you_mean(name, names)} (tables: {', '.join(names)})", status=2
        )
    return chosen


def markdown(table: Table) -> str:
    """Return the table for the docs: the same whatever is built in here.

    Entries that follow each other and differ in their names alone are one line.
    """
    settings = table["columns"][2].startswith("settings")
    alike = itertools.groupby(table["entries"], key=lambda e: (e["summary"], e["applies"]))
    rows = [
        table["columns"],
        *([", ".join(f"`{e['name']}`" for e in entries), *texts] for texts, entries in alike),
    ]
    width = 3 if table["columns"][2] else 2
    lines: list[str] = []
    for row in rows:
        cells = [cell.replace("|", "\\|") for cell in row[:width]]
        if settings and lines and cells[2]:
            cells[2] = f"`{cells[2]}`"
        lines.append(f"| {' | '.join(cells)} |")
        if len(lines) == 1:
            lines.append("|---" * width + "|")
    return "\n".join(lines) + "\n"


def _print(tables: list[Table]) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as Grid  # noqa: PLC0415

    console = Console(markup=False)
    for content in tables:
        title = f"{content['title']}: {content['name']}"
        grid = Grid(title=title, title_justify="left", title_style="bold", expand=True)
        grid.add_column(content["columns"][0], style="cyan", no_wrap=True)
        grid.add_column(content["columns"][1], ratio=3)
        if content["columns"][2]:
            grid.add_column(content["columns"][2], ratio=2)
        for entry in content["entries"]:
            applies = entry["applies"] if entry["available"] else "not in this build"
            cells = [entry["name"], entry["summary"], applies]
            grid.add_row(*cells[: len(grid.columns)])
        console.print(grid)


def list_(
    table: Annotated[str, typer.Argument(help="Table, e.g. hints [default: all].")] = "",
    json_to: JsonOption = None,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print tables in Markdown, as in the docs.")
    ] = False,
) -> None:
    """Show methods, kernels, hints, cases and tables of this build.

    Example: tailrace list hints
    """
    if prints_json(json_to) and as_markdown:
        raise TailraceError("give either --json or --markdown", status=2)
    require_json_place(json_to)
    tables = _choose(read_tables(), table)
    put_json(json_to, json.dumps({"tables": tables}, indent=2))
    if prints_json(json_to):
        return
    if as_markdown:
        titles = [f"## {content['title']}\n\n" if not table else "" for content in tables]
        texts = [title + markdown(content) for title, content in zip(titles, tables, strict=True)]
        typer.echo("\n".join(texts), nl=False)
    else:
        _print(tables)
