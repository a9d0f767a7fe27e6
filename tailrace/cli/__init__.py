# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one file a subcommand, listed in one table.

To add one, write ``tailrace/cli/NAME.py`` with a function ``NAME`` (or ``NAME_`` if Python has
a built-in ``NAME``) whose parameters are typer's options, or a ``typer.Typer`` called NAME for
a subcommand with subcommands, and add NAME to a group of `GROUPS` with the first line of its help.
A module is loaded when it is asked for.
"""

import importlib
import json
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

import tailrace
from tailrace.cli.json_option import with_values
from tailrace.cli.old_names import renew
from tailrace.errors import TailraceError
from tailrace.launch.interrupts import ended_by_interrupts, raising_interrupts

# The groups of the commands in the help, in order, with the first line of each command's help.
GROUPS: dict[str, dict[str, str]] = {
    "Simulations": {
        "run": "Run a case.",
        "new": "Copy a shipped case to a file that you can edit.",
        "demo": "Run a flow with each kind of output.",
        "report": "Make the report of a run or of a profile: one page with pictures.",
    },
    "Any MPI program": {
        "profile": "Show where an MPI program spends its time, and which ranks wait.",
        "diff": "Show what changed between two profiles beyond noise.",
        "exec": "Run any program with measured settings or a faster library.",
        "doctor": "Check whether a program is launched correctly.",
        "advise": "Measure which settings make a program faster.",
        "map": "Choose which rank runs on which node; write files for launchers.",
    },
    "Files": {
        "verify": "Compare files with their checksums.",
        "stripe": "Show, recommend or set the stripes of files.",
        "archive": "Archive results on a second tier; restore all or parts of them.",
    },
    "Planning": {
        "plan": "Predict the cost of output, without and with servers.",
        "reproduce": "Compare the models of `plan` with figures that studies published.",
    },
    "This machine": {
        "tune": "Measure which methods are fastest here; store the results.",
        "list": "Show methods, kernels, hints, cases and tables of this build.",
        "bench": "Benchmark this machine and compare with other libraries.",
        "config": "Print the flags that build a program with this installation.",
    },
}
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}

START = """\
Tailrace keeps parallel simulations computing while their data moves.

Your own MPI program, unchanged: where does its time go?
  tailrace profile -n 2 -- ./app
  tailrace doctor -n 2 -- ./app        is it launched correctly?

See what hidden output does, in one to two minutes:
  tailrace demo

Run a shipped case, then a copy that you edited:
  tailrace run taylor_green -n 2 --set grid.n=64
  tailrace report runs/taylor_green-...
  tailrace new decaying mine.toml
  tailrace run mine.toml -n 2

Measure this machine:
  tailrace bench io --folder .         ways to write a shared file, compared
  tailrace tune                        finds the fastest methods

tailrace --help lists all commands; tailrace COMMAND --help explains one.
tailrace --install-completion installs completion for your shell.
"""


class Commands(TyperGroup):
    """The subcommands of `COMMANDS`, each loaded when it is asked for."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        # The names; what is misspelt is compared with them.
        self.commands: Any = dict.fromkeys(COMMANDS)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help without --help and the options of completion, so that it fits a screen.

        `tailrace` alone names --install-completion.
        """
        for parameter in self.get_params(ctx):
            if parameter.name in ("show_completion", "install_completion", "help"):
                parameter.hidden = True  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give commands their names of today and --json its value; then read the arguments."""
        at = next((at for at, word in enumerate(args) if not word.startswith("-")), None)
        if at is not None and not ctx.resilient_parsing:
            words, renamed = renew(args[at:])
            if renamed:
                _complain(f"{renamed}; the old name will be removed after 0.2")
            command = self.get_command(ctx, words[0])
            args = [*args[:at], *(with_values(command, words) if command else words)]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the subcommands by group without loading them."""
        width = max(len(name) for name in COMMANDS)
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the subcommand, or None if there is no such one."""
        if cmd_name not in COMMANDS:
            return None
        if self.commands[cmd_name] is None:
            with ended_by_interrupts():
                self.commands[cmd_name] = _load(cmd_name)
        return self.commands[cmd_name]


