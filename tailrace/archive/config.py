# SPDX-License-Identifier: BSD-3-Clause
"""The configuration of the archive, a TOML file (docs/archive.md has all keys).

The file is the one that ``--config`` names, else that of the variable TAILRACE_ARCHIVE, else
``tailrace/archive.toml`` in the user's configuration folder.
"""

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.archive.checksum import BLAKE3, LISTS, best_algorithm
from tailrace.archive.packed import ZSTD, is_installed
from tailrace.archive.target import Target
from tailrace.archive.targets import target_of
from tailrace.errors import TailraceError

_UNITS = {"": 1, **{unit: 1000**i for i, unit in enumerate("kMGTP", 1)}}
_UNITS |= {f"{unit}i": 1024**i for i, unit in enumerate("KMGTP", 1)}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
KEYS = {"copies", "checksum", "index", "spool", "targets", "projects", "nightly"}
DEFAULT_WINDOW = "1G..100G"


@dataclass(frozen=True)
class Place:
    """A target's table: its settings, the sizes that bundles shall have, and its capacity."""

    name: str
    settings: dict[str, Any]
    smallest: int
    largest: int
    capacity: int | None
    compress: str = ""

    def open(self) -> Target:
        """Return the target itself."""
        return target_of(self.name, self.settings)


@dataclass(frozen=True)
class NightlyFolder:
    """A folder whose files `nightly` moves once they have been quiet for `quiet_s` seconds."""

    folder: Path
    copies: int
    quiet_s: float


@dataclass(frozen=True)
class Config:
    """What the file says; relative paths start at its folder."""

    file: Path
    places: tuple[Place, ...]
    copies: int
    checksum: str
    index: Path
    spool: Path
    projects: dict[str, str]
    nightly: tuple[NightlyFolder, ...]

    def place(self, name: str) -> Place:
        """Return the target of that name."""
        for place in self.places:
            if place.name == name:
                return place
        known = ", ".join(place.name for place in self.places)
        raise TailraceError(f"{self.file}: no target {name!r}; the targets are {known}", 2)


def user_folder(variable: str, default: str) -> Path:
    """Return ``tailrace`` in a folder of the XDG specification, such as XDG_CONFIG_HOME."""
    base = os.environ.get(variable, "")
    return (Path(base) if base.startswith("/") else Path("~").expanduser() / default) / "tailrace"


def load_config(given: Path | None = None) -> Config:
    """Read the configuration; an error names the file and the key."""
    named = os.environ.get("TAILRACE_ARCHIVE", "")
    file = given or (Path(named) if named else None)
    file = file or user_folder("XDG_CONFIG_HOME", ".config") / "archive.toml"
    try:
        table = tomllib.loads(file.read_text())
    except FileNotFoundError:
        hint = "write one (docs/archive.md), or name it with --config or TAILRACE_ARCHIVE"
        raise TailraceError(f"{file}: there is no archive configuration; {hint}", 2) from None
    except (OSError, ValueError) as error:
        raise TailraceError(f"{file}: {getattr(error, 'strerror', None) or error}", 2) from error
    try:
        return _config(file, table)
    except ValueError as error:
        raise TailraceError(f"{file}: {error}", 2) from error


def _config(file: Path, table: dict[str, Any]) -> Config:
    if unknown := sorted(set(table) - KEYS):
        raise ValueError(f"unknown key {unknown[0]}; the keys are {', '.join(sorted(KEYS))}")
    targets = _tables(table, "targets")
    if not targets:
        raise ValueError("no target; add a table [targets.NAME]")
    data = user_folder("XDG_DATA_HOME", ".local/share") / "archive"

    def path(text: object) -> Path:
        return file.parent.absolute() / Path(str(text)).expanduser()

    copies = _copies(table.get("copies", 1), len(targets))
    nightly = [
        NightlyFolder(
            path(_needed(row, "nightly", "folder")),
            _copies(row.get("copies", copies), len(targets)),
            parse_duration(row.get("quiet", "1h")),
        )
        for row in table.get("nightly", [])
    ]
    return Config(
        file,
        tuple(_place(name, settings, path) for name, settings in targets.items()),
        copies,
        _checksum(table.get("checksum")),
        path(table.get("index", data / "index.sqlite")),
        path(table.get("spool", data / "spool")),
        {name: str(path(folder)) for name, folder in _tables(table, "projects", str).items()},
        tuple(nightly),
    )


