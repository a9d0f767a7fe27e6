# SPDX-License-Identifier: BSD-3-Clause
"""A run of helium that writes checkpoints, as an entry of a bench.

Run as a program (``python -m bench.studies.helium_run``) it starts one run, reads its summary
and its trace, and prints the line of JSON of a driver. With ``--competitor`` another process writes
to the same folder meanwhile.
"""

import argparse
import contextlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, Self

from bench.studies.competitor import competing
from bench.studies.drivers import python_module
from tailrace.benchmarks.drivers import Command, arguments, parallel
from tailrace.benchmarks.rounds import run_once
from tailrace.errors import TailraceError
from tailrace.programs import find_case, find_program

PROGRAM = "tailrace-helium"
NO_CHECKPOINTS = "no checkpoints"
BOX = 25.0  # Bohr radii
AFTER = 3  # steps after a checkpoint that may be slower


@dataclass(frozen=True)
class Pulse:
    """The problem of one run: `n` radial points on `ranks` ranks; files go to `folder`."""

    n: int
    ranks: int
    steps: int
    every: int  # steps from one checkpoint to the next
    folder: Path
    servers: str  # who writes checkpoints, as ``output.servers``; `NO_CHECKPOINTS`: nobody
    competitor: bool

    def command(self) -> Command:
        """Return the command of this run."""
        words = arguments(
            n=self.n,
            ranks=self.ranks,
            steps=self.steps,
            every=self.every,
            folder=self.folder,
            servers=self.servers,
        )
        beside = ["--competitor"] if self.competitor else []
        return python_module("helium_run", [*words, *beside])

    @classmethod
    def of_command_line(cls) -> Self:
        """Return the run that the words of this program describe."""
        parser = argparse.ArgumentParser()
        for name in ("--n", "--ranks", "--steps", "--every"):
            parser.add_argument(name, type=int, required=True)
        parser.add_argument("--folder", type=Path, required=True)
        parser.add_argument("--servers", required=True)
        parser.add_argument("--competitor", action="store_true")
        return cls(**vars(parser.parse_args()))


def run(pulse: Pulse) -> dict[str, Any]:
    """Run the program and return a record of its time and of what a checkpoint costs."""
    place = pulse.folder / "run"
    writes = pulse.servers != NO_CHECKPOINTS
    keys = {
        "grid.points": pulse.n,
        "grid.step": BOX / pulse.n,
        "time.step": 0.12,
        "time.max_steps": pulse.steps,
        "observables.every": 100000,
        "output.every": 0,
        "output.servers": pulse.servers if writes else "none",
        "checkpoint.every": pulse.every if writes else 0,
        "checkpoint.at_end": "false",
    }
    words = [str(find_case("photon")), "--run-dir", str(place), "--overwrite"]
    for key, value in keys.items():
        words += ["--set", f"{key}={value}"]
    serving = int(pulse.servers) if pulse.servers.isdigit() else 0  # ranks beside
    beside = competing(pulse.folder) if pulse.competitor else contextlib.nullcontext()
    with beside as other:
        run_once(parallel(pulse.ranks + serving, find_program(PROGRAM), words), needs_result=False)
    summary = json.loads((place / "summary.json").read_text())
    expected = pulse.steps // pulse.every if writes else 0
    if summary["checkpoints"]["complete"] != expected:
        raise TailraceError(f"{summary['checkpoints']['complete']} checkpoints, not {expected}")
    trace = json.loads((place / "trace.json").read_text())
    record: dict[str, Any] = {"seconds": [summary["wall_s"]], **costs(trace)}
    if other is not None:
        record["competitor_bytes_per_s"] = other.bytes_per_s
        record["competitor_core"] = other.core_share
    return record


def costs(trace: dict[str, Any]) -> dict[str, float]:
    """Return what a checkpoint costs rank 0: its call, and what steps after it take more."""
    events = [e for e in trace["traceEvents"] if e.get("pid") == 0 and e.get("tid") == 0]
    events = sorted((e for e in events if e.get("ph") == "X"), key=lambda event: event["ts"])
    calls: list[float] = []
    after: list[list[float]] = []  # the steps after each checkpoint
    between: list[float] = []
    for event in events:
        seconds = event["dur"] / 1e6
        if event["name"] == "checkpoint":
            calls.append(seconds)
            after.append([])
        elif event["name"] == "step":
            steps = after[-1] if after and len(after[-1]) < AFTER else between
            steps.append(seconds)
    usual = median(between)
    found = {"step_s": usual}
    after = [steps for steps in after if steps]
    if after:
        found["call_s"] = fmean(calls)
        found["checkpoint_s"] = fmean(calls) + fmean(sum(s) - len(s) * usual for s in after)
        found["first_slower"] = median(s[0] for s in after) / usual - 1
    return found


def main() -> int:
    """Print the line of one run."""
    try:
        print(json.dumps(run(Pulse.of_command_line())))
    except TailraceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
