# SPDX-License-Identifier: BSD-3-Clause
"""Names of routines: the function and line of an instruction, as a programmer wrote them."""

import re
import shutil
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tailrace.profile.sites import TIMEOUT_S, Place, short_name
from tailrace.profile.symbols import Functions
from tailrace.tools import run_tool

UNKNOWN = "(unknown)"
MAIN_PROGRAM = "(main program)"

# What compilers add to the names of copies and parts of a function.
_PARTS = re.compile(
    r"(\.(constprop|isra|part|cold|lto_priv|_omp_fn|_omp_cpyfn|llvm|localalias)|\.\d+)+$"
)
# Procedures of modules: gfortran, Intel, NAG, flang; then external ones.
_MODULES = (
    re.compile(r"^__(?P<module>[a-z]\w*?)_MOD_(?P<name>\w+)$"),
    re.compile(r"^(?P<module>[a-z]\w*?)_(?:mp|MP)_(?P<name>\w+?)_?$"),
    re.compile(r"^_QM(?P<module>[a-z0-9_]+)P(?P<name>[a-z0-9_]+)$"),
)
_EXTERNAL = (re.compile(r"^_QP(?P<name>[a-z0-9_]+)$"), re.compile(r"^(?P<name>[a-z]\w*?)__?$"))
_MAIN = ("MAIN__", "MAIN_", "_QQmain")


@dataclass(frozen=True)
class Routine:
    """A function, and the line that was interrupted in it ("" and 0: unknown)."""

    function: str
    file: str = ""
    line: int = 0


def fortran_name(name: str) -> str:
    """Return the name that a Fortran programmer gave, of that of the linker; others as they are.

    >>> fortran_name("__heat_MOD_step"), fortran_name("dgemm_"), fortran_name("main")
    ('heat::step', 'dgemm', 'main')
    """
    if name in _MAIN:
        return MAIN_PROGRAM
    for pattern in _MODULES:
        if found := pattern.match(name):
            return f"{found['module']}::{found['name']}"
    for pattern in _EXTERNAL:
        if found := pattern.match(name):
            return str(found["name"])
    return name


def shown_name(function: str) -> str:
    """Return the name of a demangled function without types and what compilers added.

    >>> shown_name("void solve<int>(int, char) [clone .isra.0]"), shown_name("work._omp_fn.0")
    ('solve<int>', 'work')
    """
    plain = _PARTS.sub("", function)
    if re.fullmatch(r"\w+", plain):
        return fortran_name(plain)
    name = short_name(plain)
    if "operator" in name:
        return name
    depth = 0
    for i in range(len(name) - 1, -1, -1):
        depth += (name[i] in ")>}") - (name[i] in "(<{")
        if depth == 0 and name[i] == " ":  # the type that it returns, of templates alone
            return name[i + 1 :]
    return name


def _by_lines(module: str, offsets: list[int]) -> dict[int, Routine]:
    """Return the innermost function and line of each address that has a line."""
    tool = shutil.which("addr2line") or shutil.which("llvm-symbolizer")
    if tool is None:
        return {}
    command = [tool, "-e", module, "-a", "-f", "-C", "-i"]
    if "symbolizer" in tool:
        command = [tool, f"--obj={module}", "--output-style=GNU", "-a", "-f", "-C", "-i"]
    text = "".join(f"{offset:#x}\n" for offset in offsets)
    done = run_tool(*command, timeout_s=TIMEOUT_S, text=text)
    found: dict[int, Routine] = {}
    lines = done.stdout.splitlines() if done else []
    for at, address in enumerate(lines[:-2]):
        if not re.fullmatch(r"0x[0-9a-f]+", address):
            continue
        function, place = lines[at + 1 : at + 3]
        path, _, number = place.split(" (discriminator")[0].rpartition(":")
        if function != "??" and path and not path.startswith("??"):
            line = int(number) if number.isdigit() else 0
            found[int(address, 16)] = Routine(shown_name(function), Path(path).name, line)
    return found


def _demangled(names: list[str]) -> dict[str, str]:
    tool = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
    done = run_tool(tool, timeout_s=TIMEOUT_S, text="\n".join(names)) if tool and names else None
    lines = done.stdout.splitlines() if done else []
    return dict(zip(names, lines, strict=True)) if len(lines) == len(names) else {}


def name_routines(places: Iterable[Place]) -> dict[Place, Routine]:
    """Return the routine of each instruction: (file of the program or library, offset).

    Where a file has neither lines nor symbols, a routine is named by where it begins.
    """
    by_module: dict[str, list[int]] = defaultdict(list)
    for module, offset in sorted(set(places)):
        by_module[module].append(offset)
    found: dict[Place, Routine] = {}
    for module, offsets in by_module.items():
        if not module:
            found |= dict.fromkeys(((module, offset) for offset in offsets), Routine(UNKNOWN))
            continue
        functions = Functions(Path(module))
        lined = _by_lines(module, offsets) if functions.has_lines else {}
        names = {offset: functions.name_at(offset) for offset in offsets if offset not in lined}
        plain = _demangled(sorted({name for name in names.values() if name}))
        for offset in offsets:
            name = names.get(offset, "")
            start = functions.start_at(offset)
            if offset in lined:
                routine = lined[offset]
            elif name:
                routine = Routine(shown_name(plain.get(name, name)))
            else:
                routine = Routine(UNKNOWN if start is None else f"+{start:#x}")
            found[module, offset] = routine
    return found
