# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace new``: a case file of one's own, from a shipped one."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from tailrace.errors import TailraceError
from tailrace.programs import find_case


def new(
    case: Annotated[str, typer.Argument(help="Shipped case (tailrace list cases).")],
    path: Annotated[Path, typer.Argument(help="New file, e.g. mine.toml.")],
) -> None:
    """Copy a shipped case to a file that you can edit.

    Example: tailrace new decaying mine.toml
    """
    text = find_case(case).read_text()
    try:
        with path.open("x") as file:
            file.write(text)
    except FileExistsError as error:
        raise TailraceError(f"{path}: exists already; give a new file") from error
    name = shlex.quote(str(path))
    typer.echo(f"{path} was created; edit it, then: tailrace run {name} -n 2")
