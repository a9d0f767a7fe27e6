# SPDX-License-Identifier: BSD-3-Clause
"""Restores files in the order of the medium; each gets its name once its bytes were compared."""

import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.archive.beneath import Beneath, set_status
from tailrace.archive.checksum import BLAKE3, SHA256, Hasher, file_checksum, new_hasher
from tailrace.archive.copies import Tell, silent, wait_staged
from tailrace.archive.entry import FILE, FOLDER, HARD_LINK, SPARSE, SYMLINK, Entry
from tailrace.archive.opened import Archive
from tailrace.archive.packed import decompress
from tailrace.archive.plan import Plan, sources_of
from tailrace.archive.sparse import SparseWriter, sparse_checksum
from tailrace.archive.stream import Stream
from tailrace.archive.target import TargetError
from tailrace.archive.unchanged import origin
from tailrace.errors import TailraceError

_HASHER = ThreadPoolExecutor(1)
#: Blocks from this size on are hashed by another thread while they are written.
_LARGE_BYTES = {SHA256: 128 << 10, BLAKE3: 4 << 20}
DIFFERENT = "exists and is different; --force replaces files"


@dataclass
class Restored:
    """What `restore` did."""

    files: int = 0
    bytes: int = 0
    kept: int = 0  # files that were present with the same bytes
    bytes_read: int = 0
    bundles: int = 0
    problems: list[str] = field(default_factory=list)


