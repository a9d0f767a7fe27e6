#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that includes point one way, and counts those of private headers across components.

The order is chooser <- core <- {layout, tune} <- move <- {model, file <- store, fft} <- server <-
{apps, bindings, plugins}. `trace` needs only core, `tune` only core and trace. The kernels `dense`
and `sparse` need only the chooser; `krylov` lies above move and sparse, `pdense` above move and
dense. Public headers belong to the component whose interface they are. A file that includes one
from a component above it, or on the same level, is an error.

Applications, bindings and plug-ins use public headers. PRIVATE holds how many private headers of
other components each still includes; a larger number is an error, and so is a smaller one that the
table does not hold yet.
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
PRIVATE = {"apps": 46, "bindings": 16, "plugins": 31}

# The component of each public header, tailrace/NAME.hpp or tailrace/more/NAME.hpp.
PUBLIC = {
    "attributes": "store",
    "block_incomplete_lu": "sparse",
    "comm": "core",
    "dist_matrix": "krylov",
    "krylov": "krylov",
    "dense": "dense",
    "error": "core",
    "method_info": "core",
    "lanes": "core",
    "box": "layout",
    "layout": "layout",
    "plan": "move",
    "exchange": "move",
    "node_array": "move",
    "fft": "fft",
    "file_contents": "store",
    "fused": "fft",
    "incomplete_lu": "sparse",
    "item_type": "store",
    "file": "file",
    "hints": "file",
    "input": "store",
    "link_load": "model",
    "log": "core",
    "node_map": "core",
    "output": "store",
    "output_options": "store",
    "output_statistics": "store",
    "pgesv": "pdense",
    "list_of": "layout",
    "process_grid": "layout",
    "reduction": "move",
    "reduction_tally": "move",
    "session": "server",
    "sparse": "sparse",
    "stage": "server",
    "stream": "server",
    "stream_options": "server",
    "trace": "trace",
    "tune": "tune",
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


if __name__ == "__main__":
    problems = wrong_directions() + private_includes()
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)
