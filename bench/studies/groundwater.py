# SPDX-License-Identifier: BSD-3-Clause
"""Groundwater compared with PFLOTRAN: a steady flow through a file of cells, part by part."""

import os
import sys
from pathlib import Path

from bench.studies.groundwater_run import Flow, command
from bench.studies.options import StudyOptions
from tailrace.benchmarks.drivers import Command
from tailrace.benchmarks.rounds import Entry, Measured
from tailrace.errors import TailraceError
from tailrace.programs import SOURCE_ROOT

SUMMARY = "groundwater: solve, read, write and the whole of a steady flow, compared with PFLOTRAN"
AXES = 3
WRITES = True
TOLERANCE = 1e-4  # of the heads, relative to their range


def entries(options: StudyOptions) -> list[Entry]:
    """Return a run of ours, then one of PFLOTRAN, for each size and number of ranks."""
    found = []
    for n in options.sizes or [64, 100]:
        for ranks in options.ranks or [1, 2]:
            flow = Flow(n, ranks, options.folder.resolve() / f"groundwater-{n}-{ranks}")
            flow.folder.mkdir(parents=True, exist_ok=True)
            flow.write_aquifer()
            name = flow.problem("all parts")
            found.append(Entry("tailrace", name, True, command(flow), reference=True))
            if options.pflotran:
                found.append(Entry("PFLOTRAN", name, False, _pflotran(options.pflotran, flow)))
    return found


def _pflotran(program: str, flow: Flow) -> Command:
    if not os.access(program, os.X_OK) or Path(program).is_dir():
        raise TailraceError(f"--pflotran {program}: there is no such program", status=2)
    script = str(SOURCE_ROOT / "bench" / "other_libraries" / "pflotran_flow.py")
    return Command([sys.executable, script, "--program", program, *flow.words()])


def finish(measured: Measured, _options: StudyOptions) -> None:
    """Refuse other heads than ours."""
    for row in measured.rows:
        if not (row.get("error") or 0.0) <= TOLERANCE:
            measured.failures[f"{row['entry']} ({row['problem']})"] = (
                f"wrong result: the heads differ by {row['error']} of their range"
            )
