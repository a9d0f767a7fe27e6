#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that includes point one way.

The order is core <- {layout, tune} <- move <- {model, file <- store, fft} <- server <- apps.

`trace` needs only core, `tune` only core and trace; `krylov` lies above move and sparse,
`pdense` above move and dense.
`rivals` lies above file, whose tables list it by its one header.
Public headers belong to the room that they are the face of. A file that
includes one from a room above it, or beside it, is an error.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Rooms that a room may include from, besides itself.
BELOW = {
    "core": set(),
    "trace": {"core"},
    "dense": set(),
    "sparse": set(),
    "layout": {"core"},
    "tune": {"core", "trace"},
    "move": {"core", "layout", "trace", "tune"},
    "krylov": {"core", "layout", "move", "sparse"},
    "pdense": {"core", "layout", "move", "dense"},
    "model": {"core", "layout", "move"},
    "file": {"core", "layout", "move", "trace"},
    "rivals": {"core", "layout", "move", "trace", "file"},
    "store": {"core", "layout", "move", "trace", "tune", "file"},
    "fft": {"core", "layout", "move", "trace", "tune"},
    "server": {"core", "layout", "move", "trace", "tune", "file", "store", "fft"},
}

# What a table may name although it lies above, and the files of core that need no MPI.
LISTED = {
    ("file", "rivals/rivals.hpp"),
    ("dense", "core/cache_folder.hpp"),
    ("dense", "core/tuning_is_off.hpp"),
    ("sparse", "core/tuning_is_off.hpp"),
}

# The room of each public header, include/tailrace/NAME.hpp or more/NAME.hpp.
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
    "blas": "dense",
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


def room_of_include(name: str) -> str | None:
    """Return the room that an include names, or None for a file of the same folder."""
    parts = name.split("/")
    if parts[0] == "tailrace":
        return PUBLIC.get(Path(parts[-1]).stem, "?")
    return parts[0] if parts[0] in BELOW else None


def problems() -> list[str]:
    """Return one line for each include that points the wrong way."""
    found = []
    for path in sorted([*ROOT.glob("src/*/**/*.?pp"), *ROOT.glob("include/tailrace/**/*.hpp")]):
        is_public = path.is_relative_to(ROOT / "include")
        own = PUBLIC.get(path.stem, "?") if is_public else path.relative_to(ROOT / "src").parts[0]
        where = path.relative_to(ROOT)
        if own not in BELOW:
            found.append(f"{where}: its room is not in the table of tools/check_includes.py")
            continue
        for name in INCLUDE.findall(path.read_text()):
            room = room_of_include(name)
            if room == "?":
                found.append(f"{where}: {name} has no room in tools/check_includes.py")
            elif room not in {None, own, *BELOW[own]} and (own, name) not in LISTED:
                found.append(f"{where}: {own} must not include {name} of {room}")
            if name.startswith(("apps/", "bench/")):
                found.append(f"{where}: {own} must not include {name}")
    return found


if __name__ == "__main__":
    lines = problems()
    print("\n".join(lines), end="\n" if lines else "")
    sys.exit(1 if lines else 0)
