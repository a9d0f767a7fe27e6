# SPDX-License-Identifier: BSD-3-Clause
"""Help that fits a screen: rarely used options are ``hidden``, and shown by ``--help-all``."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup


class CommandsOnly(TyperGroup):
    """Commands whose help has no section for --help, their only option: who reads it knows it."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the section of commands."""
        self.format_commands(ctx, formatter)


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        for parameter in context.command.params:
            parameter.hidden = False  # type: ignore[attr-defined]
        typer.echo(context.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all",
        is_eager=True,
        expose_value=False,
        callback=_show_all,
        help="Also show rarely used options.",
    ),
]
