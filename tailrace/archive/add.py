# SPDX-License-Identifier: BSD-3-Clause
"""Packs files into bundles, makes the copies, and removes sources where that was asked for."""

import contextlib
import datetime
import gzip
import json
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.archive.attributes import read_attributes
from tailrace.archive.bundle import BLOCK_BYTES, BundleWriter, Changed
from tailrace.archive.copies import Tell, complete, require_copies, resume, silent
from tailrace.archive.description import describe_run, metadata_member
from tailrace.archive.entry import FILE, FOLDER, PACKED_ENDING, SPARSE, SYMLINK, Entry, padded
from tailrace.archive.opened import Archive
from tailrace.archive.own_sums import TABLE as SUMS
from tailrace.archive.own_sums import damaged_variables
from tailrace.archive.packed import LEAST_BYTES, ZSTD
from tailrace.archive.settled import seen_early, settled_status
from tailrace.archive.sources import (
    Links,
    ahead,
    open_source,
    set_status,
    walk,
)
from tailrace.archive.sparse import data_extents, is_sparse
from tailrace.archive.unchanged import is_archived
from tailrace.archive.variable import set_checks
from tailrace.archive.variables import find_variables
from tailrace.errors import TailraceError
from tailrace.files import time_of_files

TRIES = 3
#: Room that is left in a bundle for a header, for its part of the trailer, and for the rest of it.
_ROOM_HEADER, _ROOM_TRAILER, _LEAST_TRAILER = 1536, 400, 8192
PARTIAL = 3  # exit status: some sources were not archived