class _Restorer:
    """Restores members of a plan below a folder."""

    def __init__(
        self, archive: Archive, base: str, beneath: Beneath, force: bool, tell: Tell
    ) -> None:
        self._archive, self._base, self._beneath = archive, base, beneath
        self._force, self._tell = force, tell
        self.done = Restored()
        self._ready: set[tuple[str, str]] = set()
        self._folders: list[int] = []
        self._links: list[int] = []
        self._sparse: set[int] = set()  # sparse members that have their name

    def _name(self, entry: Entry) -> str:
        return entry.path[len(self._base) :].lstrip("/")

    def needed(self, plan: Plan, top: str) -> Plan:
        """Return the part of a plan that must be read; `top` is the path that all is at or below.

        Where an earlier restore made a part already, bundles of which nothing is missing are
        neither recalled nor read.
        """
        try:
            if self._beneath.status(top[len(self._base) :].lstrip("/")) is None:
                return plan
        except TailraceError:  # whose member it is reports it
            return plan
        members = (self._archive.index.member(int(row[3])) for row in plan.rows)
        chosen = np.fromiter((self._is_needed(entry) for entry in members), bool)
        return plan.part(chosen)

    def _is_needed(self, entry: Entry) -> bool:
        """Say whether a member must be read; else it is done, or noted for `_finish`."""
        name = self._name(entry)
        try:
            if entry.kind in (FILE, SPARSE):
                return self._wanted(name, entry)
            status = self._beneath.status(name) if name else None
            if status is None or (entry.kind == HARD_LINK and self._force):
                return True
            if entry.kind == FOLDER and not stat.S_ISDIR(status.st_mode):
                return True
        except (OSError, TailraceError) as error:
            self._report(entry, error)
            return False
        (self._folders if entry.kind == FOLDER else self._links).append(entry.id)
        return False

    def run(self, plan: Plan) -> Restored:
        """Restore all; what a copy lacks is taken from another one."""
        numbers = plan.bundles()
        self._ready = self._readable(numbers)
        order = [(number, self._sources(number)) for number in numbers]
        self._stage(order)
        for number, sources in order:
            self._bundle(plan, number, sources)
        self._finish()
        return self.done

    def _sources(self, number: int) -> list[str]:
        bundle = self._archive.index.bundle(number)
        names = sources_of(bundle, [place.name for place in self._archive.config.places])
        # A copy that can be read at once comes before one that waits for a mount.
        rank = {"verified": 0, "found": 0, "damaged": 1}
        ready = self._ready
        return sorted(
            names, key=lambda name: (rank[bundle.states[name]], (name, bundle.key) not in ready)
        )

    def _readable(self, numbers: list[int]) -> set[tuple[str, str]]:
        """Return target and key of each copy that can be read at once; asks each target once."""
        bundles = [self._archive.index.bundle(number) for number in numbers]
        ready: set[tuple[str, str]] = set()
        for place in self._archive.config.places:
            keys = [bundle.key for bundle in bundles if place.name in bundle.states]
            try:
                found = self._archive.target(place.name).is_staged(keys) if keys else {}
            except TargetError as error:
                self._tell(str(error))
                continue
            ready |= {(place.name, key) for key, is_ready in found.items() if is_ready}
        return ready

    def _stage(self, order: list[tuple[int, list[str]]]) -> None:
        """Ask each target once for all of its bundles."""
        wanted: dict[str, list[str]] = {}
        for number, sources in order:
            if sources:
                wanted.setdefault(sources[0], []).append(self._archive.index.bundle(number).key)
        for name, keys in wanted.items():
            try:
                target = self._archive.target(name)
                away = [key for key, ready in target.is_staged(keys).items() if not ready]
                if away:
                    target.stage(away)
            except TargetError as error:
                self._tell(str(error))

    def _bundle(self, plan: Plan, number: int, sources: list[str]) -> None:
        bundle = self._archive.index.bundle(number)
        left = {int(row[3]) for rows in plan.runs(number) for row in rows}
        problems: dict[int, str] = {}
        self.done.bundles += 1
        for name in sources:
            try:
                target = self._archive.target(name)
                wait_staged(target, [bundle.key], self._tell)
                for rows in plan.runs(number, left):
                    start, end = int(rows[0][1]), int(rows[-1][2])
                    with Stream(target, bundle.key, start, end) as stream:
                        self._read(rows, stream, left, problems)
                    self.done.bytes_read += end - start
            except TargetError as error:
                for each in left:
                    problems.setdefault(each, str(error))
            if not left:
                return
        for each in left:
            path = self._archive.index.member(each).path
            reason = problems.get(each, f"{bundle.key}: no copy of the bundle can be read")
            self.done.problems.append(f"{path}: {reason}")

    def _read(
        self, rows: NDArray[Any], stream: Stream, left: set[int], problems: dict[int, str]
    ) -> None:
        at = int(rows[0][1])
        for row in rows:
            entry = self._archive.index.member(int(row[3]))
            for _ in stream.blocks(entry.data - at):
                pass
            at = entry.data + entry.stored
            try:
                whole = self._member(entry, stream)
            except TargetError:
                raise
            except (OSError, TailraceError) as error:
                self._report(entry, error)
                whole = True  # another copy would not help
            if whole:
                left.discard(entry.id)
            else:
                problems[entry.id] = "the bytes in the bundle do not match their checksum"

    def _member(self, entry: Entry, stream: Stream) -> bool:
        """Restore one member; its data is read in any case. False: it is damaged."""
        if entry.kind == FOLDER:
            if self._name(entry):
                self._beneath.make_folder(self._name(entry))
            self._folders.append(entry.id)
            return True
        if entry.kind in (SYMLINK, HARD_LINK):
            self._links.append(entry.id)
            return True
        self._tell(entry.path)
        blocks = stream.blocks(entry.stored)
        try:
            if not self._wanted(self._name(entry), entry):
                return True
            return self._write(self._name(entry), entry, blocks)
        finally:
            for _ in blocks:
                pass

    def _wanted(self, name: str, entry: Entry) -> bool:
        """Say whether a file must be written; raises an error if a different one has its name."""
        status = self._beneath.status(name)
        if status is None:
            return True
        if self._is_there(name, entry):
            self.done.kept += 1
            return False
        if entry.kind == SPARSE and stat.S_ISREG(status.st_mode) and status.st_size == entry.size:
            return True  # its holes are others: `_write` compares
        if not self._force or stat.S_ISDIR(status.st_mode):
            raise TailraceError(DIFFERENT)
        return True

    def _is_there(self, name: str, entry: Entry) -> bool:
        """Say whether a file has the bytes, and of a sparse member the holes, of a member."""
        status = self._beneath.status(name)
        if status is None or not stat.S_ISREG(status.st_mode) or status.st_size != entry.size:
            return False
        with os.fdopen(self._beneath.open_to_read(name), "rb", buffering=0) as file:
            if entry.kind == SPARSE:
                return sparse_checksum(file, entry.size, entry.algorithm) == entry.checksum
            return file_checksum(file, entry.algorithm) == entry.file_checksum

    def _write(self, name: str, entry: Entry, blocks: Any) -> bool:
        temporary = f".tailrace-partial-{entry.id}"
        descriptor = self._beneath.create(name, temporary)
        try:
            if not _fill(descriptor, entry, blocks):
                self._beneath.drop(name, temporary)
                return False
            if entry.kind == SPARSE and self._has_bytes(name, descriptor):
                self._beneath.drop(name, temporary)
                self.done.kept += 1
                self._sparse.add(entry.id)
                return True
            problems = set_status(descriptor, entry)
            self._beneath.publish(name, temporary, self._force)
            if entry.kind == SPARSE:
                self._sparse.add(entry.id)
        except FileExistsError:
            self._beneath.drop(name, temporary)
            raise TailraceError(DIFFERENT) from None
        except BaseException:
            self._beneath.drop(name, temporary)
            raise
        finally:
            os.close(descriptor)
        self._note(entry, problems)
        self.done.files += 1
        self.done.bytes += entry.size
        return True

    def _report(self, entry: Entry, error: Exception) -> None:
        reason = getattr(error, "strerror", None) or str(error)
        self._note(entry, [reason])

    def _note(self, entry: Entry, problems: list[str]) -> None:
        self.done.problems += [f"{entry.path}: {problem}" for problem in problems]

    def _has_bytes(self, name: str, descriptor: int) -> bool:
        """Say whether a file exists and has the same bytes as an open one."""
        if self._beneath.status(name) is None:
            return False
        with os.fdopen(self._beneath.open_to_read(name), "rb", buffering=0) as file:
            at = 0
            while block := file.read(1 << 20):
                if os.pread(descriptor, len(block), at) != block:
                    return False
                at += len(block)
        return at == os.fstat(descriptor).st_size

    def _finish(self) -> None:
        """Make the links, then set the times of folders, the deepest first."""
        for number in self._links:
            entry = self._archive.index.member(number)
            try:
                self._link(entry)
            except (OSError, TailraceError) as error:
                self._report(entry, error)
        folders = [self._archive.index.member(number) for number in self._folders]
        for entry in sorted(folders, key=lambda entry: entry.path, reverse=True):
            try:
                if self._name(entry):
                    self._note(entry, self._beneath.set_folder(self._name(entry), entry))
            except (OSError, TailraceError) as error:
                self._report(entry, error)

    def _link(self, entry: Entry) -> None:
        name = self._name(entry)
        if entry.kind == SYMLINK:
            status = self._beneath.status(name)
            if status is None:
                self._beneath.make_link(name, entry.link)
            elif not self._has_link(name, entry.link):
                raise TailraceError("exists and is different")
            return
        found = self._archive.index.found(entry.id)
        data = origin(self._archive.index, found)
        if data is None:
            raise TailraceError(f"is a hard link to {entry.link}, which is not in the bundle")
        if not self._wanted(name, data):
            return
        newest = self._archive.index.newest(entry.link)
        inside = entry.link.startswith(f"{self._base.rstrip('/')}/")
        other = entry.link[len(self._base) :].lstrip("/")
        same = newest is not None and newest.entry.id == data.id
        free = self._beneath.status(name) is None
        # What has the other name may be a newer file, which was left alone.
        there = inside and same and (data.id in self._sparse or self._is_there(other, data))
        if there and free:
            self._beneath.make_hard_link(name, other)
            self.done.files += 1
            return
        self._copy_data(name, data, found.bundle)

    def _copy_data(self, name: str, data: Entry, number: int) -> None:
        """Restore the data of a hard link whose first name is not restored."""
        bundle = self._archive.index.bundle(number)
        for source in self._sources(number):
            target = self._archive.target(source)
            wait_staged(target, [bundle.key], self._tell)
            with Stream(target, bundle.key, data.data, data.data + data.stored) as stream:
                if self._write(name, data, stream.blocks(data.stored)):
                    self.done.bytes_read += data.stored
                    return
        raise TailraceError("the bytes in the bundle do not match their checksum")

    def _has_link(self, name: str, to: str) -> bool:
        folder, last = self._beneath.folder_of(name)
        try:
            return os.readlink(last, dir_fd=folder) == to
        except OSError:
            return False


