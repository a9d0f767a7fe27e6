# SPDX-License-Identifier: BSD-3-Clause
"""What the user can ask of a study, besides what all benchmarks know."""

from dataclasses import dataclass, field
from typing import Any

from tailrace.benchmarks.options import Options
from tailrace.cli.bench_options import numbers


@dataclass(frozen=True)
class ServersOptions:
    """What only the studies of I/O servers know; `IoOptions.entries` holds for them, too."""

    servers: int = 1  # ranks that serve, where ranks do
    shapes: list[str] = field(default_factory=list)  # "slab", "pencil"
    every: int = 1  # steps from one output to the next
    calls: int = 4  # of `progress` in a step
    halo: int = 0  # doubles sent to both neighbours at each of them, and a sum over all ranks
    fractions: list[int] = field(default_factory=list)  # 2: half the speed of synchronous output
    competitor: bool = False  # each run once more, with another that writes to the same disk
    idle_s: float = 1  # for how long idle servers are watched


@dataclass(frozen=True)
class StudyOptions(Options):
    """The options of benchmarks, and those of some studies."""

    fluidsim_python: str = ""  # a Python that has fluidsim
    pflotran: str = ""  # the program PFLOTRAN
    servers: ServersOptions = field(default_factory=ServersOptions)


def study(n: str, ranks: str, rounds: int, **more: Any) -> StudyOptions:
    """Return the options of a study, as `tailrace.cli.bench_options.basic` does of a benchmark."""
    return StudyOptions(
        sizes=numbers(n, "--points"), ranks=numbers(ranks, "--ranks"), rounds=rounds, **more
    )