@dataclass
class Added:
    """What `add` did."""

    files: int = 0
    bytes: int = 0
    known: int = 0  # files that were archived already
    removed: int = 0  # sources that were removed
    bundles: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)  # path and reason
    damaged: list[tuple[str, str]] = field(default_factory=list)  # path, variable: before that
    problems: list[str] = field(default_factory=list)  # of targets

    @property
    def status(self) -> int:
        """Exit status: 1 if a target failed, 3 if sources were left out or damaged, else 0."""
        return 1 if self.problems else PARTIAL if self.left_out or self.damaged else 0

    def merge(self, other: "Added") -> None:
        """Add what another call did."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def leave_out(self, path: str, reason: str) -> None:
        """Note a source that was not archived."""
        self.left_out.append((path, reason))


@dataclass
class Order:
    """What shall be added: absolute paths, the number of copies, and rules about sources.

    Files that changed less than `quiet_s` seconds ago are left for the next time.
    """

    paths: list[str]
    copies: int
    quiet_s: float = 0.0
    dry_run: bool = False
    compress: str = ""  # else as the first target says


class _Packer:
    """Fills one bundle after the other."""

    def __init__(self, archive: Archive, order: Order, done: Added, tell: Tell) -> None:
        self._archive, self._order, self._done, self._tell = archive, order, done, tell
        places = archive.config.places[: order.copies]
        self._smallest = max(place.smallest for place in places)
        self._largest = max(min(place.largest for place in places), 1)
        self._smallest = min(self._smallest, self._largest)
        self._compress = order.compress or places[0].compress
        self._links = Links()
        self._writer: BundleWriter | None = None
        self._bundle = 0
        self._trailer = _LEAST_TRAILER  # bytes that the trailer is expected to have
        self._runs: list[tuple[str, dict[str, object]]] = []  # of this bundle
        self._coming: list[tuple[str, dict[str, object]]] = []  # of its next member

    def pack(self, entry: Entry) -> None:
        """Add a member, in a new bundle if the present one is full."""
        size = padded(entry.size) + _ROOM_HEADER + len(entry.path)
        if self._writer is not None and self._writer.at + size + self._trailer > self._largest:
            self.close()
        self._trailer += _ROOM_TRAILER + 2 * len(entry.path)
        for attempt in range(TRIES):
            try:
                self._pack(entry)
                return
            except Changed as error:
                self._links.forget(entry)
                if attempt == TRIES - 1:
                    self._done.leave_out(entry.path, str(error))
            except OSError as error:
                self._links.forget(entry)
                self._done.leave_out(entry.path, error.strerror or str(error))
                return

    def _pack(self, entry: Entry) -> None:
        if entry.kind in (FILE, SPARSE):
            descriptor = open_source(entry.path)
            try:
                entry.kind = FILE
                status = settled_status(descriptor, entry)
                set_status(entry, status)
                if self._links.resolve(entry, status.st_nlink):
                    self._add(entry)
                    return
                extents = None
                if is_sparse(status):
                    extents = data_extents(descriptor, status.st_size)
                    entry.kind = SPARSE
                entry.xattrs = read_attributes(descriptor)
                entry.variables = find_variables(Path(entry.path)) if entry.kind == FILE else []
                entry.packed = ZSTD if self._is_packed(entry) else ""
                self._add(entry, descriptor, extents)
            finally:
                os.close(descriptor)
        else:
            if entry.kind == FOLDER:
                entry.xattrs = read_attributes(entry.path)
            self._add(entry)

    def _add(
        self, entry: Entry, source: int = -1, extents: list[tuple[int, int]] | None = None
    ) -> None:
        writer = self._writer or self._open()
        # What the writer no longer has in memory is taken from the source, while it is the same.
        before = bool(entry.packed) or entry.size > BLOCK_BYTES
        damaged: list[str] = []
        if before:
            damaged = _checked(entry, lambda offset, length: os.pread(source, length, offset))
        writer.add(entry, source, extents)
        if not before:
            damaged = _checked(entry, lambda at, length: writer.read(entry.data + at, length))
        self._done.damaged += [(entry.path, name) for name in damaged]
        self._archive.index.add(self._bundle, entry)
        self._runs += self._coming
        self._coming = []
        if entry.kind in (FILE, SPARSE):
            self._done.files += 1
            self._done.bytes += entry.size

    def _is_packed(self, entry: Entry) -> bool:
        """Say whether a file shall be compressed; its name in the bundle must be free."""
        wanted = self._compress == ZSTD and entry.kind == FILE and entry.size >= LEAST_BYTES
        return wanted and not os.path.lexists(entry.path + PACKED_ENDING)

    def _open(self) -> BundleWriter:
        now = datetime.datetime.now(datetime.UTC)
        key = f"{now:%Y%m%dt%H%M%S}-{secrets.token_hex(6)}.tar"
        first = self._archive.config.places[0].name
        target = self._archive.prepared(first)
        place = target.building_place(key)
        follow = place is not None and target.keeps_built()
        if place is None:
            self._archive.config.spool.mkdir(parents=True, exist_ok=True, mode=0o700)
            place = self._archive.config.spool / key
        self._archive.require_lock()
        self._bundle = self._archive.index.new_bundle(key, self._order.copies, str(place))
        try:
            self._writer = BundleWriter(key, place, self._archive.config.checksum, follow)
        except OSError as error:
            self._archive.index.forget(self._bundle)
            raise TailraceError(f"{place}: {error.strerror}") from error
        return self._writer

    def begin_run(self, folder: str, description: dict[str, object]) -> None:
        """Note that the members that come next are of a run."""
        self._coming.append((folder, description))

    def end_path(self) -> None:
        """Close the bundle behind a path if it has reached the least size."""
        if self._writer is not None and self._writer.at >= self._smallest:
            self.close()

    def close(self) -> None:
        """Finish the bundle and make its copies."""
        writer, self._writer = self._writer, None
        self._trailer = _LEAST_TRAILER
        # A hard link and its file must lie in one bundle: no later link names a file of this one.
        self._links = Links()
        if writer is None:
            return
        index, lock = self._archive.index, self._archive.require_lock
        with writer:
            for folder, description in self._runs:
                member = metadata_member(folder, description)
                if member is not None:
                    self._add_generated(writer, *member)
                index.add_run(self._bundle, folder, description)
            index.flush()
            with tempfile.TemporaryDirectory(dir=writer.path.parent, prefix=".tailrace-") as folder:
                sums, lines = Path(folder) / "sums", Path(folder) / "index"
                self._write_trailer(writer.key, sums, lines)
                size, digest, trailer = writer.finish(sums, lines)
        lock()
        index.seal(self._bundle, size, digest, trailer)
        self._runs = []
        self._done.bundles.append(writer.key)
        self._done.problems += complete(
            self._archive,
            index.bundle(self._bundle),
            self._order.copies,
            tell=self._tell,
            begun=writer.compared,
        )

    def _add_generated(self, writer: BundleWriter, path: str, content: bytes) -> None:
        with tempfile.TemporaryFile() as file:
            file.write(content)
            file.flush()
            entry = Entry(path, FILE)
            set_status(entry, os.fstat(file.fileno()))
            entry.mode, entry.ino, entry.dev = 0o644, 0, 0  # no inode: see `remove.GENERATED`
            writer.add(entry, file.fileno())
            self._archive.index.add(self._bundle, entry)

    def _write_trailer(self, key: str, sums: Path, lines: Path) -> None:
        index = self._archive.index
        head = {"bundle": key, "copies": self._order.copies, "created": time.time()}
        with sums.open("wb") as text, gzip.open(lines, "wb", 1) as packed:
            packed.write(json.dumps(head).encode() + b"\n")
            for folder, description in self._runs:
                row = {"run": folder, "description": description}
                packed.write(json.dumps(row).encode() + b"\n")
            for entry in index.members(self._bundle):
                if entry.kind == FILE:
                    text.write(_sum_line(entry))
                    entry.variables = index.variables(entry.id)
                packed.write(entry.to_json().encode() + b"\n")

    def abandon(self) -> None:
        """Drop the bundle that is being built."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.__exit__()
            writer.path.unlink(missing_ok=True)
            self._archive.index.forget(self._bundle)


