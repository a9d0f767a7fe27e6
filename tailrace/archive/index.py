# SPDX-License-Identifier: BSD-3-Clause
"""The index outside the bundles: an SQLite file with all bundles, copies, members and runs.

It has a rollback journal, never a write-ahead log, whose shared memory does not work on network
file systems. Who writes holds `Lock`. Members of a bundle are added in small transactions while its
state is ``open``, and are visible once it is ``sealed``; so a killed process leaves nothing that
counts. Paths are stored as the bytes that the file system has.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.archive.checksum import SHA256
from tailrace.archive.entry import Entry
from tailrace.archive.variable import Variable
from tailrace.errors import TailraceError

#: States of a copy. Only `VERIFIED` counts; `FOUND` was seen on the target and not compared.
SENDING, FOUND, VERIFIED, DAMAGED, MISSING = "sending", "found", "verified", "damaged", "missing"
#: States of a bundle.
OPEN, SEALED = "open", "sealed"
VERSION = 2

_SCHEMA = """
CREATE TABLE bundles (
  id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, state TEXT NOT NULL, size INTEGER,
  digest TEXT, trailer INTEGER, copies INTEGER NOT NULL, created REAL NOT NULL, built TEXT);
CREATE TABLE copies (
  bundle INTEGER NOT NULL, target TEXT NOT NULL, state TEXT NOT NULL, checked REAL, problem TEXT,
  PRIMARY KEY (bundle, target)) WITHOUT ROWID;
CREATE TABLE files (
  id INTEGER PRIMARY KEY, bundle INTEGER NOT NULL, path BLOB NOT NULL, kind TEXT NOT NULL,
  size INTEGER, mode INTEGER, uid INTEGER, gid INTEGER, owner TEXT, grp TEXT, mtime_ns INTEGER,
  ctime_ns INTEGER, ino INTEGER, dev INTEGER, link BLOB, header INTEGER, data INTEGER,
  stored INTEGER, checksum BLOB, frame INTEGER, removed INTEGER NOT NULL DEFAULT 0, more TEXT);
CREATE INDEX files_path ON files (path);
CREATE INDEX files_bundle ON files (bundle, header);
CREATE TABLE variables (
  file INTEGER NOT NULL, name TEXT NOT NULL, place BLOB NOT NULL, PRIMARY KEY (file, name));
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, bundle INTEGER NOT NULL, path BLOB NOT NULL, description TEXT NOT NULL);
"""

_COLUMNS = (
    "path, kind, size, mode, uid, gid, owner, grp, mtime_ns, ctime_ns, ino, dev, link,"
    " header, data, stored, checksum, frame, more"
)
#: Version 1 had SHA-256 only.
_FROM_1 = """
ALTER TABLE files RENAME COLUMN sha256 TO checksum;
ALTER TABLE files ADD COLUMN more TEXT;
"""
_FILES = ", ".join(f"f.{column}" for column in _COLUMNS.split(", "))
BATCH = 1000


@dataclass(frozen=True)
class Bundle:
    """A bundle and the copies of it, by the name of their targets."""

    id: int
    key: str
    state: str
    size: int
    digest: str
    trailer: int
    copies: int
    created: float
    built: str
    states: dict[str, str]

    @property
    def verified(self) -> list[str]:
        """Names of the targets whose copies count."""
        return [name for name, state in self.states.items() if state == VERIFIED]


@dataclass(frozen=True)
class Found:
    """A member that matched, with its bundle's row."""

    entry: Entry
    bundle: int


