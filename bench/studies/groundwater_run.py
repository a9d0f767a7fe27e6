# SPDX-License-Identifier: BSD-3-Clause
"""A steady flow through heterogeneous ground, as an entry of a bench.

Run as a program (``python -m bench.studies.groundwater_run``) it starts one run, reads its
summary and prints lines of JSON of a driver, one a part of the run.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bench.studies.drivers import python_module
from tailrace.apps.groundwater.aquifer_file import Aquifer, write_aquifer
from tailrace.benchmarks.drivers import Command, arguments, parallel
from tailrace.benchmarks.rounds import run_once
from tailrace.errors import TailraceError
from tailrace.programs import find_case, find_program

PROGRAM = "tailrace-groundwater"
LENGTH_M = 1.0  # of the cube
DROP_M = 1.0  # of the head, along x
PARTS = ("solve", "read", "write", "whole")


@dataclass(frozen=True)
class Flow:
    """The problem of one run: n^3 cells on `ranks` ranks; files go to `folder`."""

    n: int
    ranks: int
    folder: Path
    linear_tolerance: float = 1e-8
    newton_tolerance: float = 1e-3  # one iteration: the problem is linear

    @property
    def aquifer(self) -> Path:
        """Return the file of cells."""
        return self.folder / f"aquifer_{self.n}.h5"

    def problem(self, part: str) -> str:
        """Return what a part of the run is called in the table."""
        ranks = f"{self.ranks} rank" + ("s" if self.ranks > 1 else "")
        return f"steady flow, {self.n}^3, {ranks}: {part}"

    def records(self, entry: str, seconds: dict[str, float], **more: Any) -> list[dict[str, Any]]:
        """Return a record a part; what else is known stands with the solve."""
        return [
            {"entry": entry, "problem": self.problem(part), "seconds": [seconds[part]]}
            | (more if part == "solve" else {})
            for part in PARTS
        ]

    def write_aquifer(self) -> None:
        """Write the file of cells, log-normal as those of the case `heterogeneous`."""
        size = (LENGTH_M,) * 3
        correlation = (0.1 * LENGTH_M,) * 3
        cells = (self.n,) * 3
        aquifer = Aquifer(cells, size, correlation, sigma=2, layers=1, layer_sigma=0, materials=1)
        write_aquifer(self.aquifer, aquifer)

    def own_fields(self) -> Path:
        """Return the field file of our last run."""
        return self.folder / "tailrace" / "fields" / "heterogeneous_000001.h5"

    def words(self) -> list[str]:
        """Return the words that `of_arguments` reads."""
        return arguments(
            n=self.n,
            ranks=self.ranks,
            folder=self.folder,
            linear_tolerance=self.linear_tolerance,
            newton_tolerance=self.newton_tolerance,
        )

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Add what `words` gives."""
        parser.add_argument("--n", type=int, required=True)
        parser.add_argument("--ranks", type=int, required=True)
        parser.add_argument("--folder", type=Path, required=True)
        parser.add_argument("--linear-tolerance", type=float, required=True)
        parser.add_argument("--newton-tolerance", type=float, required=True)

    @classmethod
    def of_arguments(cls, args: argparse.Namespace) -> Self:
        """Return the flow that the command line describes."""
        return cls(args.n, args.ranks, args.folder, args.linear_tolerance, args.newton_tolerance)


def command(flow: Flow) -> Command:
    """Return the command of a run of ours."""
    return python_module("groundwater_run", flow.words())


def run(flow: Flow) -> list[dict[str, Any]]:
    """Run the program and return a record for each part of the run."""
    place = flow.folder / "tailrace"
    keys = {
        "grid.nx": flow.n,
        "grid.ny": flow.n,
        "grid.nz": flow.n,
        "heterogeneity.kind": "none",
        "cells.file": flow.aquifer,
        "cells.permeability": "Permeability",
        "linear.tolerance": flow.linear_tolerance,
        "linear.max_iterations": 10000,
        "newton.tolerance": flow.newton_tolerance,
        "output.servers": "none",  # the run waits for its fields, as PFLOTRAN does
        "output.every": 1000,  # none but the last
        "output.fields": '["head"]',
        "checkpoint.at_end": "false",
        "trace.spans": 0,
    }
    words = [str(find_case("heterogeneous")), "--run-dir", str(place), "--overwrite"]
    for key, value in keys.items():
        words += ["--set", f"{key}={value}"]
    start = time.perf_counter()
    run_once(parallel(flow.ranks, find_program(PROGRAM), words), needs_result=False)
    whole = time.perf_counter() - start
    summary = json.loads((place / "summary.json").read_text())
    solve = summary["seconds_per_step"]["median"]
    seconds = {
        "solve": solve,
        "read": summary["input"]["read_s"],
        "write": summary["wall_s"] - solve,
        "whole": whole,
    }
    return flow.records("tailrace", seconds, iterations=float(summary["solver"]["linear"]))


def main() -> int:
    """Print the lines of one run."""
    parser = argparse.ArgumentParser()
    Flow.add_arguments(parser)
    try:
        for record in run(Flow.of_arguments(parser.parse_args())):
            print(json.dumps(record))
    except TailraceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
