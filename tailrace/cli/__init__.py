# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one file a subcommand, listed in one table.

To add one, write ``tailrace/cli/NAME.py`` with a function ``NAME`` (or ``NAME_`` if Python has
a ``NAME`` of its own) whose parameters are typer's options, or a ``typer.Typer`` called NAME for
a subcommand with subcommands, and add NAME to `COMMANDS`.
"""

import importlib
import importlib.util
from typing import Annotated

import typer

import tailrace
from tailrace.errors import TailraceError

COMMANDS = ("run", "report", "demo", "list", "bench", "plan", "price", "stripe", "tune", "verify")

app = typer.Typer(
    name="tailrace",
    help="Keeps parallel simulations computing while their data moves.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tailrace {tailrace.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


for _name in COMMANDS:
    if importlib.util.find_spec(f"tailrace.cli.{_name}") is None:
        continue
    _module = importlib.import_module(f"tailrace.cli.{_name}")
    _function = getattr(_module, _name, None) or getattr(_module, f"{_name}_")
    if isinstance(_function, typer.Typer):
        app.add_typer(_function, name=_name)
    else:
        app.command(_name)(_function)


def main() -> None:
    """Run the command line; an error that the user can mend is one line and exit status 1 or 2."""
    try:
        app()
    except TailraceError as error:
        typer.echo(f"tailrace: {error}", err=True)
        raise SystemExit(error.status) from None