def _fill(descriptor: int, entry: Entry, blocks: Any) -> bool:
    """Write the data of a member to a file; say whether it matches its checksum."""
    data = new_hasher(entry.algorithm)
    if entry.packed:
        return _unpack(descriptor, entry, blocks, data)
    if entry.kind == SPARSE:
        stored = SparseWriter(descriptor)
        for block in blocks:
            data.update(block)
            stored.take(bytes(block))
        os.ftruncate(descriptor, entry.size)
    else:
        for block in blocks:
            large = len(block) >= _LARGE_BYTES[entry.algorithm]
            hashed = _HASHER.submit(data.update, block) if large else None
            if hashed is None:
                data.update(block)
            view = block
            while view:
                view = view[os.write(descriptor, view) :]
            if hashed is not None:
                hashed.result()
    return data.hexdigest() == entry.checksum


def _unpack(descriptor: int, entry: Entry, blocks: Any, data: Hasher) -> bool:
    """Write what a compressed member holds."""
    content = new_hasher(entry.algorithm)

    def hashed() -> Iterator[memoryview]:
        for block in blocks:
            data.update(block)
            yield block

    written = 0
    try:
        for part in decompress(hashed()):
            content.update(part)
            written += len(part)
            if written > entry.size:  # what a damaged or crafted member holds might fill the disk
                return False
            view = memoryview(part)
            while view:
                view = view[os.write(descriptor, view) :]
    except ValueError:
        return False
    return (data.hexdigest(), content.hexdigest()) == (entry.checksum, entry.content)


def restore(
    archive: Archive, path: str, plan: Plan, to: Path | None, force: bool, tell: Tell = silent
) -> Restored:
    """Restore the members of a plan, all at or below `path`; without `to` where they were."""
    base = os.path.dirname(path)  # noqa: PTH120
    with Beneath(to if to is not None else Path(base)) as beneath:
        restorer = _Restorer(archive, base, beneath, force, tell)
        return restorer.run(restorer.needed(plan, path))


def needed(archive: Archive, path: str, plan: Plan, to: Path | None, force: bool) -> Plan:
    """Return the part of a plan that `restore` would read; nothing is made or changed."""
    base = os.path.dirname(path)  # noqa: PTH120
    root = to if to is not None else Path(base)
    if not root.is_dir():
        return plan
    with Beneath(root, make=False) as beneath:
        return _Restorer(archive, base, beneath, force, silent).needed(plan, path)