class Index:
    """The index at a path, opened for reading or, with the lock held, for writing."""

    def __init__(self, path: Path, writable: bool = False) -> None:
        self.path = path
        if not writable and not path.exists():
            raise TailraceError(
                f"{path}: no index; `tailrace archive add` makes it, rebuild-index reads bundles"
            )
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._base = sqlite3.connect(path, timeout=60, isolation_level=None)
            self._base.execute("PRAGMA journal_mode = DELETE")
            # Also the removal of the journal is flushed: sources are removed behind it.
            self._base.execute("PRAGMA synchronous = EXTRA")
            self._base.execute("PRAGMA cache_size = -16000")
            self._prepare(writable)
        except sqlite3.DatabaseError as error:
            raise self._unusable(error) from error
        self._pending: list[tuple[Any, ...]] = []

    def _prepare(self, writable: bool) -> None:
        version = self._base.execute("PRAGMA user_version").fetchone()[0]
        if version == 0 and writable:
            self._base.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version = {VERSION};COMMIT;")
        elif version == 1:
            self._update()
        elif version != VERSION:
            raise TailraceError(
                f"{self.path}: index of version {version}; this is version {VERSION}"
            )

    def _update(self) -> None:
        """Give an index of version 1 the columns of this one, unless another process just did."""
        self._base.execute("BEGIN IMMEDIATE")
        if self._base.execute("PRAGMA user_version").fetchone()[0] == 1:
            for words in filter(str.strip, _FROM_1.split(";")):
                self._base.execute(words)
            self._base.execute(f"PRAGMA user_version = {VERSION}")
        self._base.execute("COMMIT")

    def _unusable(self, error: Exception) -> TailraceError:
        # An operational error, such as of a full disk, says nothing of what the index holds.
        hint = "; move it away and run `tailrace archive rebuild-index`"
        hint = "" if isinstance(error, sqlite3.OperationalError) else hint
        return TailraceError(f"{self.path}: the index cannot be used ({error}){hint}")

    def check(self) -> None:
        """Raise an error if SQLite finds the index damaged."""
        try:
            said = self._base.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise self._unusable(error) from error
        if said != "ok":
            raise self._unusable(ValueError(said))

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def run(self, words: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        """Run one statement, which is a transaction unless one is open."""
        try:
            return self._base.execute(words, tuple(values))
        except sqlite3.DatabaseError as error:
            if self._base.in_transaction:  # what comes next, such as `forget`, begins its own
                self._base.execute("ROLLBACK")
            raise self._unusable(error) from error

    # Bundles and copies

    def new_bundle(self, key: str, copies: int, built: str) -> int:
        """Add a bundle that is being built at `built`."""
        row = (key, OPEN, copies, time.time(), built)
        done = self.run(
            "INSERT INTO bundles (key, state, copies, created, built) VALUES (?, ?, ?, ?, ?)", row
        )
        return int(done.lastrowid or 0)

    def seal(self, bundle: int, size: int, digest: str, trailer: int) -> None:
        """Record that a bundle is whole."""
        self.flush()
        self.run(
            "UPDATE bundles SET state = ?, size = ?, digest = ?, trailer = ? WHERE id = ?",
            (SEALED, size, digest, trailer, bundle),
        )

    def set_built(self, bundle: int, path: str) -> None:
        """Record where the local file of a bundle is; empty: it is gone."""
        self.run("UPDATE bundles SET built = ? WHERE id = ?", (path, bundle))

    def want_copies(self, bundle: int, copies: int) -> None:
        """Record how many copies of a bundle were asked for."""
        self.run("UPDATE bundles SET copies = ? WHERE id = ?", (copies, bundle))

    def forget(self, bundle: int) -> None:
        """Remove a bundle with all that belongs to it, in one transaction."""
        self._pending.clear()
        self.run("BEGIN IMMEDIATE")
        self.run(
            "DELETE FROM variables WHERE file IN (SELECT id FROM files WHERE bundle = ?)", (bundle,)
        )
        for table, column in (("files", "bundle"), ("copies", "bundle"), ("runs", "bundle")):
            self.run(f"DELETE FROM {table} WHERE {column} = ?", (bundle,))
        self.run("DELETE FROM bundles WHERE id = ?", (bundle,))
        self.run("COMMIT")

    def set_copy(self, bundle: int, target: str, state: str, problem: str = "") -> None:
        """Record the state of a copy."""
        self.run(
            "INSERT OR REPLACE INTO copies VALUES (?, ?, ?, ?, ?)",
            (bundle, target, state, time.time(), problem),
        )

    def drop_copy(self, bundle: int, target: str) -> None:
        """Forget a copy."""
        self.run("DELETE FROM copies WHERE bundle = ? AND target = ?", (bundle, target))

    def bundles(self, where: str = "1", values: Iterable[Any] = ()) -> list[Bundle]:
        """Return the bundles that match a condition on their columns."""
        rows = self.run(
            "SELECT id, key, state, size, digest, trailer, copies, created, built FROM bundles"
            f" WHERE {where} ORDER BY id",
            values,
        ).fetchall()
        found = []
        for row in rows:
            states = self.run("SELECT target, state FROM copies WHERE bundle = ?", (row[0],))
            key, state, size, digest, trailer, copies, created, built = row[1:]
            found.append(
                Bundle(
                    row[0], key, state, size or 0, digest or "", trailer or 0, copies, created,
                    built or "", dict(states.fetchall()),
                )
            )  # fmt: skip
        return found

    def bundle(self, number: int) -> Bundle:
        """Return one bundle."""
        return self.bundles("id = ?", (number,))[0]

    # Members

    def add(self, bundle: int, entry: Entry) -> None:
        """Add a member; many are written together."""
        self._pending.append((bundle, entry))
        if len(self._pending) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Write the members that are still held."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        marks = ", ".join("?" * (_COLUMNS.count(",") + 2))
        self.run("BEGIN IMMEDIATE")
        for bundle, entry in pending:
            done = self.run(
                f"INSERT INTO files (bundle, {_COLUMNS}) VALUES ({marks})", _row(bundle, entry)
            )
            for variable in entry.variables:
                self.run(
                    "INSERT OR REPLACE INTO variables VALUES (?, ?, ?)",
                    (done.lastrowid, variable.name, variable.packed()),
                )
        self.run("COMMIT")

    def members(self, bundle: int, start: int = 0) -> Iterator[Entry]:
        """Yield the members of a bundle from an offset on, in the order of their offsets."""
        rows = self._base.execute(
            f"SELECT id, bundle, {_COLUMNS} FROM files WHERE bundle = ? AND header >= ?"
            " ORDER BY header",
            (bundle, start),
        )
        return (_entry(row) for row in rows)

    def variables(self, file: int) -> list[Variable]:
        """Return the variables of a member."""
        rows = self.run("SELECT place FROM variables WHERE file = ? ORDER BY name", (file,))
        return [Variable.from_json(json.loads(row[0])) for row in rows]

    def find(self, path: str, below: bool = True, removed: bool = False) -> Iterator[Found]:
        """Yield the members of a path and below it, all versions, the oldest of a path first."""
        raw = os.fsencode(path)
        condition, values = "path = ?", [raw]
        if below:
            start = b"/" if raw == b"/" else raw + b"/"
            condition, values = (
                "(path = ? OR path > ? AND path < ?)",
                [raw, start, start[:-1] + b"0"],
            )
        rows = self._base.execute(
            f"SELECT f.id, f.bundle, {_FILES} FROM files f JOIN bundles b ON b.id = f.bundle"
            f" WHERE {condition} AND b.state = 'sealed'"
            f"{'' if removed else ' AND removed = 0'} ORDER BY path, f.bundle, f.header",
            values,
        )
        return (Found(_entry(row), row[1]) for row in rows)

    def found(self, file: int) -> Found:
        """Return a member and its bundle by its row."""
        row = self.run(f"SELECT id, bundle, {_COLUMNS} FROM files WHERE id = ?", (file,)).fetchone()
        return Found(_entry(row), row[1])

    def member(self, file: int) -> Entry:
        """Return a member by its row."""
        return self.found(file).entry

    def newest(self, path: str) -> Found | None:
        """Return the last version of one path."""
        found = None
        for found in self.find(path, below=False):  # noqa: B007
            pass
        return found

    def remove_members(self, files: Iterable[int]) -> None:
        """Mark members as removed."""
        self.run("BEGIN IMMEDIATE")
        for number in files:
            self.run("UPDATE files SET removed = 1 WHERE id = ?", (number,))
        self.run("COMMIT")

    # Runs

    def add_run(self, bundle: int, path: str, description: dict[str, Any]) -> None:
        """Record the description of a run folder."""
        self.run(
            "INSERT INTO runs (bundle, path, description) VALUES (?, ?, ?)",
            (bundle, os.fsencode(path), json.dumps(description)),
        )

    def runs(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """Yield bundle, path and description of every run, the oldest first."""
        rows = self.run(
            "SELECT bundle, path, description FROM runs r WHERE EXISTS (SELECT 1 FROM bundles b"
            " WHERE b.id = r.bundle AND b.state = 'sealed') ORDER BY r.id"
        )
        return ((row[0], os.fsdecode(row[1]), json.loads(row[2])) for row in rows)


def _row(bundle: int, entry: Entry) -> tuple[Any, ...]:
    return (
        bundle, os.fsencode(entry.path), entry.kind, entry.size, entry.mode, entry.uid, entry.gid,
        entry.owner, entry.group, entry.mtime_ns, entry.ctime_ns, _signed(entry.ino),
        _signed(entry.dev), os.fsencode(entry.link), entry.header, entry.data, entry.stored,
        bytes.fromhex(entry.checksum), entry.frame, _more(entry),
    )  # fmt: skip


def _more(entry: Entry) -> str | None:
    """Return what only some members have, as JSON."""
    more: dict[str, Any] = {}
    if entry.algorithm != SHA256:
        more["algorithm"] = entry.algorithm
    if entry.xattrs:
        more["xattrs"] = entry.xattrs
    if entry.packed:
        more |= {"packed": entry.packed, "content": entry.content}
    return json.dumps(more) if more else None


def _signed(number: int) -> int:
    """Return a number of 64 bits as SQLite can keep it."""
    return number - (1 << 64) if number >= 1 << 63 else number


def _entry(row: tuple[Any, ...]) -> Entry:
    (path, kind, size, mode, uid, gid, owner, group, mtime_ns, ctime_ns, ino, dev, link,
     header, data, stored, checksum, frame, more) = row[2:]  # fmt: skip
    return Entry(
        os.fsdecode(path), kind, size, mode, uid, gid, owner, group, mtime_ns, ctime_ns,
        ino % (1 << 64), dev % (1 << 64), os.fsdecode(link), header, data, stored,
        checksum.hex(), frame, id=row[0], **({} if more is None else json.loads(more)),
    )  # fmt: skip
