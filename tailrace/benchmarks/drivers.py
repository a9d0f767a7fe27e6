# SPDX-License-Identifier: BSD-3-Clause
"""Which programs measure, and how they are started."""

from dataclasses import dataclass, field
from pathlib import Path

from tailrace.benchmarks import clone
from tailrace.profile.job import choose_launcher
from tailrace.programs import find_program


@dataclass(frozen=True)
class Command:
    """What to run: the words, and what to add to the environment."""

    words: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    def in_round(self, number: int) -> "Command":
        """Return the command of round `number`: ``{round}`` in its words becomes the number."""
        words = [word.replace("{round}", str(number)) for word in self.words]
        return Command(words, self.environment)


def driver(name: str) -> tuple[Path, list[str]]:
    """Return the program that measures benchmark `name`, and its first words.

    That is ``tailrace-bench NAME``; or, in a clone where it is built, a program that measures the
    same and other libraries, too.
    """
    others = clone.other_libraries()
    with_others = others.find_driver(name) if others and name in others.JOINED else None
    if with_others:
        return with_others, []
    return find_program("tailrace-bench"), [name]


def arguments(**values: object) -> list[str]:
    """Return ``--name value`` words; underscores become dashes."""
    return [
        word
        for name, value in values.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]


def parallel(ranks: int, program: Path, words: list[str], threads: int = 1) -> Command:
    """Return the command that starts `program` on `ranks` ranks of `threads` threads."""
    _, launch = choose_launcher(ranks, program, threads)
    environment = {**launch.environment, "OMP_NUM_THREADS": str(threads)}
    return Command([*launch.prefix, str(program), *words], environment)


def serial(program: Path, words: list[str], threads: int = 1) -> Command:
    """Return the command that starts `program` as one process of `threads` threads."""
    return Command([str(program), *words], {"OMP_NUM_THREADS": str(threads)})
