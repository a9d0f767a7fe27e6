#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the heat example writes the same files in each language, byte for byte.

Usage: check_same_files.py FOLDER MPIEXEC NUMPROC_FLAG RANKS PROGRAM PROGRAM ...
"""

import shutil
import subprocess
import sys
from pathlib import Path

POINTS = 18
NAMES = ["heat_10.h5", "heat_20.h5", "heat_30.h5", "heat_40.h5"]


def main() -> int:
    """Run each program in a folder of its own and compare with the first."""
    folder = Path(sys.argv[1])
    launch, programs = sys.argv[2:5], sys.argv[5:]
    shutil.rmtree(folder, ignore_errors=True)
    status = 0
    contents: list[dict[str, bytes]] = []
    for program in programs:
        own = folder / Path(program).name
        own.mkdir(parents=True)
        subprocess.run([*launch, program, str(POINTS), str(own)], check=True)
        contents.append({name: (own / name).read_bytes() for name in NAMES})
    for program, found in zip(programs[1:], contents[1:], strict=True):
        for name in NAMES:
            if found[name] != contents[0][name]:
                print(f"{name} of {program} is not that of {programs[0]}")
                status = 1
    print(f"{len(programs)} programs, {len(NAMES)} files each")
    return status if len(programs) > 1 else 1


if __name__ == "__main__":
    sys.exit(main())
