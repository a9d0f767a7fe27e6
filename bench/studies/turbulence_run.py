# SPDX-License-Identifier: BSD-3-Clause
"""Short runs of the turbulence program as entries of a bench.

Run as a program (``python -m bench.studies.turbulence_run``) it starts one run, reads its
summary and prints the line of JSON of a driver.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from bench.studies.drivers import python_module
from tailrace.benchmarks.drivers import Command, parallel
from tailrace.benchmarks.rounds import run_once
from tailrace.errors import TailraceError
from tailrace.programs import find_case, find_program

PROGRAM = "tailrace-turbulence"


def command(n: int, ranks: int, precision: str, threads: int, *settings: str) -> Command:
    """Return the command of a run of Taylor-Green with fixed step and no output."""
    words = ["--n", str(n), "--ranks", str(ranks), "--threads", str(threads)]
    words += ["--precision", precision]
    for setting in settings:
        words += ["--set", setting]
    return python_module("turbulence_run", words)


def run(n: int, ranks: int, precision: str, threads: int, settings: list[str]) -> dict[str, object]:
    """Run the program in a folder of its own and return what the bench keeps of its summary."""
    keys = {
        "grid.n": n,
        "grid.precision": precision,
        "time.scheme": "rk4",
        "time.step": 0.001,
        "time.end": 1000.0,
        "time.max_steps": 8,
        "statistics.every": 1000,
        "output.every": 0,
        "trace.spans": 0,
        "fft.threads": threads,
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "run"
        words = [str(find_case("taylor_green")), "--run-dir", str(place)]
        for key, value in keys.items():
            words += ["--set", f"{key}={value}"]
        for setting in settings:
            words += ["--set", setting]
        launched = parallel(ranks, find_program(PROGRAM), words, threads)
        _run_quietly(launched)
        summary = json.loads((place / "summary.json").read_text())
    return {
        "seconds": [summary["seconds_per_step"]["median"]],
        "memory_bytes": summary["memory_bytes_per_rank_max"],
        "resident_bytes": summary["resident_bytes_per_rank_max"],
        "kernel": summary["fft"]["kernel"],
        "method": summary["fft"]["method"],
    }


def _run_quietly(command_line: Command) -> None:
    """Run; the program prints no JSON of its own unless asked, so only its status counts."""
    run_once(command_line, needs_result=False)


def main() -> int:
    """Print the line of one run."""
    parser = argparse.ArgumentParser()
    for name in ("--n", "--ranks", "--threads"):
        parser.add_argument(name, type=int, default=1)
    parser.add_argument("--precision", default="double")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    args = parser.parse_args()
    try:
        record = run(args.n, args.ranks, args.precision, args.threads, args.settings)
    except TailraceError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(record))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
