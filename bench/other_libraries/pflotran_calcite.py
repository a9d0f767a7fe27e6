# SPDX-License-Identifier: BSD-3-Clause
"""Calcite in a column, by PFLOTRAN and by ours: error and seconds for several time steps.

``python bench/other_libraries/pflotran_calcite.py --program PFLOTRAN --database hanford.dat``: acid
water
dissolves the calcite of 100 cells of 1 m for 25 years (PFLOTRAN's problem ``calcite_tran_only``;
initial water and lack of diffusion as in our case ``calcite``), or the square of ``--across`` such
columns side by side. The error is the mean difference of the calcite from that of our implicit run
with steps of a 1600th of a year, as a part of what was there first. Seconds are those of the time
loop, medians of rounds in turn.
"""

import argparse
import json
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from tailrace.benchmarks.drivers import parallel
from tailrace.benchmarks.rounds import run_once
from tailrace.errors import TailraceError
from tailrace.programs import find_case, find_program

CELLS = 100
YEAR_S = 365 * 86400.0  # as PFLOTRAN counts
END_YEARS = 25
FIRST_STEP_S = 3600.0
EXACT_STEP_YEARS = 1 / 1600
CALCITE = 1e-5  # volume fraction at the start

DECK = """\
SIMULATION
  SIMULATION_TYPE SUBSURFACE
  PROCESS_MODELS
    SUBSURFACE_TRANSPORT transport
      MODE GIRT
    /
  /
END
SUBSURFACE
SPECIFIED_VELOCITY
  UNIFORM? YES
  DATASET 1.d0 0.d0 0.d0 m/yr
END
CHEMISTRY
  PRIMARY_SPECIES
    H+
    HCO3-
    Ca++
  /
  SECONDARY_SPECIES
    OH-
    CO3--
    CO2(aq)
    CaCO3(aq)
    CaHCO3+
    CaOH+
  /
  MINERALS
    Calcite
  /
  MINERAL_KINETICS
    Calcite
      RATE_CONSTANT 1.d-6
    /
  /
  DATABASE {database}
  LOG_FORMULATION
  ACTIVITY_COEFFICIENTS TIMESTEP
  OUTPUT
    PH
    TOTAL
    ALL
  /
END
GRID
  TYPE STRUCTURED
  NXYZ {cells} {across} {across}
  BOUNDS
    0.d0 0.d0 0.d0
    100.d0 {across}.d0 {across}.d0
  /
END
FLUID_PROPERTY
  DIFFUSION_COEFFICIENT 0.d0
END
MATERIAL_PROPERTY soil
  ID 1
  POROSITY 0.25d0
  TORTUOSITY 1.d0
END
OUTPUT
  SNAPSHOT_FILE
    NO_PRINT_INITIAL
    FORMAT HDF5
  /
END
TIME
  FINAL_TIME {end} y
  INITIAL_TIMESTEP_SIZE {first} s
  MAXIMUM_TIMESTEP_SIZE {step} y
END
REGION all
  COORDINATES
    0.d0 0.d0 0.d0
    100.d0 {across}.d0 {across}.d0
  /
END
REGION west
  FACE WEST
  COORDINATES
    0.d0 0.d0 0.d0
    0.d0 {across}.d0 {across}.d0
  /
END
REGION east
  FACE EAST
  COORDINATES
    100.d0 0.d0 0.d0
    100.d0 {across}.d0 {across}.d0
  /
END
TRANSPORT_CONDITION initial
  TYPE ZERO_GRADIENT
  CONSTRAINT_LIST
    0.d0 initial
  /
END
TRANSPORT_CONDITION inlet
  TYPE DIRICHLET_ZERO_GRADIENT
  CONSTRAINT_LIST
    0.d0 inlet
  /
END
CONSTRAINT initial
  CONCENTRATIONS
    H+     8.d0   P
    HCO3-  1.d-3  M  Calcite
    Ca++   5.d-4  Z
  /
  MINERALS
    Calcite {calcite} 1.d0
  /
END
CONSTRAINT inlet
  CONCENTRATIONS
    H+     5.d0   P
    HCO3-  1.d-3  T
    Ca++   1.d-6  Z
  /
END
INITIAL_CONDITION
  TRANSPORT_CONDITION initial
  REGION all
END
BOUNDARY_CONDITION outlet
  TRANSPORT_CONDITION initial
  REGION east
END
BOUNDARY_CONDITION inlet
  TRANSPORT_CONDITION inlet
  REGION west
END
STRATA
  REGION all
  MATERIAL soil
END
END_SUBSURFACE
"""


