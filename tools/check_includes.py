#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that includes point one way, that headers across components are public, and how many types
the public headers define.

The order is chooser <- core <- {layout, tune} <- move <- {model, file <- store, fft} <- server <-
{apps, bindings, plugins}. `trace` needs only core, `tune` only core and trace. The kernels `dense`
and `sparse` need only the chooser; `krylov` lies above move and sparse, `pdense` above move and
dense. Public headers belong to the component whose interface they are. A file that includes one
from a component above it, or on the same level, is an error.

Applications, bindings and plug-ins use public headers. PRIVATE holds how many private headers of
other components each still includes; a larger number is an error, and so is a smaller one that the
table does not hold yet. TYPES holds how many types users may have to learn; a change that raises a
number gives its reason there.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Components that a component may include from, besides itself.
BELOW = {
    "chooser": set(),
    "core": {"chooser"},
    "trace": {"chooser", "core"},
    "dense": {"chooser"},
    "sparse": {"chooser"},
    "layout": {"chooser", "core"},
    "tune": {"chooser", "core", "trace"},
    "move": {"chooser", "core", "layout", "trace", "tune"},
    "krylov": {"chooser", "core", "layout", "move", "sparse"},
    "pdense": {"chooser", "core", "layout", "move", "dense"},
    "model": {"chooser", "core", "layout", "move"},
    "file": {"chooser", "core", "layout", "move", "trace"},
    "store": {"chooser", "core", "layout", "move", "trace", "tune", "file"},
    "fft": {"chooser", "core", "layout", "move", "trace", "tune"},
    "server": {"chooser", "core", "layout", "move", "trace", "tune", "file", "store", "fft"},
}

# What a table may name although it lies above.
LISTED = {("file", "file_back_ends/entries.hpp")}

# What no component includes.
ABOVE = ("apps/", "bench/", "plugins/", "bindings/", "file_back_ends/")

# How many private headers of other components are included from here.
PRIVATE = {"apps": 0, "bindings": 0, "plugins": 0}

# How many classes, structures and enumerations the public headers define at most: those of
# include/tailrace, and those of all, with more/ and the kernels. Nested types, aliases and what is
# in `detail` do not count.
TYPES = {"front": 36, "all": 149}  # 20 of them serve bindings, plug-ins and applications

