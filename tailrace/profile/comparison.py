# SPDX-License-Identifier: BSD-3-Clause
"""What changed between two profiles, and what may be noise.

A side is one or several runs of the same job. A value has changed if all runs of one side lie
beyond all runs of the other. That happens by chance alone, if nothing has changed, in 2 of
(a + b over a) cases with a and b runs: one in ten with three runs a side. If chance does it more
often than that, the verdict is that it is unknown.
"""

import math
import re
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.profile.text import bytes_text

Profile = dict[str, Any]
Values = tuple[float, ...]

RARE = 0.1  # a verdict may be chance in so many cases
AMOUNTS = ("time_s", "wait_s", "count", "bytes")
NUM_TOTALS = 4  # rows of messages that are no classes of sizes
_LINE = re.compile(r"(?P<file>\S+?):(?P<number>\d+)(?P<function>( .*)?)$")
_OFFSET = re.compile(r"(?P<file>.+)\+0x(?P<number>[0-9a-f]+)$")


@dataclass(frozen=True)
class Side:
    """Profiles of runs of one job, and the names of their files."""

    profiles: list[Profile]
    names: list[str]

    @property
    def ranks(self) -> int:
        """Ranks of each run."""
        return int(self.profiles[0]["ranks"])


@dataclass(frozen=True)
class Row:
    """A value in the runs of both sides."""

    name: str
    a: Values
    b: Values

    def change(self) -> float | None:
        """Return how much the median grew, as a part of that of A; None if that is 0."""
        before = statistics.median(self.a)
        return statistics.median(self.b) / before - 1 if before else None

    def verdict(self) -> str:
        """Return "same", "noise", "changed" or "unknown"."""
        if len({*self.a, *self.b}) == 1:
            return "same"
        if min(self.a) <= max(self.b) and min(self.b) <= max(self.a):
            return "noise"
        return "changed" if chance(len(self.a), len(self.b)) <= RARE else "unknown"

    def as_json(self) -> dict[str, Any]:
        """Return the row as ``--json`` prints it."""
        return {
            "name": self.name,
            "a": list(self.a),
            "b": list(self.b),
            "change": self.change(),
            "verdict": self.verdict(),
        }


@dataclass(frozen=True)
class Place:
    """A call from one place; `before` is where it was in A, if its line or offset has changed."""

    name: str
    where: str
    before: str
    rows: dict[str, Row]

    def as_json(self) -> dict[str, Any]:
        """Return the place as ``--json`` prints it."""
        rows = {key: row.as_json() for key, row in self.rows.items()}
        return {"name": self.name, "where": self.where, "where_a": self.before, **rows}


@dataclass(frozen=True)
class Comparison:
    """Two sides and what they differ in; times of places are means over the ranks."""

    a: Side
    b: Side
    groups: list[Row]
    efficiency: list[Row]
    messages: list[Row]
    places: list[Place]
    files: list[Row] = field(default_factory=list)
    routines: list[Place] = field(default_factory=list)

    def notes(self) -> list[str]:
        """Return what a reader must know to judge the verdicts."""
        found = []
        runs = (len(self.a.profiles), len(self.b.profiles))
        likely = chance(*runs)
        if runs == (1, 1):
            found.append(
                "one run per side does not show the noise: give several, A1,A2,A3 B1,B2,B3"
            )
        elif likely > RARE:
            found.append(
                f"{runs[0]} and {runs[1]} runs are too few: chance alone separates the sides in "
                f"{likely:.0%} of values; three runs per side are needed"
            )
        else:
            found.append(f"chance alone would call {likely:.0%} of unchanged values changed")
        if self.a.ranks != self.b.ranks:
            found.append(
                f"A has {self.a.ranks} ranks, B {self.b.ranks}: calls and bytes are sums over "
                "the ranks, times are means"
            )
        return found

    def as_json(self) -> dict[str, Any]:
        """Return all of it as ``--json`` prints it."""

        def about(side: Side) -> dict[str, Any]:
            return {"profiles": side.names, "ranks": side.ranks}

        return {
            "a": about(self.a),
            "b": about(self.b),
            "chance": chance(len(self.a.profiles), len(self.b.profiles)),
            "groups": [row.as_json() for row in self.groups],
            "efficiency": [row.as_json() for row in self.efficiency],
            "messages": [row.as_json() for row in self.messages],
            "files": [row.as_json() for row in self.files],
            "calls": [place.as_json() for place in self.places],
            "routines": [routine.as_json() for routine in self.routines],
            "notes": self.notes(),
        }


