#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/man, a manual page for each command, from the help texts: man_pages.py [--check].

--check changes nothing and names the pages that differ. A page has rarely used options, too, which
--help leaves out. `pip install .` puts the pages into share/man/man1 (cmake/wheel.cmake).
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "man"
sys.path.insert(0, str(ROOT))

LEFT_OUT = ("help", "help_all", "install_completion", "show_completion")


def roff(text: str) -> str:
    """Return text for a line of roff: no escapes, no requests, hyphens that can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield a command and all below it, with their words."""
    yield path, command
    for name in getattr(command, "commands", {}):
        yield from walk(command.get_command(None, name), (*path, name))


def value_name(parameter: Any) -> str:
    """Return what stands for the value of an option or argument, "" for a flag."""
    if getattr(parameter, "is_flag", False):
        return ""
    longest = max(parameter.opts, key=len).strip("-")  # versions of typer differ in types
    return str(parameter.metavar or longest.replace("-", "_").upper())


def default_of(parameter: Any) -> str:
    """Return the sentence on the default, "" without one."""
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return f" Default: {shown}."
    value = parameter.default
    plain = isinstance(value, int | float | str) and not isinstance(value, bool)
    return f" Default: {value}." if shown and plain and value != "" else ""


def entries(parameters: list[Any]) -> list[str]:
    """Return the lines that describe options or arguments."""
    lines = []
    for parameter in parameters:
        value = value_name(parameter)
        if parameter.param_type_name == "argument":
            head = f"\\fI{roff(parameter.metavar or parameter.name)}\\fR"
        else:
            names = [*parameter.opts, *parameter.secondary_opts]
            head = ", ".join(f"\\fB{roff(name)}\\fR" for name in names)
            head += f" \\fI{roff(value)}\\fR" if value else ""
        text = (parameter.help or "").strip()
        text += "" if not text or text.endswith((".", "]")) else "."
        lines += [".TP", head, roff(text + default_of(parameter))]
    return lines


def paragraphs(text: str) -> tuple[list[str], list[str]]:
    """Return the lines of the description, and those of its examples."""
    description: list[str] = []
    examples: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.replace("\f", "").strip()):
        if example := re.fullmatch(r"Example: (.*)", paragraph, flags=re.DOTALL):
            examples += [".nf", roff(" ".join(example[1].split())), ".fi"]
            continue
        description.append(".PP")
        if paragraph.lstrip().startswith("\b"):  # lines that are kept as they are
            kept = paragraph.replace("\b", "").strip("\n").splitlines()
            description += [".nf", *map(roff, kept), ".fi"]
        else:
            description.append(roff(" ".join(paragraph.split())))
    return description, examples


def synopsis(path: tuple[str, ...], command: Any) -> str:
    """Return the line that shows how the command is called."""
    words = [f"\\fB{roff(' '.join(path))}\\fR", "[\\fIOPTIONS\\fR]"]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            name = roff(str(parameter.metavar or parameter.name).strip("{}[]."))
            many = " ..." if parameter.nargs == -1 else ""
            words.append(
                f"\\fI{name}\\fR{many}" if parameter.required else f"[\\fI{name}\\fR{many}]"
            )
    if hasattr(command, "commands"):
        below = "\\fICOMMAND\\fR [\\fIARGUMENTS\\fR]"
        words.append(f"[{below}]" if command.invoke_without_command else below)
    return " ".join(words)


def page(path: tuple[str, ...], command: Any, summaries: dict[str, str]) -> str:
    """Return the manual page of a command."""
    name = "-".join(path)
    description, examples = paragraphs(inspect.cleandoc(command.help or ""))
    summary = next((line for line in description if not line.startswith(".")), "")
    summary = summaries.get(" ".join(path[1:]), "") or summary.partition(":")[0]
    if len(path) == 1:
        description = [".nf", *map(roff, beginning().splitlines()), ".fi"]
    lines = [
        '.\\" SPDX-License-Identifier: BSD-3-Clause',
        '.\\" Written by tools/man_pages.py from the help texts.',
        f'.TH "{name.upper()}" "1" "" "Tailrace" "Tailrace"',
        ".SH NAME",
        f"{roff(name)} \\- {roff(summary.rstrip('.'))}",
        ".SH SYNOPSIS",
        synopsis(path, command),
        ".SH DESCRIPTION",
        *description,
    ]
    parts = {"ARGUMENTS": "argument", "OPTIONS": "option"}
    for title, kind in parts.items():
        found = [one for one in command.params if one.param_type_name == kind]
        found = [one for one in found if one.name not in LEFT_OUT and not hidden_flag(one)]
        lines += [f".SH {title}", *entries(found)] if found else []
    below = getattr(command, "commands", {})
    if below:
        lines.append(".SH COMMANDS")
        for one in below:
            found = command.get_command(None, one)
            text = summaries.get(" ".join((*path[1:], one)), "") or found.get_short_help_str(200)
            lines += [".TP", f"\\fB{roff(one)}\\fR (see {roff(name)}\\-{roff(one)}(1))", roff(text)]
    lines += [".SH EXAMPLE", *examples] if examples else []
    above = "-".join(path[:-1])
    lines += [".SH SEE ALSO", f"\\fB{roff(above)}\\fR(1)"] if above else []
    return "\n".join(line.rstrip() for line in lines) + "\n"


def beginning() -> str:
    """Return what `tailrace` alone prints."""
    from tailrace.cli import START  # noqa: PLC0415

    return START


def hidden_flag(parameter: Any) -> bool:
    """Whether an option exists for old command lines only."""
    return bool(getattr(parameter, "hidden", False)) and not getattr(parameter, "help", None)


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    from typer.main import get_command  # noqa: PLC0415

    from tailrace.cli import COMMANDS, app  # noqa: PLC0415

    return {
        "-".join(path) + ".1": page(path, command, COMMANDS)
        for path, command in walk(get_command(app), ("tailrace",))
    }


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit("usage: tools/man_pages.py [--check]")
    new = pages()
    old = {path.name: path.read_text() for path in FOLDER.glob("*.1")}
    if check:
        stale = sorted(name for name in {*new, *old} if new.get(name) != old.get(name))
        print("".join(f"docs/man/{name}: run tools/man_pages.py\n" for name in stale), end="")
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for name in old.keys() - new.keys():
        (FOLDER / name).unlink()
    for name, text in new.items():
        (FOLDER / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