def _load(name: str) -> Any:
    module = importlib.import_module(f"tailrace.cli.{name}")
    found = getattr(module, name, None) or getattr(module, f"{name}_")
    if isinstance(found, typer.Typer):
        command: Any = get_group(found)
    else:
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name)(found)
        command = get_command(single)
    command.name = name
    return command


app = typer.Typer(
    name="tailrace",
    cls=Commands,
    help="Keeps parallel simulations computing while their data moves: tailrace demo",
    rich_markup_mode=None,  # plain help fits a screen, and is there at once
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(as_json: bool) -> None:
    if not as_json:
        typer.echo(f"tailrace {tailrace.__version__}")
        return
    from tailrace.cli.list import read_tables  # noqa: PLC0415
    from tailrace.installation import describe  # noqa: PLC0415

    try:
        tables = read_tables()
    except TailraceError:
        tables = []  # no programs are built
    typer.echo(json.dumps(describe(tables), indent=1))


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --version: also print how it was built, as JSON.")
    ] = False,
) -> None:
    if version:
        _print_version(as_json)
        raise typer.Exit
    if as_json:
        raise TailraceError("--json needs a command before it, or --version", status=2)
    if context.invoked_subcommand is None:
        typer.echo(START + _where_docs_are())


def _where_docs_are() -> str:
    from tailrace.programs import SOURCE_ROOT  # noqa: PLC0415

    docs = SOURCE_ROOT / "docs"
    return f"Documents: {docs}" if docs.is_dir() else "Documents: docs/ of the source tree"


def _complain(text: str) -> None:
    print(f"tailrace: {text}", file=sys.stderr)


def _usage_text(error: Any) -> str:
    """Return what is wrong with the command line, and where its help is."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    return message + (f" (see {context.command_path} --help)" if context else "")


def _invoke(arguments: list[str]) -> int:
    """Run a command and return its exit status; what the user can mend is one line."""
    try:
        status = app(arguments, prog_name="tailrace", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except TailraceError as error:
        _complain(str(error))
        return error.status
    except OSError:
        raise
    except Exception as error:
        # The errors of a command line have no public name that all versions of typer share.
        if not hasattr(error, "format_message"):
            raise
        if error.format_message().startswith("Usage:"):  # a group without a subcommand
            print(error.format_message(), flush=True)
        else:
            _complain(_usage_text(error))
        return int(getattr(error, "exit_code", 2))


def _run_command(arguments: list[str]) -> int:
    """Do as `_invoke`, and let the loss of the output or of a file be one line as well."""
    try:
        return _invoke(arguments)
    except BrokenPipeError:
        return 1  # who reads our output has seen enough: `tailrace list | head`
    except OSError as error:
        if error.filename is None:
            _drop_output()  # what is left of it would fail again
        _complain(f"{error.filename or 'writing the output'}: {error.strerror or error}")
        return 1


def _drop_output() -> None:
    """Let what is left of standard output, and what comes, lead nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _flush_output(status: int) -> int:
    """Write what is left of standard output; Python would print a traceback if that fails."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _drop_output()
        if not isinstance(error, BrokenPipeError):
            _complain(f"standard output: {error.strerror}")
        return status or 1
    return status


def _prepare_streams() -> None:
    """Make the standard streams usable: closed ones lead nowhere, no character is refused."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+"))  # noqa: PTH123, SIM115
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]


def main() -> None:
    """Run the command line; an error that the user can mend is one line and exit status 1 or 2."""
    _prepare_streams()
    try:
        with raising_interrupts():
            status = _run_command(sys.argv[1:])
    except (KeyboardInterrupt, typer.Abort):
        status = 130  # as a shell calls the end by SIGINT
    raise SystemExit(_flush_output(status))