def chance(a: int, b: int) -> float:
    """Return how likely runs of the same thing lie apart, all of a side beyond the other's."""
    return 2 / math.comb(a + b, a)


def make_side(profiles: list[Profile], names: list[str]) -> Side:
    """Return the side of runs of one job; complains if they are of different ones."""
    first = profiles[0]
    for profile, name in zip(profiles, names, strict=True):
        if profile["ranks"] != first["ranks"]:
            raise TailraceError(
                f"{name}: {profile['ranks']} ranks, but {names[0]} has {first['ranks']}: the runs "
                "of a side must be runs of the same job",
                status=2,
            )
    return Side(profiles, names)


def compare_sides(a: Side, b: Side) -> Comparison:
    """Return what changed from A to B."""

    def row(name: str, *keys: str) -> Row:
        return Row(name, *(tuple(float(_at(p, keys)) for p in side.profiles) for side in (a, b)))

    def known(key: str) -> list[str]:
        everywhere = [p[key] for side in (a, b) for p in side.profiles]
        return [name for name in everywhere[0] if all(name in values for values in everywhere)]

    groups = [row("wall_s", "wall_s"), *(row(k, "groups", k) for k in known("groups"))]
    groups += _regions(a, b)
    efficiency = [row(key, "efficiency", key) for key in known("efficiency")]
    efficiency += [row(f"imbalance of {key}", "imbalance", key) for key in known("imbalance")]
    parts = (groups, efficiency, _messages(a, b), _places(a, b), _files(a, b), _routines(a, b))
    return Comparison(a, b, *parts)


