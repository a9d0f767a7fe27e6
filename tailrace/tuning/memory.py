# SPDX-License-Identifier: BSD-3-Clause
"""The memory file of the tuner (``chooser/memory.hpp`` tells its schema)."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError

SCHEMA = "tailrace tune"
VERSION = 1


@dataclass(frozen=True)
class Timing:
    """What was found for one candidate; `trouble` says why it did not count."""

    name: str
    median_s: float = 0
    spread_s: float = 0
    samples: int = 0
    trouble: str = ""


@dataclass(frozen=True)
class Winner:
    """One entry: the best method for a problem, on some ranks of a machine."""

    operation: str
    key: str
    places: str
    winner: str
    date: str
    why: str = ""
    null_spread: float = 0
    timings: list[Timing] = field(default_factory=list)
    machine: dict[str, Any] = field(default_factory=dict)

    @property
    def timing(self) -> Timing:
        """The winner's own."""
        return next((t for t in self.timings if t.name == self.winner), Timing(self.winner))

    @property
    def runner_up(self) -> Timing | None:
        """The best of the others."""
        others = [t for t in self.timings if t.name != self.winner and t.samples and not t.trouble]
        return min(others, key=lambda t: t.median_s, default=None)

    @property
    def num_ranks(self) -> int:
        """Ranks that took part: the first number of `places`; "a lone rank" is 1."""
        first = self.places.split(" ", 1)[0]
        return int(first) if first.isdigit() else 1


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder for what is remembered: see ``tailrace::cache_folder``."""
    env = os.environ if environ is None else environ
    if env.get("TAILRACE_CACHE"):
        return Path(env["TAILRACE_CACHE"])
    cache = env.get("XDG_CACHE_HOME")
    folder = Path(cache) if cache else Path(env.get("HOME", str(Path.home()))) / ".cache"
    return folder / "tailrace"


def default_file(environ: Mapping[str, str] | None = None) -> Path:
    """Return the file that programs use: see ``tailrace::tune::Settings``."""
    env = os.environ if environ is None else environ
    if env.get("TAILRACE_TUNE_FILE"):
        return Path(env["TAILRACE_TUNE_FILE"])
    return cache_folder(env) / "tune.json"


def parse_winner(data: dict[str, Any]) -> Winner:
    """Make a `Winner` of an entry of the file. Raises KeyError, TypeError if it is none."""
    known = {name: data[name] for name in ("operation", "key", "places", "winner", "date")}
    return Winner(
        **known,
        why=data.get("why", ""),
        null_spread=data.get("null_spread", 0),
        timings=[Timing(**timing) for timing in data.get("timings", [])],
        machine=data["machine"],
    )


def read(path: Path) -> list[Winner]:
    """Return the entries of a memory file, in the order in which they were added."""
    if path.is_dir():
        raise TailraceError(f"{path} is a folder; name the results file", status=2)
    if not path.is_file():
        raise TailraceError(
            f"{path}: no such file: nothing has been measured yet (run `tailrace tune`)"
        )
    try:
        data = json.loads(path.read_text())
        if data["schema"] != SCHEMA or data["version"] != VERSION:
            raise ValueError(f"expected schema {SCHEMA!r}, version {VERSION}")
        return [parse_winner(entry) for entry in data["entries"]]
    except OSError as error:
        raise TailraceError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise TailraceError(f"{path} is not a results file of the tuner: {why}") from None
