# SPDX-License-Identifier: BSD-3-Clause
"""Seconds of a steady flow by PFLOTRAN, printed as lines of JSON of a driver.

Run by ``tailrace bench groundwater --pflotran PROGRAM``. PFLOTRAN gets the same file of cells as
ours, and the same boundaries, linear solver and tolerances; its heads are compared with those of
our field file. Times are those of PETSc's log: the longest of all ranks.
"""

import argparse
import csv
import json
import sys
import time
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.studies.groundwater_run import DROP_M, LENGTH_M, Flow
from tailrace.benchmarks.drivers import parallel
from tailrace.benchmarks.rounds import run_once
from tailrace.errors import TailraceError

PRESSURE = 101325.0  # where the pressure head is 0 [Pa]
WEIGHT = 997.16 * 9.8068  # of water, as PFLOTRAN has it [N/m^3]
EVENTS = {"solve": "SNESSolve", "read": "H5RdCellIndxReal", "write": "OutputHDF5"}


def deck(flow: Flow) -> str:
    """Return PFLOTRAN's input: steady flow along x through the permeabilities of a file."""
    n, length = flow.n, LENGTH_M
    high = PRESSURE + WEIGHT * DROP_M
    return f"""\
SIMULATION
  SIMULATION_TYPE SUBSURFACE
  PROCESS_MODELS
    SUBSURFACE_FLOW flow
      MODE RICHARDS
      OPTIONS
        STEADY_STATE
      /
    /
  /
END
SUBSURFACE
NUMERICAL_METHODS FLOW
  NEWTON_SOLVER
    RTOL {flow.newton_tolerance:g}
    ATOL 1.d-50
    STOL 1.d-50
    NO_INFINITY_NORM
  /
  LINEAR_SOLVER
    RTOL {flow.linear_tolerance:g}
    ATOL 1.d-50
    MAXIMUM_NUMBER_OF_ITERATIONS 10000
  /
END
GRID
  TYPE STRUCTURED
  NXYZ {n} {n} {n}
  GRAVITY 0.d0 0.d0 0.d0
  BOUNDS
    0.d0 0.d0 0.d0
    {length} {length} {length}
  /
END
EOS WATER
  DENSITY CONSTANT 997.16d0
  VISCOSITY CONSTANT 8.904156d-4
END
FLUID_PROPERTY
  DIFFUSION_COEFFICIENT 1.d-9
END
DATASET permeability
  HDF5_DATASET_NAME Permeability
  FILENAME {flow.aquifer}
END
MATERIAL_PROPERTY ground
  ID 1
  POROSITY 0.25d0
  TORTUOSITY 1.d0
  CHARACTERISTIC_CURVES curves
  PERMEABILITY
    DATASET permeability
  /
END
CHARACTERISTIC_CURVES curves
  SATURATION_FUNCTION VAN_GENUCHTEN
    ALPHA 1.d-4
    M 0.5d0
    LIQUID_RESIDUAL_SATURATION 0.1d0
    MAX_CAPILLARY_PRESSURE 1.d8
  /
  PERMEABILITY_FUNCTION MUALEM_VG_LIQ
    M 0.5d0
    LIQUID_RESIDUAL_SATURATION 0.1d0
  /
END
OUTPUT
  SNAPSHOT_FILE
    NO_PRINT_INITIAL
    FORMAT HDF5
    VARIABLES
      LIQUID_PRESSURE
    /
  /
END
TIME
  FINAL_TIME 1.d0 s
  INITIAL_TIMESTEP_SIZE 1.d0 s
  MAXIMUM_TIMESTEP_SIZE 1.d0 s
END
REGION all
  COORDINATES
    0.d0 0.d0 0.d0
    {length} {length} {length}
  /
END
REGION west
  FACE WEST
  COORDINATES
    0.d0 0.d0 0.d0
    0.d0 {length} {length}
  /
END
REGION east
  FACE EAST
  COORDINATES
    {length} 0.d0 0.d0
    {length} {length} {length}
  /
END
FLOW_CONDITION low
  TYPE
    LIQUID_PRESSURE DIRICHLET
  /
  LIQUID_PRESSURE {PRESSURE}
END
FLOW_CONDITION high
  TYPE
    LIQUID_PRESSURE DIRICHLET
  /
  LIQUID_PRESSURE {high}
END
INITIAL_CONDITION
  FLOW_CONDITION low
  REGION all
END
BOUNDARY_CONDITION west
  FLOW_CONDITION high
  REGION west
END
BOUNDARY_CONDITION east
  FLOW_CONDITION low
  REGION east
END
STRATA
  REGION all
  MATERIAL ground
END
END_SUBSURFACE
"""


def heads(path: Path) -> np.ndarray:
    """Return the pressure heads of the last time of PFLOTRAN's output, (z, y, x) [m]."""
    with h5py.File(path) as file:
        times = [name for name in file if name.startswith("Time:")]
        last = max(times, key=lambda name: float(name.split()[1]))
        pressure = file[last]["Liquid_Pressure [Pa]"][()]
    return (pressure.transpose() - PRESSURE) / WEIGHT


def difference(path: Path, beside: Path) -> float:
    """Return how far PFLOTRAN's heads are from ours at most, relative to the range of the heads."""
    theirs = heads(path)
    with h5py.File(beside) as file:
        own = file["head"][()]
    if own.shape != theirs.shape:
        raise TailraceError(f"{path} has {theirs.shape} cells, {beside} has {own.shape}")
    return float(np.max(np.abs(theirs - own)) / DROP_M)


def logged(path: Path) -> dict[str, float]:
    """Return the seconds of the events of PETSc's log, the longest of all ranks."""
    seconds: dict[str, float] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            name = row["Event Name"]
            seconds[name] = max(seconds.get(name, 0.0), float(row["Time"]))
    return seconds


def iterations(path: Path) -> int:
    """Return the iterations of the linear solver that PFLOTRAN's listing says."""
    mark = "SNES Linear/Non-Linear Iterations ="
    lines = [line for line in path.read_text().splitlines() if mark in line]
    if not lines:
        raise TailraceError(f"{path} does not say how many iterations were taken")
    return int(lines[-1].split("=")[1].split("/")[0])


def run(program: Path, flow: Flow) -> list[dict[str, object]]:
    """Run PFLOTRAN in the folder of `flow` and return a record for each part of the run."""
    place = flow.folder / "pflotran"
    place.mkdir(parents=True, exist_ok=True)
    for old in place.iterdir():
        old.unlink()
    (place / "flow.in").write_text(deck(flow))
    words = ["-pflotranin", str(place / "flow.in"), "-output_prefix", str(place / "flow")]
    # As ours: the norm of b - A x, whatever the preconditioner.
    words += ["-flow_ksp_pc_side", "right", "-log_view", f":{place / 'log.csv'}:ascii_csv"]
    start = time.perf_counter()
    run_once(parallel(flow.ranks, program, words), needs_result=False)
    whole = time.perf_counter() - start
    events = logged(place / "log.csv")
    for event in EVENTS.values():
        if event not in events:
            raise TailraceError(f"{place / 'log.csv'} has no event {event}")
    seconds = {name: events[event] for name, event in EVENTS.items()} | {"whole": whole}
    more = {
        "error": difference(place / "flow.h5", flow.own_fields()),
        "iterations": float(iterations(place / "flow.out")),
    }
    return flow.records("PFLOTRAN", seconds, **more)


def main() -> None:
    """Print the lines of one run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=Path, required=True)
    Flow.add_arguments(parser)
    args = parser.parse_args()
    for record in run(args.program.resolve(), Flow.of_arguments(args)):
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
