# SPDX-License-Identifier: BSD-3-Clause
"""What output costs a run: the same piece of it with each kind of output, again and again in turn.

The pieces of a round follow each other closely, so what changes slowly on the machine changes all
of them; a cost is the median of the ratios within the rounds. What others use of the machine
meanwhile is measured too: on a busy machine such ratios say nothing, and that is what is said.
Each run also measures within itself what output costs (`output_cost`).
"""

import json
import shutil
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.launch.machine_load import Share, between, sample
from tailrace.runs.output_cost import CostWithin, cost_within
from tailrace.runs.simulation import Job, run_job

# The settings of each kind of output.
MODES = {
    "none": ("output.every=0", "checkpoint.every=0"),
    "synchronous": ("output.servers=none",),
    "hidden": ("output.servers=hidden",),
}
FREE_CORE = 0.1  # of a core that others may use
FREE_CORE_WITH_OUTPUT = 0.3  # the kernel's threads write files, too
STOLEN_CORE = 0.1
SPREAD = 0.1  # of the runs without output


@dataclass(frozen=True)
class Piece:
    """One run: the seconds of its time loop, what others used meanwhile, and its cost of output."""

    seconds: float
    share: Share | None
    within: CostWithin | None = None


Round = dict[str, Piece]


@dataclass(frozen=True)
class Cost:
    """Time beside the run without output: 0.05 is 5 % more."""

    median: float
    low: float
    high: float


def run_rounds(job: Job, folder: Path, rounds: int, tell: Callable[[int, Round], None]) -> None:
    """Run the job in each mode in turn, `rounds` times, in changing order; `tell` of each round.

    The results of the last hidden run are in `folder`, those of others below it, without fields.
    """
    for number in range(rounds):
        shift = number % len(MODES)
        found: Round = {}
        for mode in [*MODES][shift:] + [*MODES][:shift]:
            last = mode == "hidden" and number == rounds - 1
            where = folder if last else folder / "other" / f"{mode}-{number + 1}"
            found[mode] = _run_piece(job, mode, where)
            if not last:  # their files have been timed; they need not fill the disk
                shutil.rmtree(where / "fields", ignore_errors=True)
        tell(number, found)


def _run_piece(job: Job, mode: str, where: Path) -> Piece:
    title = f"{mode} output" if mode != "none" else "no output"
    before = sample()
    run_to_end(job, where, [*MODES[mode]], title)
    return Piece(seconds_of(where, mode), between(before, sample()), cost_within(_summary(where)))


def run_to_end(job: Job, where: Path, settings: list[str], title: str) -> None:
    """Run the job with more settings; complain if it fails, or is stopped by a signal."""
    chosen = [*job.settings, *settings]
    status, _ = run_job(replace(job, settings=chosen, run_dir=where, title=title))
    if status != 0:
        raise TailraceError(f"the run ({title}) ended with status {status}", status)
    stopped_by = _summary(where).get("stopped_by", "")
    if stopped_by.startswith("SIG"):
        raise TailraceError(f"the run ({title}) was stopped by {stopped_by}", 130)


def _summary(folder: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return summary


def seconds_of(folder: Path, mode: str) -> float:
    """Return the seconds of a run's time loop (with its output), as the program measured them."""
    try:
        return float(_summary(folder)["times_s"][mode])
    except (KeyError, TypeError) as error:
        raise TailraceError(f"{folder}/summary.json: no times_s.{mode}") from error


def cost_of(rounds: list[Round], mode: str) -> Cost:
    """Return what a mode cost beside the run without output of the same round."""
    ratios = [one[mode].seconds / one["none"].seconds - 1 for one in rounds]
    return Cost(statistics.median(ratios), min(ratios), max(ratios))


def doubts(rounds: list[Round], cores: int, busy_cores: int) -> list[str]:
    """Return why the costs cannot be told; none if the machine was quiet enough.

    `busy_cores` are those that the run itself uses, of `cores`.
    """
    found = []
    spare = max(0, cores - busy_cores) / 2
    quiet = [one["none"].share for one in rounds]
    others = statistics.median([share.others for share in quiet if share] or [0.0])
    every = [piece.share for one in rounds for piece in one.values() if piece.share]
    most = statistics.median([share.others for share in every] or [0.0])
    if others > FREE_CORE + spare or most > FREE_CORE_WITH_OUTPUT + spare:
        found.append(f"other programs used {max(others, most):.1f} of its {cores} processors")
    stolen = statistics.median([share.stolen for share in every] or [0.0])
    if stolen > STOLEN_CORE:
        found.append(f"its host took {stolen:.1f} of them away")
    times = [one["none"].seconds for one in rounds]
    spread = max(times) / min(times) - 1
    if spread > SPREAD:
        found.append(f"the runs without output differ by {100 * spread:.0f} % themselves")
    return found
