# SPDX-License-Identifier: BSD-3-Clause
"""Options that several benchmarks have, and what their texts mean."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace.benchmarks.clone import in_clone
from tailrace.benchmarks.options import FULL_SIZES, MovingOptions, Options
from tailrace.cli.json_option import JsonOption
from tailrace.errors import TailraceError


class Precision(StrEnum):
    """Of a computation."""

    double = "double"
    single = "single"


class Compute(StrEnum):
    """Work of a run between its outputs."""

    work = "work"
    sleep = "sleep"


class Kind(StrEnum):
    """Of a transform."""

    r2c = "r2c"
    c2c = "c2c"


class Grid(StrEnum):
    """Of ranks."""

    auto = "auto"
    slabs = "slabs"
    pencils = "pencils"


def option(text: str, *names: str, **more: Any) -> Any:
    if "min" in more:
        more.setdefault("metavar", "N")
    return typer.Option(*names, help=text, **more)


# Options that several benchmarks have.
Json = JsonOption
Picture = Annotated[Path | None, option("Draw the figures (.png, .svg).", metavar="FILE")]
Edges = Annotated[str, option("Points along an edge, e.g. 128,256.", "--points", metavar="N,N")]
Ranks = Annotated[str, option("Numbers of ranks, e.g. 1,2.", "-n", "--ranks", metavar="N,N")]
Rounds = Annotated[int, option("Number of rounds over all entries.", min=1)]
Repeats = Annotated[int, option("Timed runs per process.", min=1)]
PrecisionOption = Annotated[
    Precision, option("Precision of Tailrace's runs.", metavar="double|single")
]
Threads = Annotated[int, option("OpenMP threads per rank of Tailrace.", min=1)]
RareThreads = Annotated[int, option("OpenMP threads per rank of Tailrace.", min=1, hidden=True)]
NoOtherLibraries = Annotated[bool, option("Omit other libraries.", "--no-other-libraries")]
Folder = Annotated[Path, option("Folder to measure.", metavar="FOLDER")]
# Both need scripts of the repository.
Throttle = Annotated[
    str,
    option(
        "Limit the disk to this rate, bytes/s (needs root).", metavar="TEXT", hidden=not in_clone()
    ),
]
Steps = Annotated[int, option("Steps of a run.", min=1)]
ComputeS = Annotated[float, option("Computing time of a step.", metavar="SECONDS", min=0)]
ComputeOption = Annotated[Compute, option("work keeps cores busy.", metavar="work|sleep")]
Patterns = Annotated[str, option("Patterns, separated by commas.", metavar="TEXT")]
Methods = Annotated[
    str, option("More methods, as in 'pull:chunk=4k;pull:chunk=512'.", metavar="TEXT")
]
Entries = Annotated[
    str, option("Only entries containing these words (separated by ;).", metavar="TEXT")
]
Nodes = Annotated[
    int, option("Number of nodes to emulate on this machine.", min=1, hidden=not in_clone())
]
Bus = Annotated[
    float, option("Load the memory bus with this many bytes/s.", metavar="BYTES", min=0)
]
RareBus = Annotated[
    float,
    option("Load the memory bus with this many bytes/s.", metavar="BYTES", min=0, hidden=True),
]
FOLDER = Path("bench-output")


def numbers(text: str, option: str) -> list[int]:
    words = [word for word in text.replace(",", " ").split() if word]
    if not all(word.isdigit() and int(word) > 0 for word in words):
        raise TailraceError(f"{option} {text}: expected positive integers, as in 1,2,4", status=2)
    return [int(word) for word in words]


def byte_counts(text: str, option: str) -> list[int]:
    """Read sizes such as 8,4k,1M: powers of 1024."""
    if text == "full":
        return FULL_SIZES
    units = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    sizes = []
    for word in words(text):
        digits = word.rstrip("kMG")
        unit = units.get(word[len(digits) :])
        if not digits.isdigit() or int(digits) == 0 or unit is None:
            raise TailraceError(f"{option} {text}: expected sizes, as in 8,4k,1M", status=2)
        sizes.append(int(digits) * unit)
    return sizes


def words(text: str, separator: str = ",") -> list[str]:
    return [word.strip() for word in text.split(separator) if word.strip()]


def basic(n: str, ranks: str, rounds: int, **more: Any) -> Options:
    return Options(
        sizes=numbers(n, "--points"), ranks=numbers(ranks, "--ranks"), rounds=rounds, **more
    )


def moving(patterns: str, sizes: str, method: str, entries: str, nodes: int) -> MovingOptions:
    return MovingOptions(
        sizes=byte_counts(sizes, "--sizes"),
        patterns=words(patterns),
        methods=words(method, ";"),
        entries=words(entries, ";"),
        nodes=nodes,
    )
