# SPDX-License-Identifier: BSD-3-Clause
"""Gathers all field files of a run in PFLOTRAN's layout in one file.

After ``python -m tailrace.apps.groundwater.pflotran_file RUN`` the file RUN/NAME_pflotran.h5 has
`Coordinates` and the groups "Time:  1.00000E+00 y" of the field files of a groundwater run
with ``output.layout = "pflotran"``.
"""

import argparse
import sys
from pathlib import Path

import h5py

from tailrace.errors import TailraceError
from tailrace.files import replaced
from tailrace.runs.folder import load_run


def gather(folder: Path) -> Path:
    """Write the file of a run folder and return its path; `TailraceError` for other runs."""
    run = load_run(folder)
    if not run.fields or run.case.get("output", {}).get("layout") != "pflotran":
        raise TailraceError(f'{folder} has no fields of output.layout = "pflotran"')
    path = folder / f"{run.name}_pflotran.h5"
    with replaced(path) as fresh, h5py.File(fresh, "w") as out:
        for source in run.fields:
            with h5py.File(source) as file:
                for name in file:
                    if name == "tailrace":  # checksums of that file
                        continue
                    if name in out:  # coordinates; the time of a run that went on
                        del out[name]
                    file.copy(name, out)
    return path


def main() -> int:
    """Gather the files of the run that the command line names; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tailrace.apps.groundwater.pflotran_file",
        description="Gathers the field files of a run in PFLOTRAN's layout in one file.",
    )
    parser.add_argument("run", type=Path, help="the run folder")
    arguments = parser.parse_args()
    try:
        print(gather(arguments.run))
    except (OSError, TailraceError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