@dataclass(frozen=True)
class Result:
    """Of one run: the calcite at the end, how long the time loop took, its steps."""

    calcite: np.ndarray
    seconds: float
    steps: int


def found(pattern: str, text: str) -> str:
    """Return the first group of the last match."""
    matches = re.findall(pattern, text)
    if not matches:
        raise TailraceError(f"PFLOTRAN's listing has no {pattern!r}")
    return str(matches[-1])


@dataclass(frozen=True)
class Problem:
    """Columns along each of the other axes, and the longest time step."""

    across: int
    step_years: float


def theirs(program: Path, database: Path, folder: Path, problem: Problem) -> Result:
    """Run PFLOTRAN."""
    folder.mkdir(parents=True, exist_ok=True)
    deck, prefix = folder / "calcite.in", folder / "calcite"
    deck.write_text(
        DECK.format(
            database=database,
            cells=CELLS,
            end=float(END_YEARS),
            first=FIRST_STEP_S,
            across=problem.across,
            step=problem.step_years,
            calcite=CALCITE,
        )
    )
    words = ["-pflotranin", str(deck), "-output_prefix", str(prefix)]
    run_once(parallel(1, program, words), needs_result=False)
    listing = prefix.with_suffix(".out").read_text()
    with h5py.File(prefix.with_suffix(".h5")) as file:
        group = file[next(name for name in file if name.startswith("Time:"))]
        calcite = group["Calcite_VF [m^3 mnrl_m^3 bulk]"][:, 0, 0]
    seconds = float(found(r"Total Time:\s*(\S+) seconds", listing))
    return Result(calcite, seconds, int(found(r"TRAN TS SNES steps =\s*(\d+)", listing)))


def ours(coupling: str, folder: Path, problem: Problem) -> Result:
    """Run the case `calcite`."""
    inlet = f'{{name="inlet", face="x_min", type="flux", values=[{1 / YEAR_S!r}], water="inlet"}}'
    outlet = '{name="outlet", face="x_max", type="head", values=[0.0]}'
    keys = {
        "flow.boundaries": f"[{inlet}, {outlet}]",
        "grid.nx": CELLS,
        "grid.ny": problem.across,
        "grid.nz": problem.across,
        "grid.ly": float(problem.across),
        "grid.lz": float(problem.across),
        "time.end": END_YEARS * YEAR_S,
        "time.step": FIRST_STEP_S,
        "time.max_step": problem.step_years * YEAR_S,
        "transport.coupling": coupling,
        "trace.spans": 0,
    }
    words = [str(find_case("calcite")), "--run-dir", str(folder), "--overwrite"]
    for key, value in keys.items():
        words += ["--set", f"{key}={value}"]
    run_once(parallel(1, find_program("tailrace-groundwater"), words), needs_result=False)
    summary = json.loads((folder / "summary.json").read_text())
    with h5py.File(max((folder / "fields").glob("*.h5"))) as file:
        calcite = file["Calcite_volume_fraction"][0, 0, :]
    return Result(calcite, summary["wall_s"], summary["steps"])


def main() -> None:
    """Print a line for each program and step."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=Path, required=True, help="PFLOTRAN's")
    parser.add_argument("--database", type=Path, required=True, help="its hanford.dat")
    parser.add_argument("--folder", type=Path, default=Path("build/calcite"))
    parser.add_argument("--steps", type=float, nargs="+", default=[0.25, 0.0625, 0.01, 0.0025])
    parser.add_argument("--across", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    folder, program, database = (p.resolve() for p in (args.folder, args.program, args.database))
    runs: dict[str, Callable[[Problem], Result]] = {
        "PFLOTRAN": lambda problem: theirs(program, database, folder / "pflotran", problem),
        "implicit": lambda problem: ours("implicit", folder / "implicit", problem),
        "split": lambda problem: ours("split", folder / "split", problem),
    }
    exact = runs["implicit"](Problem(1, EXACT_STEP_YEARS)).calcite
    results: dict[tuple[str, float], list[Result]] = {}
    for _ in range(args.rounds):
        for name, run in runs.items():
            for step in args.steps:
                results.setdefault((name, step), []).append(run(Problem(args.across, step)))
    print("program   step [y]  steps     error   seconds")
    for (name, step), all_of in results.items():
        error = float(np.abs(all_of[0].calcite - exact).mean()) / CALCITE
        seconds = statistics.median(result.seconds for result in all_of)
        print(f"{name:8} {step:9g} {all_of[0].steps:6} {error:9.2e} {seconds:9.3f}")


if __name__ == "__main__":
    main()
