# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace list``: the tables of the library, as it was built here."""

import json
import subprocess
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tailrace.errors import TailraceError
from tailrace.launcher import find_launcher
from tailrace.programs import find_program, shipped_cases


def read_tables() -> list[dict[str, Any]]:
    """Return the tables ``{"title", "entries": [{"name", "summary", "applies"}]}``."""
    program = find_program("tailrace-list")
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        # Some MPI libraries start no program without their launcher.
        command = [*find_launcher(1, 1).prefix, str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TailraceError(f"{program} failed: {done.stderr.strip()}")
    tables: list[dict[str, Any]] = json.loads(done.stdout)["tables"]
    cases = [
        {"name": name, "summary": _first_comment(path.read_text()), "applies": ""}
        for name, path in shipped_cases().items()
    ]
    return [*tables, {"title": "Shipped cases", "entries": cases}]


def _first_comment(text: str) -> str:
    first = text.partition("\n")[0]
    return first.lstrip("# ").rstrip() if first.startswith("#") else ""


def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show methods, kernels, ways to write files and hints, and when each applies."""
    tables = read_tables()
    if as_json:
        typer.echo(json.dumps({"tables": tables}, indent=2))
        return
    console = Console(markup=False)
    for content in tables:
        table = Table(title=content["title"], title_justify="left", title_style="bold", expand=True)
        table.add_column("name", style="cyan", no_wrap=True)
        table.add_column("what it does", ratio=3)
        table.add_column("applies", ratio=2)
        for entry in content["entries"]:
            table.add_row(entry["name"], entry["summary"], entry["applies"])
        console.print(table)
