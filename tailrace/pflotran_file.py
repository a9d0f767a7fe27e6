# SPDX-License-Identifier: BSD-3-Clause
"""``python -m tailrace.pflotran_file RUN``: a groundwater run's fields in PFLOTRAN's layout.

RUN/NAME_pflotran.h5 gets `Coordinates` (`X [m]`, ...: the walls of the cells) and a group for each
field file, "Time:  1.00000E+00 y", with a dataset (x, y, z) for each variable, named with its unit
as PFLOTRAN names it: `Liquid_Pressure [Pa]`, `Liquid_Saturation`, `Liquid X-Velocity [m_per_y]`,
`Total_UO2++ [M]`, `pH`, `Calcite_VF`. Others are called NAME [UNIT], with "_per_" for "/".
"""

import argparse
import sys
from pathlib import Path

import h5py
import numpy as np

from tailrace.errors import TailraceError
from tailrace.runs import Floats, load_run

SECONDS = {"s": 1.0, "h": 3600.0, "d": 86400.0, "y": 365.0 * 86400.0}  # as PFLOTRAN counts
PRESSURE = 101325.0  # where the pressure head is 0 [Pa]
WEIGHT = 997.16 * 9.8068  # of water [N/m^3]


def converted(name: str, unit: str, values: Floats, time_unit: str) -> tuple[str, Floats]:
    """Return PFLOTRAN's name of a variable and its values in that unit."""
    if name == "pressure_head":
        return "Liquid_Pressure [Pa]", PRESSURE + WEIGHT * values
    if name == "saturation":
        return "Liquid_Saturation", values
    if name.startswith("flux_"):
        axis = name[-1].upper()
        return f"Liquid {axis}-Velocity [m_per_{time_unit}]", values * SECONDS[time_unit]
    if name.startswith("total_"):
        return f"Total_{name.removeprefix('total_')} [M]", values
    if name.endswith("_volume_fraction"):
        return f"{name.removesuffix('_volume_fraction')}_VF", values
    return name if unit == "1" else f"{name} [{unit.replace('/', '_per_')}]", values


def walls(widths: list[float], cells: int, length: float) -> Floats:
    """Return where the cells of an axis begin and end [m]; without widths they are alike."""
    return np.cumsum([0.0, *(widths or [length / cells] * cells)])


def add_time(out: h5py.File, source: h5py.File, time_unit: str) -> None:
    """Add the group of one field file."""
    time = float(source.attrs["time"]) / SECONDS[time_unit]
    group = out.create_group(f"Time:  {time:.5E} {time_unit}")
    for name, item in source.items():
        if not isinstance(item, h5py.Dataset) or item.ndim != 3:
            continue
        unit = item.attrs.get("units", "1")
        unit = unit.decode() if isinstance(unit, bytes) else str(unit)
        title, values = converted(name, unit, item[()].transpose(), time_unit)
        group.create_dataset(title, data=values)


def convert(folder: Path, time_unit: str) -> Path:
    """Write the file of a run folder and return its path; `TailraceError` if it has no fields."""
    run = load_run(folder)
    grid = run.case.get("grid", {})
    application = run.case.get("case", {}).get("application")
    if not run.fields or application != "groundwater":
        raise TailraceError(f"{folder} holds no fields of a groundwater run (output.every > 0)")
    path = folder / f"{run.name}_pflotran.h5"
    partial = path.with_suffix(".h5.partial")
    with h5py.File(partial, "w") as out:
        for axis in "xyz":
            widths = grid.get(f"d{axis}") or []
            at = walls(widths, int(grid[f"n{axis}"]), float(grid[f"l{axis}"]))
            out.create_dataset(f"Coordinates/{axis.upper()} [m]", data=at)
        for source in run.fields:
            with h5py.File(source) as file:
                add_time(out, file, time_unit)
    partial.replace(path)
    return path


def main() -> int:
    """Convert the run that the command line names; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tailrace.pflotran_file",
        description="Writes the fields of a groundwater run in PFLOTRAN's layout.",
    )
    parser.add_argument("run", type=Path, help="the run folder")
    parser.add_argument("--time-unit", choices=SECONDS, default="y", help="of times, velocities")
    arguments = parser.parse_args()
    try:
        print(convert(arguments.run, arguments.time_unit))
    except (OSError, KeyError, ValueError, TailraceError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
