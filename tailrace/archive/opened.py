# SPDX-License-Identifier: BSD-3-Clause
"""An opened archive: configuration, index, targets and, of a writer, the lock."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.archive.config import Config
from tailrace.archive.index import Bundle, Index
from tailrace.archive.lock import Lock
from tailrace.archive.target import Target, TargetError
from tailrace.errors import TailraceError

LOCK_WAIT_S = 600.0


@dataclass
class Archive:
    """What commands work on."""

    config: Config
    index: Index
    lock: Lock | None = None
    _targets: dict[str, Target] = field(default_factory=dict)

    def target(self, name: str) -> Target:
        """Return a target, which is opened when it is first asked for."""
        if name not in self._targets:
            self._targets[name] = self.config.place(name).open()
        return self._targets[name]

    def prepared(self, name: str) -> Target:
        """Return a target to write to."""
        target = self.target(name)
        if not self.index.run("SELECT 1 FROM copies WHERE target = ? LIMIT 1", (name,)).fetchone():
            target.prepare()
        return target

    def verified(self, bundle: Bundle) -> list[str]:
        """Return the targets whose copies count, of those that the configuration has.

        It may have lost one, with which a source cannot be restored.
        """
        known = {place.name for place in self.config.places}
        return [name for name in bundle.verified if name in known]

    def require_lock(self) -> None:
        """Raise an error if another process may write now."""
        if self.lock is None:
            raise TailraceError("the archive is opened read-only")
        self.lock.require()

    def require_space(self, name: str, bundle: Bundle, placed: bool) -> None:
        """Raise an error if a copy of a bundle would not fit on a target.

        `placed`: its bytes lie there already, so that only the capacity matters.
        """
        capacity = self.config.place(name).capacity
        if placed and capacity is None:
            return
        free = self.free_bytes(name) if not placed else (capacity or 0) - self.used_bytes(name)
        if free is not None and free < bundle.size:
            raise TargetError(name, bundle.key, f"needs {bundle.size} bytes, {free} are free")

    def used_bytes(self, name: str) -> int:
        """Return the bytes of all bundles that have a copy on a target."""
        row = self.index.run(
            "SELECT TOTAL(size) FROM bundles b JOIN copies c ON c.bundle = b.id"
            " WHERE c.target = ? AND c.state != 'missing'",
            (name,),
        ).fetchone()
        return int(row[0])

    def free_bytes(self, name: str) -> int | None:
        """Return the free bytes by the target and by its capacity; None if neither is known."""
        place = self.config.place(name)
        free = [self.target(name).free_bytes()]
        if place.capacity is not None:
            free.append(max(0, place.capacity - self.used_bytes(name)))
        return min((each for each in free if each is not None), default=None)


@contextmanager
def reading(config: Config) -> Iterator[Archive]:
    """Open the archive for reading."""
    index = Index(config.index)
    try:
        yield Archive(config, index)
    finally:
        index.close()


@contextmanager
def writing(config: Config, wait_s: float = LOCK_WAIT_S) -> Iterator[Archive]:
    """Open the archive for writing: waits for the lock, and checks the index."""
    with Lock(lock_path(config), wait_s) as lock:
        index = Index(config.index, writable=True)
        try:
            index.check()
            yield Archive(config, index, lock)
        finally:
            index.close()


def lock_path(config: Config) -> Path:
    """Return the lock file, which lies next to the index."""
    return config.index.with_name(config.index.name + ".lock")
