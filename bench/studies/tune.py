# SPDX-License-Identifier: BSD-3-Clause
"""The tuner's choices on problems drawn at random: what would another method have gained?

A run is two processes: one in which the tuner measures and remembers, and one that times "auto"
(which remembers) and every method again, longer and in another order. The regret of a problem is
how much slower "auto" is than the best entry. "auto" and the method that it stands for are equal
entries: what they differ by (``twin``) is noise, and so is the tuner's own null spread.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.studies.drivers import need_driver
from tailrace.benchmarks.drivers import Command, arguments, parallel
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.report import show_failures
from tailrace.benchmarks.rounds import Entry, Measured, run_once

SUMMARY = "the tuner's choices on 30 problems drawn at random, against every method"
ALLOWED_REGRET = 0.05


def entries(options: Options) -> list[Entry]:
    """Return one entry a number of ranks; the problems are drawn inside the driver."""
    program = need_driver("tune_problems")
    found = []
    for ranks in options.ranks or [2, 4]:
        # Another seed for each number of ranks and round: other problems.
        words = arguments(seed=f"{ranks}" + "{round}", count=30)
        command = parallel(ranks, program, words)
        found.append(Entry("choices", f"{ranks} ranks", True, command))
    return found


def runner(_options: Options) -> Callable[[Command], list[dict[str, Any]]]:
    """Return what runs both phases, with a memory file of their own."""

    def run(command: Command) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory(prefix="tailrace-tune-") as folder:
            file = Path(folder) / "tune.json"
            environment = {**command.environment, "TAILRACE_TUNE_FILE": str(file)}

            def run_phase(phase: str, mode: str) -> list[dict[str, Any]]:
                words = [*command.words, "--phase", phase]
                return run_once(Command(words, {**environment, "TAILRACE_TUNE": mode}))

            chosen = run_phase("choose", "first_use")
            nulls = {record["problem"]: record["null_spread"] for record in chosen}
            records = run_phase("time", "remembered")
            for record in records:
                record["null_spread"] = nulls[record["problem"]]
            return records

    return run


def finish(measured: Measured, _options: Options) -> None:
    """Add regret and twin of each problem to its row of "auto"."""
    for auto in [row for row in measured.rows if row["entry"] == "auto"]:
        others = [
            row
            for row in measured.rows
            if row["problem"] == auto["problem"] and row["entry"] != "auto"
        ]
        best = min(others, key=lambda row: row["relative"])
        twin = next((row for row in others if row["entry"] == auto["method"]), None)
        fastest = min(best["relative"], 1.0)
        auto["best"] = best["entry"] if best["relative"] < 1 else "auto"
        auto["regret"] = 1 / fastest - 1
        if twin is not None:
            auto["twin"] = max(twin["relative"], 1 / twin["relative"]) - 1
        auto["good"] = auto["regret"] <= max(
            ALLOWED_REGRET, auto.get("twin", 0.0), auto["null_spread"]
        )
        auto["worst_regret"] = max(row["relative"] for row in others) / fastest - 1


def show(console: Console, measured: Measured) -> None:
    """Print a line a problem, and how many choices were good."""
    table = Table(title="The tuner's choices", title_justify="left")
    table.add_column("problem")
    for heading in ("choice", "best", "auto [s]", "regret", "twin", "null", "worst entry"):
        table.add_column(heading, justify="left" if heading in ("choice", "best") else "right")
    rows = [row for row in measured.rows if row["entry"] == "auto"]
    for row in rows:
        twin = f"{100 * row['twin']:.1f} %" if "twin" in row else ""
        table.add_row(
            row["problem"],
            row["method"],
            row["best"],
            f"{row['median_s']:.4g}",
            f"{100 * row['regret']:.1f} %",
            twin,
            f"{100 * row['null_spread']:.1f} %",
            f"{100 * row['worst_regret']:+.0f} %",
            style="" if row["good"] else "red",
        )
    console.print(table)
    good = sum(row["good"] for row in rows)
    within = sum(row["regret"] <= ALLOWED_REGRET for row in rows)
    console.print(
        f"{good} of {len(rows)} choices within {100 * ALLOWED_REGRET:.0f} % of the best entry or "
        f"within what two equal entries differ by ({within} within {100 * ALLOWED_REGRET:.0f} %)"
    )
    show_failures(console, measured.failures)
