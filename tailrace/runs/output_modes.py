# SPDX-License-Identifier: BSD-3-Clause
"""What output costs a run: the same piece of it with each kind of output, interleaved.

The pieces of a round follow each other closely, so what changes slowly on the machine changes all
of them; a cost is the median of the ratios within the rounds, with the least and the largest. Each
round has two pieces without output: how much these differ is the noise of such a ratio. What others
use of the machine meanwhile is measured too. Each run also measures within itself what output costs
(`output_cost`).
"""

import json
import shutil
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.launch.machine_load import Share, between, sample
from tailrace.runs.output_cost import CostWithin, cost_within
from tailrace.runs.simulation import Job, run_job

NONE, AGAIN = "none", "none again"
SHARED = "shared "  # begins the names of kinds of output to a simulated shared file system


@dataclass(frozen=True)
class Kind:
    """A kind of output: its settings, and the key of its time in the program's summary."""

    settings: tuple[str, ...]
    key: str


Kinds = Mapping[str, Kind]

WITHOUT = Kind(("output.every=0", "checkpoint.every=0"), "none")
SYNCHRONOUS = Kind(("output.servers=none",), "synchronous")
HIDDEN = Kind(("output.servers=hidden",), "hidden")
# To the disk as it is. The last one's last run stays in the folder.
KINDS: Kinds = {NONE: WITHOUT, AGAIN: WITHOUT, "synchronous": SYNCHRONOUS, "hidden": HIDDEN}
FREE_CORE = 0.1  # of a core that others may use
FREE_CORE_WITH_OUTPUT = 0.3  # the kernel's threads write files, too
STOLEN_CORE = 0.1


def shared_kinds(limit: str) -> dict[str, Kind]:
    """Return the kinds of output to a shared file system that the back end `limited` simulates."""
    hint = f'output.hints=["back_end=limited:{limit}"]'

    def to_it(kind: Kind, *more: str) -> Kind:
        return Kind((*kind.settings, hint, *more), kind.key)

    return {
        f"{SHARED}synchronous": to_it(SYNCHRONOUS),
        f"{SHARED}compressed": to_it(HIDDEN, "output.compress=deflate:1"),
        f"{SHARED}processes": to_it(Kind(("output.servers=process",), "servers")),
        f"{SHARED}hidden": to_it(HIDDEN),
    }


@dataclass(frozen=True)
class Piece:
    """One run: the seconds of its time loop, what others used meanwhile, and its cost of output."""

    seconds: float
    share: Share | None
    within: CostWithin | None = None


Round = dict[str, Piece]


@dataclass(frozen=True)
class Cost:
    """Time compared with the run without output: 0.05 is 5 % more."""

    median: float
    low: float
    high: float

    def text(self) -> str:
        """Return "+5.0 % (+4.0 to +6.0 %)"."""
        return f"{100 * self.median:+.1f} % {self.range_text()}"

    def range_text(self) -> str:
        """Return "(+4.0 to +6.0 %)"."""
        return f"({100 * self.low:+.1f} to {100 * self.high:+.1f} %)"


def run_rounds(
    job: Job,
    folder: Path,
    rounds: int,
    tell: Callable[[int, Round], None],
    kinds: Kinds = KINDS,
) -> None:
    """Run the job with each kind of output, `rounds` times, in changing order; tell of each round.

    The results of the last run of the last kind are in `folder`, those of others below it, without
    fields.
    """
    names = [*kinds]
    for number in range(rounds):
        shift = number % len(names)
        found: Round = {}
        for name in names[shift:] + names[:shift]:
            last = name == names[-1] and number == rounds - 1
            where = folder if last else folder / "other" / f"{name.replace(' ', '-')}-{number + 1}"
            found[name] = _run_piece(job, name, kinds[name], where)
            if not last:  # their files have been timed; they need not fill the disk
                shutil.rmtree(where / "fields", ignore_errors=True)
        tell(number, found)


def _run_piece(job: Job, name: str, kind: Kind, where: Path) -> Piece:
    before = sample()
    run_to_end(job, where, [*kind.settings], words_of(name))
    return Piece(
        seconds_of(where, kind.key), between(before, sample()), cost_within(_summary(where))
    )


def words_of(name: str) -> str:
    """Return a kind of output in words."""
    kind = name.removeprefix(SHARED)
    words = {
        NONE: "no output",
        AGAIN: "no output, again",
        "compressed": "hidden, compressed",
        "processes": "server processes",
    }
    return words.get(kind, kind)


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


def cost_of(rounds: list[Round], name: str) -> Cost:
    """Return what a kind of output cost compared with the runs without output of its round."""
    return costs_of_times({kind: [one[kind].seconds for one in rounds] for kind in rounds[0]})[name]


def costs_of_times(times: object) -> dict[str, Cost]:
    """Return the costs of all kinds from their times in each round, as a summary has them."""
    if not isinstance(times, dict) or not times.get(NONE):
        return {}
    found = {}
    for name, values in times.items():
        if name == NONE or len(values) != len(times[NONE]):
            continue
        bases = [NONE] if name == AGAIN or AGAIN not in times else [NONE, AGAIN]
        without = zip(*(times[base] for base in bases), strict=True)
        ratios = [
            value / statistics.mean(base) for value, base in zip(values, without, strict=True)
        ]
        found[name] = Cost(statistics.median(ratios) - 1, min(ratios) - 1, max(ratios) - 1)
    return found


def noise_text(times: object) -> str:
    """Return by how much equal runs differ; "" where no run was repeated within a round."""
    noise = costs_of_times(times).get(AGAIN)
    return "" if noise is None else f"noise: equal runs differ by {noise.text()}"


def others_used(rounds: list[Round], cores: int, busy_cores: int) -> list[str]:
    """Return what others used of the machine, which makes the ranges of the costs wider.

    `busy_cores` are those that the run itself uses, of `cores`.
    """
    found = []
    spare = max(0, cores - busy_cores) / 2
    quiet = [one[NONE].share for one in rounds]
    others = statistics.median([share.others for share in quiet if share] or [0.0])
    every = [piece.share for one in rounds for piece in one.values() if piece.share]
    most = statistics.median([share.others for share in every] or [0.0])
    if others > FREE_CORE + spare or most > FREE_CORE_WITH_OUTPUT + spare:
        found.append(f"other programs used {max(others, most):.1f} of its {cores} processors")
    stolen = statistics.median([share.stolen for share in every] or [0.0])
    if stolen > STOLEN_CORE:
        found.append(f"its host took {stolen:.1f} of them away")
    return found
