# SPDX-License-Identifier: BSD-3-Clause
"""Used bytes per user, group and project, on each target; every copy counts."""

import os
from dataclasses import dataclass

from tailrace.archive.opened import Archive
from tailrace.errors import TailraceError


@dataclass(frozen=True)
class Share:
    """What one user, group or project has on a target."""

    target: str
    kind: str  # user, group or project
    name: str
    files: int
    bytes: int


@dataclass(frozen=True)
class Room:
    """A target as a whole; free is None if that is not known."""

    target: str
    bundles: int
    used: int
    free: int | None
    problem: str


_SHARES = (
    "SELECT c.target, {column}, COUNT(*), SUM(f.stored) FROM files f"
    " JOIN copies c ON c.bundle = f.bundle JOIN bundles b ON b.id = f.bundle"
    " WHERE f.removed = 0 AND f.kind IN ('f', 's') AND b.state = 'sealed'"
    " AND c.state != 'missing' {more} GROUP BY 1, 2 ORDER BY 1, 2"
)


def shares(archive: Archive) -> list[Share]:
    """Return the shares of all users, groups and configured projects."""
    found = []
    for kind, column in (
        ("user", "CASE owner WHEN '' THEN uid ELSE owner END"),
        ("group", "CASE grp WHEN '' THEN gid ELSE grp END"),
    ):
        for row in archive.index.run(_SHARES.format(column=column, more="")):
            found.append(Share(row[0], kind, str(row[1]), row[2], row[3]))
    for project, folder in archive.config.projects.items():
        start = os.fsencode(folder.rstrip("/")) + b"/"
        words = _SHARES.format(column="1", more="AND f.path > ? AND f.path < ?")
        for row in archive.index.run(words, (start, start[:-1] + b"0")):
            found.append(Share(row[0], "project", project, row[2], row[3]))
    return found


def rooms(archive: Archive) -> list[Room]:
    """Return how full each target is."""
    found = []
    for place in archive.config.places:
        row = archive.index.run(
            "SELECT COUNT(*) FROM copies WHERE target = ? AND state != 'missing'", (place.name,)
        ).fetchone()
        free, problem = None, ""
        try:
            free = archive.free_bytes(place.name)
        except TailraceError as error:
            problem = str(error)
        found.append(Room(place.name, row[0], archive.used_bytes(place.name), free, problem))
    return found