def _at(values: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        values = values[key]
    return values


def _messages(a: Side, b: Side) -> list[Row]:
    """Return bytes and messages between ranks, and the calls of each class of sizes."""

    def row(name: str, part: str, key: str) -> Row:
        sums = [tuple(_sum(p[part], key) for p in side.profiles) for side in (a, b)]
        return Row(name, *sums)

    profiles = [p for side in (a, b) for p in side.profiles]
    # That of nodes has all, but only newer profiles have it.
    matrix = "node_matrix" if all("node_matrix" in p for p in profiles) else "matrix"
    rows = [row("bytes between ranks", matrix, "bytes")]
    rows.append(row("messages between ranks", matrix, "messages"))
    rows += [row("bytes of all calls", "calls", "bytes"), row("calls", "calls", "count")]
    tables = [
        [Counter({s["from_bytes"]: s["count"] for s in p["sizes"]}) for p in side.profiles]
        for side in (a, b)
    ]
    for size in sorted({size for side in tables for counts in side for size in counts}):
        both = [tuple(float(counts[size]) for counts in side) for side in tables]
        limits = f"{bytes_text(size)} to < {bytes_text(2 * size)}" if size else "0 B"
        rows.append(Row(f"calls of {limits}", *both))
    return rows


def _regions(a: Side, b: Side) -> list[Row]:
    """Return the times of the regions that all runs have."""
    sides = [
        [{r["name"]: float(r["time_s"]) for r in p.get("regions") or []} for p in side.profiles]
        for side in (a, b)
    ]
    first = sides[0][0]
    names = [n for n in first if all(n in times for side in sides for times in side)]
    return [
        Row(f"region {name}", *(tuple(times[name] for times in side) for side in sides))
        for name in names
    ]


def _files(a: Side, b: Side) -> list[Row]:
    """Return what was done to files, all together; nothing where a profile does not know."""
    if not all("io" in p for side in (a, b) for p in side.profiles):
        return []

    def row(name: str, *keys: str) -> Row:
        def total(profile: Profile) -> float:
            ranks = profile["ranks"] if keys[0].endswith("_s") else 1
            return float(sum(f.get(key, 0) for f in profile["io"] for key in keys)) / ranks

        return Row(name, *(tuple(total(p) for p in side.profiles) for side in (a, b)))

    rows = [row("time in calls on files", "time_s"), row("time in MPI-IO", "mpi_time_s")]
    rows += [row("bytes read", "read_bytes"), row("bytes written", "written_bytes")]
    rows += [row("opens", "opens"), row("reads and writes", "reads", "writes")]
    rows += [row("of less than 64 KiB", "small"), row("that jump", "jumps")]
    return [found for found in rows if any((*found.a, *found.b))]


def _named_routines(profile: Profile) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the routines of a profile by name and place, which an edited program keeps."""
    named = {}
    for routine in profile["routines"]:
        # The program's own file is left out: old and new are often two files.
        library = "" if routine["library"] == profile.get("program") else routine["library"]
        file = routine["where"].rpartition(":")[0] or routine["where"]
        named[routine["function"], f"{library} {file}"] = routine
    return named


def _routines(a: Side, b: Side) -> list[Place]:
    """Return the routines, those whose time (mean over the ranks) changed most first.

    Nothing where a profile was made without them. A routine is one by its name, its source file,
    and the program or library that it is in.
    """
    if not all(p.get("routines") for side in (a, b) for p in side.profiles):
        return []
    sides = [[_named_routines(profile) for profile in side.profiles] for side in (a, b)]
    found = []
    for key in dict.fromkeys(key for tables in sides for table in tables for key in table):
        where = ["", ""]
        for number, tables in enumerate(sides):
            for one in [table[key] for table in tables if key in table][:1]:
                where[number] = f"{one['library']} {one['where']}".strip()
        rows = {}
        for amount in ("time_s", "share"):
            values = [
                tuple(float(table[key][amount]) if key in table else 0.0 for table in tables)
                for tables in sides
            ]
            rows[amount] = Row(amount, *values)
        found.append(Place(key[0], where[1] or where[0], where[0], rows))
    return sorted(found, key=lambda one: (-_moved(one), one.name, one.where))


def _sum(items: list[dict[str, Any]], key: str) -> float:
    return float(sum(item[key] for item in items))


Key = tuple[str, str]


def _amounts(profile: Profile) -> dict[Key, dict[str, float]]:
    """Return the amounts of each place, times as means over the ranks."""
    found: dict[Key, dict[str, float]] = defaultdict(lambda: dict.fromkeys(AMOUNTS, 0.0))
    for call in profile["calls"]:
        place = found[call["name"], call["where"]]
        for amount in AMOUNTS:
            ranks = profile["ranks"] if amount.endswith("_s") else 1
            place[amount] += call[amount] / ranks
    return found


def _stem(key: Key) -> tuple[tuple[str, str, str], int]:
    """Return what stays of a place when lines are added elsewhere, and its number."""
    name, where = key
    line = _LINE.match(where)
    if line:
        return (name, line["file"], line["function"]), int(line["number"])
    offset = _OFFSET.match(where)
    if offset:
        return (name, offset["file"], "+"), int(offset["number"], 16)
    return (name, where, ""), 0


def paired(a: set[Key], b: set[Key]) -> list[tuple[Key | None, Key | None]]:
    """Return the places of A and B that are the same, and those that only one has (None).

    A program that was edited has its calls on other lines. So the calls of one name in one function
    are paired in order if there are as many in A as in B, else those on the same line are.
    """
    stems: dict[tuple[str, str, str], tuple[list[Key], list[Key]]] = defaultdict(lambda: ([], []))
    for number, keys in enumerate((a, b)):
        for key in sorted(keys, key=_stem):
            stems[_stem(key)[0]][number].append(key)
    pairs: list[tuple[Key | None, Key | None]] = []
    for in_a, in_b in stems.values():
        if len(in_a) == len(in_b):
            pairs += zip(in_a, in_b, strict=True)
            continue
        pairs += [(key, key if key in in_b else None) for key in in_a]
        pairs += [(None, key) for key in in_b if key not in in_a]
    return pairs


def _places(a: Side, b: Side) -> list[Place]:
    """Return the places, those whose time changed most first."""
    tables = [[_amounts(profile) for profile in side.profiles] for side in (a, b)]
    keys = [{key for table in side for key in table} for side in tables]
    places = []
    nothing = dict.fromkeys(AMOUNTS, 0.0)
    for pair in paired(*keys):
        name, where = pair[1] or pair[0] or ("", "")
        before = pair[0][1] if pair[0] else ""
        rows = {}
        for amount in AMOUNTS:
            values = [
                tuple((table.get(key, nothing) if key else nothing)[amount] for table in side)
                for key, side in zip(pair, tables, strict=True)
            ]
            rows[amount] = Row(amount, *values)
        places.append(Place(name, where, before, rows))
    return sorted(places, key=lambda place: (-_moved(place), place.name, place.where))


def _moved(place: Place) -> float:
    times = place.rows["time_s"]
    return abs(statistics.median(times.b) - statistics.median(times.a))


def split_paths(text: str) -> list[Path]:
    """Return the paths of "A1,A2,A3"; a path with a comma that is there is one path."""
    if Path(text).exists():
        return [Path(text)]
    return [Path(word) for word in text.split(",") if word]