def _checked(entry: Entry, read: Callable[[int, int], bytes]) -> list[str]:
    """Set the checksums of variables; returns those that do not match the file's own."""
    if not entry.variables:
        return []
    set_checks(entry.variables, read)
    has_sums = any(variable.name == SUMS for variable in entry.variables)
    return damaged_variables(Path(entry.path), read) if has_sums else []


def _sum_line(entry: Entry) -> bytes:
    name = os.fsencode(entry.path.lstrip("/") + (PACKED_ENDING if entry.packed else ""))
    escaped = name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
    mark = b"\\" if escaped != name else b""
    return mark + entry.checksum.encode() + b"  " + escaped + b"\n"


def add(archive: Archive, order: Order, tell: Tell = silent) -> Added:
    """Archive paths; finished work of an earlier, interrupted call is not done again."""
    require_copies(archive, order.copies)
    done = Added()
    if not order.dry_run:
        done.problems += resume(archive, tell)
    packer = _Packer(archive, order, done, tell)
    try:
        for path in order.paths:
            tell(path)
            _add_path(archive, order, packer, path, tell, done)
            packer.end_path()
        packer.close()
    finally:
        packer.abandon()
    return done


def _add_path(
    archive: Archive, order: Order, packer: _Packer, path: str, tell: Tell, done: Added
) -> None:
    runs = _Runs(path)
    short: dict[int, None] = {}  # bundles that lack copies
    for entry in ahead(seen_early(_unknown(archive, order, path, done, short))):
        if order.dry_run:
            done.files += entry.kind == FILE
            done.bytes += padded(entry.size)
            continue
        for folder, description in runs.begun_by(entry):
            packer.begin_run(folder, description)
        tell(entry.path)
        packer.pack(entry)
    for number in [] if order.dry_run else short:
        done.problems += complete(archive, archive.index.bundle(number), order.copies, tell=tell)


