# SPDX-License-Identifier: BSD-3-Clause
"""Removes files from the archive, or one copy of their bundles.

A bundle is never rewritten: its copies are deleted when no member is left. Only keys that the index
names are deleted.
"""

from array import array
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.archive.copies import Tell, silent
from tailrace.archive.index import FOUND, Bundle
from tailrace.archive.opened import Archive
from tailrace.errors import TailraceError

#: Members that `add` made itself have a time of their status and no inode. Files have both, or
#: neither where `rebuild-index` knew only their headers. Some builds of SQLite do not apply LIKE
#: to bytes.
GENERATED = "CAST(path AS TEXT) LIKE '%/ro-crate-metadata.json' AND ino = 0 AND ctime_ns != 0"


@dataclass
class Removed:
    """What `remove` did, or would do."""

    files: int = 0
    bundles: list[str] = field(default_factory=list)
    bytes: int = 0
    problems: list[str] = field(default_factory=list)


def _matching(archive: Archive, paths: list[str]) -> tuple["array[int]", list[int]]:
    """Return the rows of the members at and below paths, and their bundles."""
    files, bundles = array("q"), set()
    for path in paths:
        before = len(files)
        for found in archive.index.find(path):
            files.append(found.entry.id)
            bundles.add(found.bundle)
        if len(files) == before:
            raise TailraceError(f"{path}: is not in the archive")
    return files, sorted(bundles)


def _left(archive: Archive, bundle: int) -> int:
    row = archive.index.run(
        "SELECT COUNT(*) FROM files WHERE bundle = ? AND removed = 0 AND kind != 'd'"
        f" AND NOT ({GENERATED})",
        (bundle,),
    ).fetchone()
    return int(row[0])


def remove(archive: Archive, paths: list[str], dry_run: bool, tell: Tell = silent) -> Removed:
    """Remove members; bundles of which nothing is left are deleted on all targets."""
    done = Removed()
    if not dry_run:
        # An earlier `remove` may have ended before it deleted its bundles.
        rows = archive.index.run("SELECT DISTINCT bundle FROM files WHERE removed = 1").fetchall()
        _delete_empty(archive, sorted(row[0] for row in rows), done, tell)
    files, bundles = _matching(archive, paths)
    done.files = len(files)
    if not dry_run:
        archive.require_lock()
        archive.index.remove_members(files)
        _delete_empty(archive, bundles, done, tell)
    return done


def _delete_empty(archive: Archive, bundles: list[int], done: Removed, tell: Tell) -> None:
    for number in bundles:
        archive.require_lock()
        if _left(archive, number) == 0:
            bundle = archive.index.bundle(number)
            tell(f"deleting {bundle.key}")
            if _delete(archive, bundle, list(bundle.states), done):
                archive.index.forget(number)
                done.bundles.append(bundle.key)


def remove_copy(
    archive: Archive, paths: list[str], name: str, force: bool, dry_run: bool, tell: Tell = silent
) -> Removed:
    """Delete the copies on one target of the bundles that have the paths.

    Refused for a bundle with other members, and without `force` for the last verified copy.
    """
    archive.config.place(name)
    files, bundles = _matching(archive, paths)
    chosen, done = set(files), Removed()
    for number in bundles:
        bundle = archive.index.bundle(number)
        others = [entry.path for entry in archive.index.members(number) if entry.id not in chosen]
        if others and not _only_removed(archive, number, chosen):
            done.problems.append(f"{bundle.key}: also has {others[0]}; its copy on {name} stays")
        elif name not in bundle.states:
            continue
        elif not force and not [other for other in archive.verified(bundle) if other != name]:
            done.problems.append(f"{bundle.key}: {name} has its last verified copy; use --force")
        elif not dry_run:
            archive.require_lock()
            tell(f"deleting {bundle.key} on {name}")
            if _delete(archive, bundle, [name], done):
                done.bundles.append(bundle.key)
    return done


def _only_removed(archive: Archive, bundle: int, chosen: set[int]) -> bool:
    rows = archive.index.run("SELECT id FROM files WHERE bundle = ? AND removed = 0", (bundle,))
    return all(row[0] in chosen for row in rows)


def _delete(archive: Archive, bundle: Bundle, names: list[str], done: Removed) -> bool:
    whole = True
    for name in names:
        try:
            target = archive.target(name)
            # It stops counting first: a deletion may be interrupted, or reported as failed.
            archive.index.set_copy(bundle.id, name, FOUND, "its deletion did not finish")
            target.delete(bundle.key)
            archive.index.drop_copy(bundle.id, name)
            done.bytes += bundle.size
        except TailraceError as error:  # also where the configuration has no such target
            whole = False
            done.problems.append(str(error))
    if whole and bundle.built and len(names) == len(bundle.states):
        Path(bundle.built).unlink(missing_ok=True)
    return whole
