# SPDX-License-Identifier: BSD-3-Clause
"""Places of a program by address: file:line from debug information, else function, else offset."""

import re
import shutil
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tailrace.profile.record import PYTHON
from tailrace.profile.symbols import Functions
from tailrace.tools import run_tool

Place = tuple[str, int]  # file of the program or library, offset of the return address

TIMEOUT_S = 120


def _ask(tool: str, module: str, offsets: list[int]) -> list[tuple[str, str]]:
    """Return (function, file:line) of each address from addr2line or llvm-symbolizer."""
    # One byte back: the call is before the address that it returns to.
    addresses = "\n".join(hex(offset - 1) for offset in offsets) + "\n"
    command = [tool, "-e", module, "-f", "-C"]
    if "symbolizer" in tool:
        command = [tool, f"--obj={module}", "--output-style=GNU", "--functions", "--demangle"]
    done = run_tool(*command, timeout_s=TIMEOUT_S, text=addresses)
    lines = done.stdout.splitlines() if done else []
    return list(zip(lines[0::2], lines[1::2], strict=False))


def short_name(function: str) -> str:
    """Return the name of a C++ function without parameters and what the compiler added."""
    name = re.sub(r" \[clone [^]]*\]", "", function).replace("(anonymous namespace)::", "")
    name = name.removesuffix(" const")
    depth = 0
    for i in range(len(name) - 1, -1, -1):
        depth += (name[i] == ")") - (name[i] == "(")
        if depth == 0:
            return name[:i] if name.endswith(")") and i > 0 else name
    return name


def _name(module: str, offset: int, answer: tuple[str, str] | None) -> str:
    """Return the shortest name of a place that still says where it is."""
    function, line = answer or ("??", "??:0")
    function = short_name(function)
    path, _, number = line.split(" (discriminator")[0].rpartition(":")
    if path and not path.startswith("??") and number not in ("?", "0"):
        return f"{Path(path).name}:{number}" + (f" {function}" if function != "??" else "")
    library = Path(module).name or "?"
    return f"{library} {function}" if function != "??" else f"{library}+{offset:#x}"


def name_places(places: Iterable[Place]) -> dict[Place, str]:
    """Return the name of each place; without addr2line and llvm-symbolizer file and offset."""
    by_module: dict[str, list[int]] = defaultdict(list)
    for module, offset in sorted(set(places)):
        by_module[module].append(offset)
    tool = shutil.which("addr2line") or shutil.which("llvm-symbolizer")
    names: dict[Place, str] = {}
    for module, offsets in by_module.items():
        if offsets == [PYTHON]:  # "file:line function" already
            path, _, rest = module.rpartition(":")
            names[module, PYTHON] = f"{Path(path).name}:{rest}"
            continue
        answers: list[tuple[str, str]] = []
        if tool and Path(module).is_file():
            answers = _ask(tool, module, offsets)
        # A stripped program has few functions; addr2line takes the last one before an address.
        functions = Functions(Path(module)) if answers else None
        for i, offset in enumerate(offsets):
            answer = answers[i] if i < len(answers) else None
            if answer and functions and functions.has_names and not functions.name_at(offset - 1):
                answer = ("??", answer[1])
            names[module, offset] = _name(module, offset, answer)
    return names