# The component of each public header, tailrace/NAME.hpp or tailrace/more/NAME.hpp.
PUBLIC = {
    "agreed_error": "core",
    "array_transform": "fft",
    "attributes": "store",
    "axis_text": "core",
    "block_incomplete_lu": "sparse",
    "borrowed_blocks": "sparse",
    "box": "layout",
    "buffer": "core",
    "comm": "core",
    "dense": "dense",
    "dense_factors": "dense",
    "device_driver": "core",
    "dist_matrix": "krylov",
    "distributed_factors": "pdense",
    "error": "core",
    "exchange": "move",
    "fft": "fft",
    "fft_stages": "fft",
    "file": "file",
    "file_contents": "store",
    "file_stripes": "file",
    "fused": "fft",
    "gemm": "dense",
    "hints": "file",
    "huge_pages": "core",
    "incomplete_lu": "sparse",
    "input": "store",
    "item_type": "store",
    "krylov": "krylov",
    "lanes": "core",
    "launched_alone": "core",
    "layout": "layout",
    "link_load": "model",
    "list_of": "layout",
    "log": "core",
    "memory_rates": "move",
    "method_info": "core",
    "nearest_word": "core",
    "node_array": "move",
    "node_board": "move",
    "node_map": "core",
    "output": "store",
    "output_options": "store",
    "output_statistics": "store",
    "owned": "core",
    "pgesv": "pdense",
    "plan": "move",
    "process_grid": "layout",
    "reduction": "move",
    "reduction_tally": "move",
    "reduction_task": "move",
    "session": "server",
    "sparse": "sparse",
    "stage": "store",
    "stream": "server",
    "stream_options": "server",
    "trace": "trace",
    "tune": "tune",
    "verify": "store",
    "whole_file": "core",
    "write_behind": "file",
    "xdmf": "store",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


# Where the sources of a component lie, and which component a public header of this folder has.
SOURCES = ("src/*/**/*.?pp", "kernels/*/**/*.?pp", "chooser/*.?pp")
HEADERS = ("include/tailrace/**/*.hpp", "kernels/include/tailrace/**/*.hpp")


def component_of_include(name: str) -> str | None:
    """Return the component that an include names, or None for a file of the same folder."""
    parts = name.split("/")
    if parts[0] == "tailrace":
        return PUBLIC.get(Path(parts[-1]).stem, "?")
    return parts[0] if parts[0] in BELOW and len(parts) > 1 else None


def component_of(path: Path) -> str:
    """Return the component that a file belongs to."""
    parts = path.relative_to(ROOT).parts
    if "include" in parts:
        return PUBLIC.get(path.stem, "?")
    return parts[0] if parts[0] == "chooser" else parts[1]


def wrong_directions() -> list[str]:
    """Return one line for each include that points the wrong way."""
    found = []
    files = {path for pattern in (*SOURCES, *HEADERS) for path in ROOT.glob(pattern)}
    for path in sorted(files):
        own = component_of(path)
        where = path.relative_to(ROOT)
        if own not in BELOW:
            found.append(f"{where}: its component is not in the table of tools/check_includes.py")
            continue
        for name in INCLUDE.findall(path.read_text()):
            component = component_of_include(name)
            if component == "?":
                found.append(f"{where}: {name} has no component in tools/check_includes.py")
            elif component not in {None, own, *BELOW[own]} and (own, name) not in LISTED:
                found.append(f"{where}: {own} must not include {name} of {component}")
            if name.startswith(ABOVE) and (own, name) not in LISTED:
                found.append(f"{where}: {own} must not include {name}")
    return found


def is_private(name: str) -> bool:
    """Return whether an include of applications, bindings or plug-ins is of a private header."""
    component = component_of_include(name)
    return component not in {None, "?", "chooser"} and not name.startswith("tailrace/")


def private_includes() -> list[str]:
    """Return lines for each folder whose number of private includes is not that in PRIVATE."""
    found = []
    for folder, allowed in PRIVATE.items():
        lines = [
            f"  {path.relative_to(ROOT)}: {name}"
            for path in sorted((ROOT / folder).rglob("*.?pp"))
            for name in INCLUDE.findall(path.read_text())
            if is_private(name)
        ]
        if len(lines) != allowed:
            found.append(
                f"{folder}: {len(lines)} private headers of other components are included, "
                f"{allowed} in the table of tools/check_includes.py"
            )
            found += lines if len(lines) > allowed else []
    return found


COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^\s*#[^\n]*', re.DOTALL | re.MULTILINE
)
NAMESPACE = re.compile(r"\bnamespace\s+([\w:]*)$")
TYPE = re.compile(
    r"^(?:template\s*<.*>\s*)?(?:class|struct|enum)\s+(?:class\s+)?(\w+)(?:\s+final)?\s*(?::.*)?$",
    re.DOTALL,
)


def types_of(text: str) -> list[str]:
    """Return the types that a header defines in namespaces for users."""
    found: list[str] = []
    scopes: list[str | None] = []  # names of namespaces; None: another brace
    begin = 0
    text = COMMENT_OR_TEXT.sub("", text)
    for mark in re.finditer(r"[{};]", text):
        head = text[begin : mark.start()].strip()
        begin = mark.end()
        if mark[0] == "}":
            scopes.pop()
        if mark[0] != "{":
            continue
        space = NAMESPACE.search(head)
        defined = TYPE.match(head)
        if defined and all(scope is not None and "detail" not in scope for scope in scopes):
            found.append(defined[1])
        scopes.append(space[1] if space else None)
    return found


def too_many_types() -> list[str]:
    """Return a line for each number in TYPES that the public headers exceed, or fall below."""
    front = {path for path in ROOT.glob("include/tailrace/*.hpp")}
    headers = {path for pattern in HEADERS for path in ROOT.glob(pattern)}
    return [
        f"{name}: the public headers define {number} types, {TYPES[name]} in the table of "
        "tools/check_includes.py"
        for name, paths in {"front": front, "all": headers}.items()
        if (number := sum(len(types_of(path.read_text())) for path in paths)) != TYPES[name]
    ]


if __name__ == "__main__":
    problems = wrong_directions() + private_includes() + too_many_types()
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)
