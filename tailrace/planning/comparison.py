# SPDX-License-Identifier: BSD-3-Clause
"""The model beside what `tailrace bench servers` measured."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tailrace.errors import TailraceError
from tailrace.planning import model
from tailrace.planning.measured import read_json
from tailrace.planning.model import Job, Machine

SYNCHRONOUS = "tailrace, synchronous"
NO_OUTPUT = "no output"


@dataclass(frozen=True)
class Comparison:
    """A method of output, and the seconds of the whole run."""

    problem: str
    entry: str
    measured_s: float
    predicted_s: float

    def error(self) -> float:
        """How much longer than predicted the run took, as a share."""
        return self.measured_s / self.predicted_s - 1


def compare(path: Path, memory: float) -> list[Comparison]:
    """Return each method of ours with its prediction.

    The bandwidth is that of the synchronous run of the same problem, the time of a step that of
    the run without output, copying as fast as the memcpy of the bench.
    """
    content = read_json(path, "--check")
    if content.get("bench") != "servers":
        raise TailraceError(
            f"--check {path}: expected a file of `tailrace bench servers`", status=2
        )
    rows = content["rows"]
    by_name = {(row["problem"], row["entry"]): row for row in rows}
    found = []
    for row in rows:
        base = by_name.get((row["problem"], NO_OUTPUT))
        plain = by_name.get((row["problem"], SYNCHRONOUS))
        if base is None or plain is None or row is base or not row["ours"]:
            continue
        seconds = predict(row, base, plain, memory)
        found.append(Comparison(row["problem"], row["entry"], row["median_s"], seconds))
    if not found:
        raise TailraceError(
            f"--check {path}: no problem contains '{NO_OUTPUT}' and '{SYNCHRONOUS}'", status=2
        )
    return found


def predict(
    row: dict[str, Any], base: dict[str, Any], plain: dict[str, Any], memory: float
) -> float:
    """Return the seconds of the run of `row` by the model: outputs, and the wait for the last."""
    size, outputs, ranks = row["bytes_per_output"], int(row["outputs"]), int(row["compute_ranks"])
    bandwidth = size / plain["seen_s"]
    job = Job(ranks, ranks, size, 1, base["median_s"] / outputs)
    machine = Machine(
        writer=bandwidth,
        file_system=bandwidth,
        memory=memory,
        copy=size / max(base["memcpy_s"], 1e-9),
    )
    if row["entry"] == SYNCHRONOUS:
        return outputs * model.synchronous(job, machine).period_s
    served = (
        model.threads(job, machine)
        if row["entry"].startswith("tailrace, thread")
        else model.servers(job, machine, 1)
    )
    first_s = job.compute_s() + served.hand_over_s
    # The staging memory is empty at first: it takes some outputs before a slow disk is felt.
    last_left_s = first_s + served.write_s
    for _ in range(1, outputs):
        ready_s = first_s + job.compute_s() + served.hand_over_s
        room_s = last_left_s - (memory - size) / size * served.write_s
        first_s = max(ready_s, room_s)
        last_left_s = max(last_left_s, first_s) + served.write_s
    return last_left_s


def show(console: Console, comparisons: list[Comparison]) -> None:
    """Print the table."""
    for problem in dict.fromkeys(one.problem for one in comparisons):
        table = Table(title=problem, title_justify="left")
        table.add_column("method", no_wrap=True)
        for heading in ("predicted [s]", "measured [s]", "difference"):
            table.add_column(heading, justify="right", no_wrap=True)
        for one in comparisons:
            if one.problem == problem:
                figures = (f"{one.predicted_s:.3f}", f"{one.measured_s:.3f}", f"{one.error():+.1%}")
                table.add_row(one.entry, *figures)
        console.print(table)
