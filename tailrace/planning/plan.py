# SPDX-License-Identifier: BSD-3-Clause
"""A plan: for each number of ranks, what output costs without servers, and with each choice."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tailrace.planning import model
from tailrace.planning.model import Job, Machine, Outcome
from tailrace.planning.writing import Cost

MOST_CHOICES = 6  # numbers of servers that are shown unless the user names some


@dataclass(frozen=True)
class Case:
    """All methods of output for one number of ranks."""

    job: Job
    needed: int | None  # servers that hide output
    outcomes: list[Outcome]
    outage_memory: float  # of a node [bytes]
    break_even_s: float  # computing between outputs above which `needed` servers do not pay
    strategies: list[Cost]  # ways of writing without servers, fastest first

    def best(self) -> Outcome:
        """The outcome with as many servers as needed, else that which loses least time."""
        for outcome in self.outcomes:
            if outcome.servers == self.needed and outcome.kind not in ("none", "thread"):
                return outcome
        return min(self.outcomes, key=lambda outcome: outcome.lost)


def make_case(
    job: Job, machine: Machine, numbers: list[int], placement: str, outage_s: float
) -> Case:
    """Return what each method costs; `numbers` of servers: empty = up to those that are needed."""
    model.check(job, machine)
    needed = model.servers_to_hide(job, machine, placement)
    chosen = [n for n in numbers if placement != "spread" or n < job.ranks]
    if not numbers:
        chosen = _choices(job, needed, placement)
    outcomes = [model.synchronous(job, machine), model.threads(job, machine)]
    outcomes += [model.servers(job, machine, n, placement) for n in chosen]
    return Case(
        job=job,
        needed=needed,
        outcomes=outcomes,
        outage_memory=model.outage_memory(job, outage_s),
        break_even_s=model.break_even_interval_s(job, machine, needed or 1),
        strategies=model.strategies(job, machine),
    )


def _choices(job: Job, needed: int | None, placement: str) -> list[int]:
    """Return the number needed, its halves and its double, not more than there can be."""
    top = needed or max(1, job.ranks // job.ranks_per_node)
    found = {top, 2 * top, 1} | {-(-top // 2**k) for k in range(MOST_CHOICES - 2)}
    most = job.ranks - 1 if placement == "spread" else 2 * job.ranks
    return sorted(n for n in found if 1 <= n <= most)


def make_cases(
    job: Job,
    machine: Machine,
    ranks: list[int],
    scale: Callable[[Job, int], Job],
    numbers: list[int],
    placement: str,
    outage_s: float,
) -> list[Case]:
    """Return a case for each number of ranks; `scale` is `model.weak` or `model.strong`."""
    return [make_case(scale(job, n), machine, numbers, placement, outage_s) for n in ranks]


def as_data(cases: list[Case], machine: Machine) -> dict[str, Any]:
    """Return everything as JSON has it; infinite numbers become null."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value]
        return None if value == float("inf") else value

    data = {"machine": dataclasses.asdict(machine), "cases": [dataclasses.asdict(c) for c in cases]}
    found: dict[str, Any] = plain(data)
    return found