def _tables(table: dict[str, Any], key: str, kind: type = dict) -> dict[str, Any]:
    found = table.get(key, {})
    if not isinstance(found, dict) or not all(isinstance(each, kind) for each in found.values()):
        raise ValueError(f"{key} must be a table of {'tables' if kind is dict else 'texts'}")
    return found


def _needed(row: Any, table: str, key: str) -> Any:
    if not isinstance(row, dict) or key not in row:
        raise ValueError(f"[[{table}]] needs {key}")
    return row[key]


def _copies(value: Any, targets: int) -> int:
    if not isinstance(value, int) or not 1 <= value <= targets:
        raise ValueError(f"copies = {value!r}: give 1 to {targets}, the number of targets")
    return value


def _checksum(value: Any) -> str:
    if value is None:
        return best_algorithm()
    if value not in LISTS:
        raise ValueError(f"checksum = {value!r}: give {' or '.join(LISTS)}")
    if value == BLAKE3 and best_algorithm() != BLAKE3:
        raise ValueError("checksum = 'blake3' needs the module blake3: 'tailrace[archive]'")
    return str(value)


def checked_compress(value: object) -> str:
    """Return what `compress` says; ValueError if it cannot be done."""
    if value not in ("", "none", ZSTD):
        raise ValueError(f"compress = {value!r}: give zstd or none")
    if value == ZSTD and not is_installed():
        raise ValueError("compress = 'zstd' needs the module zstandard: 'tailrace[archive]'")
    return str(value)


def _place(name: str, settings: dict[str, Any], path: Any) -> Place:
    window = str(settings.get("bundle", DEFAULT_WINDOW))
    least, dots, most = window.partition("..")
    smallest, largest = parse_size(least), parse_size(most if dots else least)
    if not 0 < smallest <= largest:
        raise ValueError(f"targets.{name}: bundle = {window!r}: write it as '100G..500G'")
    capacity = settings.get("capacity")
    compress = checked_compress(settings.get("compress", ""))
    settings = dict(settings)
    for key in ("path", "config"):
        if settings.get("kind") != "command" and isinstance(settings.get(key), str):
            settings[key] = str(path(settings[key]))
    return Place(
        name,
        settings,
        smallest,
        largest,
        None if capacity is None else parse_size(capacity),
        compress,
    )


def parse_size(text: object) -> int:
    """Return a number of bytes.

    >>> parse_size("100G"), parse_size("1.5 KiB"), parse_size(512)
    (100000000000, 1536, 512)
    """
    match = re.fullmatch(r"([0-9.]+)\s*([kMGTPK]i?|)B?", str(text).strip())
    if not match or (match[2].replace("K", "k") not in _UNITS and match[2] not in _UNITS):
        raise ValueError(f"{text!r} is not a size; write 512, 100M, 2G or 1GiB")
    unit = match[2] if match[2] in _UNITS else match[2].lower()
    return int(float(match[1]) * _UNITS[unit])


def parse_duration(text: object) -> float:
    """Return seconds.

    >>> parse_duration("2h"), parse_duration("0s")
    (7200.0, 0.0)
    """
    match = re.fullmatch(r"([0-9.]+)\s*([smhd])", str(text).strip())
    if not match:
        raise ValueError(f"{text!r} is not a duration; write 30s, 10m, 2h or 1d")
    return float(match[1]) * _SECONDS[match[2]]
