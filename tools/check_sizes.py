#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Names files of more than 400 lines and functions of more than 40: hints, not failures.

The lengths of functions come from ctags; without it only files are checked.
"""

import json
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 40
FOLDERS = (
    "include",
    "src",
    "bindings",
    "chooser",
    "kernels",
    "plugins",
    "apps",
    "bench",
    "tests",
    "tailrace",
    "tools",
    "examples",
)
ENDINGS = (".hpp", ".cpp", ".py")


def sources() -> list[Path]:
    """Return the source files under the rooms."""
    return [
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in ENDINGS
    ]


def long_functions(paths: list[Path]) -> list[str]:
    """Return one line for each function that is longer than it should be."""
    ctags = shutil.which("ctags")
    if ctags is None:
        return []
    command = [ctags, "--output-format=json", "--fields=+ne", "--kinds-C++=f", "--kinds-Python=fm"]
    done = subprocess.run(
        [*command, "-f", "-", *map(str, paths)], capture_output=True, text=True, check=False
    )
    found = []
    for line in done.stdout.splitlines():
        tag = json.loads(line)
        length = tag.get("end", tag["line"]) - tag["line"] + 1
        if length > MAX_FUNCTION_LINES:
            where = Path(tag["path"]).relative_to(ROOT)
            found.append(f"{where}:{tag['line']}: {tag['name']} has {length} lines")
    return found


def main() -> None:
    """Print what is long."""
    paths = sources()
    for line in long_functions(paths):
        print(f"warning: {line} (about {MAX_FUNCTION_LINES} is the aim)")
    for path in paths:
        lines = len(path.read_text().splitlines())
        if lines > MAX_FILE_LINES:
            print(f"warning: {path.relative_to(ROOT)} has {lines} lines (about {MAX_FILE_LINES})")


if __name__ == "__main__":
    main()
