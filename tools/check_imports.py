#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the imports of the Python package: no circles, and none that points the wrong way.

Imports inside functions count as well. A module name that is only known when the program runs
(`importlib.import_module`) is not seen.
"""

import ast
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Parts of tailrace, and who may import them besides the part itself; None: everyone.
IMPORTED_BY: dict[str, set[str]] = {
    "cli": {"__main__"},
    "apps": {"cli"},
    "benchmarks": {"cli", "planning"},
    "reproduce": {"cli"},
    "report": {"cli", "apps", "benchmarks", "planning", "reproduce"},
}


def modules() -> dict[str, Path]:
    """Return the path of each module of the package by its name."""
    found = {}
    for path in sorted((ROOT / "tailrace").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: Iterable[str]) -> dict[str, int]:
    """Return the names that a module imports, with the line of each.

    ``from package import name`` is the module package.name if that is one of `known`.
    """
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else node.module for name in full]
        else:
            continue
        for name in names:
            found.setdefault(name, node.lineno)
    return found


def part_of(module: str) -> str:
    """Return the folder, or the module, right below tailrace."""
    return ([*module.split("."), ""])[1]


def wrong_ways(module: str, path: Path, names: dict[str, int]) -> Iterable[str]:
    """Yield a line for each import of a module that points the wrong way."""
    own = part_of(module)
    for name, line in names.items():
        where = f"{path.relative_to(ROOT)}:{line}"
        if name.split(".")[0] == "bench":
            yield f"{where}: tailrace must not import {name}, which no installation has"
        part = part_of(name) if name.split(".")[0] == "tailrace" else ""
        if part in IMPORTED_BY and own not in IMPORTED_BY[part] | {part}:
            yield f"{where}: {own or 'tailrace'} must not import {name}"


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import one another, by Tarjan's algorithm."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(module: str) -> None:
        number[module] = low[module] = len(number)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in number:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], number[other])
        if low[module] == number[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1 or module in graph[module]:
                found.append(group)

    for module in graph:
        if module not in number:
            visit(module)
    return found


def problems() -> list[str]:
    """Return a line for each circle and for each import that points the wrong way."""
    known = modules()
    found: list[str] = []
    graph: dict[str, set[str]] = {}
    for module, path in known.items():
        names = imports(path, known)
        found += wrong_ways(module, path, names)
        graph[module] = {name for name in names if name in known}
    found += [f"import circle: {' -> '.join([*group, group[0]])}" for group in circles(graph)]
    return found


if __name__ == "__main__":
    lines = problems()
    print("\n".join(lines), end="\n" if lines else "")
    sys.exit(1 if lines else 0)
