#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that libtailrace.so exports the functions of the C headers, and nothing else.

Usage: check_symbols.py NM LIBRARY FOLDER_OF_HEADERS
"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings" / "generate"))
from headers import Headers


def main() -> int:
    """Compare what `nm` shows with what the headers declare."""
    nm, library, folder = sys.argv[1:]
    command = [nm, "-D", "--defined-only", "--format=posix", library]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    exported = {line.split()[0].split("@")[0] for line in lines}
    declared = set(Headers(*Path(folder).glob("*.h")).functions)
    if len(declared) < 50:
        print(f"only {len(declared)} functions are found in {folder}")
        return 1
    for name in sorted(exported - declared):
        print(f"{library} exports {name}, which no header declares")
    for name in sorted(declared - exported):
        print(f"{library} lacks {name}, which a header declares")
    return 0 if exported == declared else 1


if __name__ == "__main__":
    sys.exit(main())
