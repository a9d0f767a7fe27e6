# SPDX-License-Identifier: BSD-3-Clause
"""A striped file system as numbers: targets, metadata service, locks, clients, load of others.

A file system is described in a TOML file; `KEYS` has every key. The files in `file_systems/` come
with Tailrace. `tailrace/planning/writing.py` says what an output costs on it.
"""

import difflib
import math
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError

INFINITE = math.inf
SHIPPED = Path(__file__).resolve().parent / "file_systems"


def _number(default: float, text: str, least: float = 0.0) -> Any:
    return field(default=default, metadata={"help": text, "least": least})


@dataclass(frozen=True)
class Targets:
    """Where the stripes lie."""

    count: int = _number(1, "storage targets", 1)
    bytes_per_s: float = _number(INFINITE, "bandwidth of one target for large requests", 1)
    request_s: float = _number(0, "additional time of each request at a target: seek and protocol")
    request_bytes: int = _number(1 << 20, "largest request that a client sends", 1)
    stripe_bytes: int = _number(1 << 20, "bytes of a stripe", 1)
    most_stripes: int = _number(160, "largest number of targets of one file", 1)


@dataclass(frozen=True)
class Metadata:
    """The service that creates and opens files, one request after the other."""

    creates_per_s: float = _number(INFINITE, "files created per second", 1e-9)
    opens_per_s: float = _number(INFINITE, "files opened per second", 1e-9)
    stats_per_s: float = _number(INFINITE, "queries of file sizes per second", 1e-9)
    object_s: float = _number(
        0, "time that a client needs for each further stripe of a file that it opens"
    )


@dataclass(frozen=True)
class Locks:
    """Extent locks: clients that write to the same object take them from each other."""

    transfer_s: float = _number(0, "time to revoke a lock from one client and grant it to another")


@dataclass(frozen=True)
class Clients:
    """What nodes and processes can send."""

    node_bytes_per_s: float = _number(INFINITE, "bandwidth of a node to the file system", 1)
    process_bytes_per_s: float = _number(INFINITE, "bandwidth of one process to the file system", 1)
    network_bytes_per_s: float = _number(INFINITE, "bandwidth into a node from other nodes", 1)


@dataclass(frozen=True)
class Network:
    """The network between compute nodes and targets."""

    routers: int = _number(0, "nodes that forward requests to the targets; 0: not modelled")
    router_bytes_per_s: float = _number(INFINITE, "bandwidth of one forwarding node", 1)
    machine: str = field(
        default="",
        metadata={
            "help": "machine whose links are included, as for `tailrace plan transposes "
            "--machine`; '': none"
        },
    )


@dataclass(frozen=True)
class Load:
    """The share of each target's bandwidth that other jobs take: a beta distribution."""

    mean: float = _number(0, "mean share that other jobs take, from 0 to less than 1")
    spread: float = _number(0, "standard deviation of the share over targets and time")

    def possible(self) -> bool:
        """Tell whether a share from 0 to 1 can have this mean and spread."""
        in_range = 0 <= self.mean < 1 and self.spread >= 0
        return in_range and (self.spread == 0 or self.spread**2 < self.mean * (1 - self.mean))


@dataclass(frozen=True)
class FileSystem:
    """A file system; each part is a table of the TOML file."""

    name: str = "given"
    source: str = ""  # where the numbers come from, and which of them are assumed
    targets: Targets = field(default_factory=Targets)
    metadata: Metadata = field(default_factory=Metadata)
    locks: Locks = field(default_factory=Locks)
    clients: Clients = field(default_factory=Clients)
    network: Network = field(default_factory=Network)
    load: Load = field(default_factory=Load)

    def bandwidth(self) -> float:
        """Return what all targets take together, with nobody else."""
        return self.targets.count * self.targets.bytes_per_s


TABLES: dict[str, Any] = {
    "targets": Targets,
    "metadata": Metadata,
    "locks": Locks,
    "clients": Clients,
    "network": Network,
    "load": Load,
}
# "targets.count": (default, help); docs/how/storage_model.md prints them.
KEYS: dict[str, tuple[Any, str]] = {
    f"{table}.{key}": (entry.default, str(entry.metadata["help"]))
    for table, made in TABLES.items()
    for key, entry in made.__dataclass_fields__.items()
}


def two_numbers(writer: float, whole: float, load: float = 0.0) -> FileSystem:
    """Return a file system known by two bandwidths only: of one writer, and of all together."""
    return FileSystem(
        targets=Targets(count=1, bytes_per_s=whole),
        clients=Clients(process_bytes_per_s=writer),
        load=Load(mean=load),
    )


def shipped() -> dict[str, Path]:
    """Return the descriptions that come with Tailrace, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def find_file_system(text: str) -> FileSystem:
    """Return the file system that `text` names: a TOML file, or a shipped description."""
    path = Path(text)
    known = shipped()
    if not path.is_file():
        if text not in known:
            near = difflib.get_close_matches(text, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise TailraceError(
                f"--storage {text}: neither a file nor one of {', '.join(known)}{hint}", status=2
            )
        path = known[text]
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise TailraceError(f"--storage {path}: {error.strerror}", status=2) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TailraceError(f"--storage {path}: no TOML ({error})", status=2) from error
    return _read(content, path)


def _read(content: dict[str, Any], path: Path) -> FileSystem:
    parts: dict[str, Any] = {}
    for name, value in content.items():
        if name in ("name", "source") and isinstance(value, str):
            parts[name] = value
        elif name in TABLES and isinstance(value, dict):
            for key, given in value.items():
                _check(f"{name}.{key}", given, path)
            parts[name] = TABLES[name](**value)
        else:
            near = difflib.get_close_matches(name, [*TABLES, "name", "source"], n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise TailraceError(
                f"--storage {path}: {name}: expected tables {', '.join(TABLES)} and the texts "
                f"name and source{hint}",
                status=2,
            )
    parts.setdefault("name", path.stem)
    system = FileSystem(**parts)
    if not system.load.possible():
        raise TailraceError(
            f"--storage {path}: load.mean = {system.load.mean:g}, load.spread = "
            f"{system.load.spread:g}: expected a mean from 0 to less than 1, and a spread below "
            "that of a share that is 0 or 1",
            status=2,
        )
    return system


def _check(key: str, value: Any, path: Path) -> None:
    """Refuse keys that do not exist and values that mean nothing."""
    if key not in KEYS:
        near = difflib.get_close_matches(key, KEYS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise TailraceError(f"--storage {path}: {key}: no such key{hint}", status=2)
    table, _, name = key.partition(".")
    entry = TABLES[table].__dataclass_fields__[name]
    if entry.type is str:
        if not isinstance(value, str):
            raise TailraceError(f"--storage {path}: {key} = {value}: expected a text", status=2)
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    whole = entry.type is int
    if not number or not entry.metadata["least"] <= value or (whole and not isinstance(value, int)):
        kind = "a whole number" if whole else "a number"
        least = entry.metadata["least"]
        raise TailraceError(
            f"--storage {path}: {key} = {value}: expected {kind} of at least {least:g}", status=2
        )
