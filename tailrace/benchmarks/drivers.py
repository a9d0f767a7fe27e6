# SPDX-License-Identifier: BSD-3-Clause
"""Where the compiled benchmark drivers are, and how they are started."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.profile.job import choose_launcher
from tailrace.programs import SOURCE_ROOT


@dataclass(frozen=True)
class Command:
    """What to run: the words, and what to add to the environment."""

    words: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    def in_round(self, number: int) -> "Command":
        """Return the command of round `number`: ``{round}`` in its words becomes the number."""
        words = [word.replace("{round}", str(number)) for word in self.words]
        return Command(words, self.environment)


def find_driver(name: str) -> Path | None:
    """Return the newest build of the driver ``bench_NAME``, or None if it was not built.

    Looks in TAILRACE_BIN_DIR (a build folder) if it is set, else in the builds of the source tree.
    """
    chosen = os.environ.get("TAILRACE_BIN_DIR")
    builds = [Path(chosen)] if chosen else sorted(SOURCE_ROOT.glob("build/*"))
    places = [p for b in builds for p in (b / f"bench_{name}", b / "bench" / f"bench_{name}")]
    found = [path for path in places if path.is_file() and os.access(path, os.X_OK)]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def need_driver(name: str) -> Path:
    """Like `find_driver`, for our own drivers: absence is an error."""
    path = find_driver(name)
    if path is None:
        raise TailraceError(f"bench_{name} was not found; run `make build TARGETS=bench/all`")
    return path


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
