# SPDX-License-Identifier: BSD-3-Clause
"""The option --json, which means the same in every command.

``--json`` prints JSON on standard output in place of the text. ``--json FILE`` prints the text and
writes the JSON to a file. A word after ``--json`` could also be an argument of the command:
`with_values` decides before the options are read.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace.errors import TailraceError
from tailrace.files import require_place, write_whole

PRINT = Path("-")  # the value of --json without a FILE

JsonOption = Annotated[
    Path | None,
    typer.Option("--json", metavar="[FILE]", help="Print JSON, or write it to FILE."),
]


def with_values(command: Any, words: list[str]) -> list[str]:
    """Return the words of a command line with --json as --json=FILE, --json=- if it has no FILE.

    The word after --json is a FILE in a command that takes no arguments, or takes a program after
    "--". A command that takes names of files as arguments needs --json=FILE.
    """
    end = words.index("--") if "--" in words else len(words)
    own = words[:end]
    group: Any = None
    for word in own:
        below = getattr(command, "commands", {})
        if word in below:
            group, command = command, command.get_command(None, word)
    option = next((one for one in command.params if "--json" in one.opts), None)
    if option is None or getattr(option, "is_flag", False):
        return words
    new: list[str] = []
    left = iter(enumerate(own))
    for at, word in left:
        if word != "--json":
            new.append(word)
            continue
        following = own[at + 1] if at + 1 < len(own) else ""
        if _is_file(command, group, following, end < len(words)):
            next(left)
            new.append(f"--json={following}")
        else:
            new.append(f"--json={PRINT}")
    return [*new, *words[end:]]


def _is_file(command: Any, group: Any, word: str, has_program: bool) -> bool:
    """Tell whether the word after --json names the file to write."""
    if not word or (word.startswith("-") and word != str(PRINT)):
        return False
    if word in getattr(group, "commands", {}):
        return False
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    if not arguments:
        return True
    takes_program = len(arguments) == 1 and arguments[0].name == "command"
    return takes_program and (has_program or word.endswith(".json"))


def prints_json(to: Path | None) -> bool:
    """Tell whether standard output takes JSON, in place of the text."""
    return to == PRINT


def require_json_place(to: Path | None) -> None:
    """Complain about a file that cannot be written, before its content is computed."""
    if to is not None and not prints_json(to):
        require_place(to, "--json")
        if to.exists() and not _holds_json(to):
            raise TailraceError(
                f"--json {to}: exists and does not contain JSON; give a new file", status=2
            )


def _holds_json(path: Path) -> bool:
    """Tell whether a file is empty or begins as JSON does, so that it may be replaced."""
    with path.open("rb") as file:
        first = file.read(64).lstrip()[:1]
    return first in (b"", b"{", b"[")


def put_json(to: Path | None, text: str) -> None:
    """Print the text or write it to the file; a final line end is added."""
    if to is None:
        return
    if prints_json(to):
        typer.echo(text)
    else:
        write_whole(to, text + "\n")