class _Runs:
    """Finds the run folders at and below a path, from members in the order of `walk`."""

    def __init__(self, top: str) -> None:
        self._top, self._parent = top, os.path.dirname(top)  # noqa: PTH120
        self._folder = ""  # of the last member
        self._chain: list[str] = []  # names from `top` to that folder

    def begun_by(self, entry: Entry) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield folder and description of each run whose first member this is."""
        folder = entry.path if entry.kind == FOLDER else os.path.dirname(entry.path)  # noqa: PTH120
        if folder == self._folder:
            return
        self._folder = folder
        if not f"{folder}/".startswith(f"{self._top.rstrip('/')}/"):  # `top` is a file
            return
        names = folder[len(self._parent) :].strip("/").split("/")
        last, self._chain = self._chain, names
        for end in range(1, len(names) + 1):
            if last[:end] == names[:end]:
                continue
            place = os.path.join(self._parent, *names[:end])  # noqa: PTH118
            if description := describe_run(Path(place)):
                yield place, description


def _unknown(
    archive: Archive, order: Order, path: str, done: Added, short: dict[int, None]
) -> Iterator[Entry]:
    """Yield what is not archived yet; bundles of the rest that lack copies are added to `short`."""
    for entry in _quiet(walk(path, done.leave_out), path, order.quiet_s):
        found = is_archived(archive.index, entry)
        bundle = None if found is None else archive.index.bundle(found)
        if bundle is None or not (bundle.verified or bundle.built):
            yield entry
            continue
        done.known += entry.kind == FILE
        if len(archive.verified(bundle)) < order.copies:
            short[bundle.id] = None


def _quiet(entries: Iterable[Entry], path: str, quiet_s: float) -> Iterator[Entry]:
    """Leave out files that changed in the last `quiet_s` seconds, by the clock of their server."""
    latest_ns = int((time_of_files(Path(path)) - quiet_s) * 1e9) if quiet_s else 0
    for entry in entries:
        changed_ns = max(entry.mtime_ns, entry.ctime_ns)
        if quiet_s == 0 or entry.kind != FILE or changed_ns <= latest_ns:
            yield entry


def move(
    archive: Archive, order: Order, done: Added, tell: Tell = silent, keep: bool = True
) -> None:
    """Remove sources of which `copies` verified copies exist and that have not changed since.

    Folders that are empty then are removed, too; `keep`: not the paths themselves.
    """
    for path in order.paths:
        for entry in walk(path, lambda _path, _reason: None, folders_last=True):
            if entry.kind == FOLDER:
                if entry.path != path or not keep:
                    _remove_folder(archive, entry, order.copies)
                continue
            bundle = is_archived(archive.index, entry)
            if bundle is None or _copies(archive, bundle) < order.copies:
                continue
            archive.require_lock()
            if _is_same(entry):
                tell(f"removing {entry.path}")
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(entry.path)  # noqa: PTH108
                    done.removed += entry.kind in (FILE, SPARSE)


def _copies(archive: Archive, bundle: int) -> int:
    return len(archive.verified(archive.index.bundle(bundle)))


def _is_same(entry: Entry) -> bool:
    """Say whether a source is still what `walk` saw.

    A file is opened for this: an NFS client asks the server then, and else may show the times of up
    to a minute ago.
    """
    try:
        if entry.kind == SYMLINK:
            status = os.lstat(entry.path)
        else:
            descriptor = open_source(entry.path)
            try:
                status = os.fstat(descriptor)
            finally:
                os.close(descriptor)
    except OSError:
        return False
    now = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
    then = (entry.dev, entry.ino, entry.mtime_ns, entry.ctime_ns)
    return now == then and (entry.kind == SYMLINK or status.st_size == entry.size)


def _remove_folder(archive: Archive, entry: Entry, copies: int) -> None:
    found = archive.index.newest(entry.path)
    if found is not None and _copies(archive, found.bundle) >= copies:
        with contextlib.suppress(OSError):  # not empty: something was added or left out
            os.rmdir(entry.path)  # noqa: PTH106
