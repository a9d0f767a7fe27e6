# SPDX-License-Identifier: BSD-3-Clause
"""A target: one place on a second tier that keeps bundles.

An object is a whole bundle. It never changes, and its key is never used again. Keys match `KEY`, so
that every tier can take them as names and as words of a command.
"""

import abc
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tailrace.errors import TailraceError

#: Keys: lower-case letters, digits, ``.``, ``_`` and ``-``; the first is no ``.`` and no ``-``.
KEY = re.compile(r"[a-z0-9_][a-z0-9._-]{0,199}")


class TargetError(TailraceError):
    """A target failed: its name, the key (empty: none in particular) and the reason."""

    def __init__(self, target: str, key: str, reason: str) -> None:
        where = f"target {target}, {key}" if key else f"target {target}"
        super().__init__(f"{where}: {reason}")
        self.target, self.key, self.reason = target, key, reason


class Target(abc.ABC):
    """One tier. All methods raise `TargetError`; none prints."""

    kind = ""

    def __init__(self, name: str) -> None:
        self.name = name

    @abc.abstractmethod
    def put(self, key: str, source: Path) -> None:
        """Store a file under a key that is not in use; at any end the object is absent or whole."""

    @abc.abstractmethod
    def get(self, key: str, to: Path) -> None:
        """Copy a whole object, which must be staged, to the file `to`."""

    @abc.abstractmethod
    def read(self, key: str, offset: int, length: int) -> bytes:
        """Return bytes of an object, which must be staged; fewer only at the object's end."""

    def read_into(self, key: str, offset: int, block: memoryview, cached: bool = True) -> int:
        """Fill a block with bytes of an object, as `read`; returns how many.

        `cached`: they may come from a cache of the system, where the target has one.
        """
        raw = self.read(key, offset, len(block))
        block[: len(raw)] = raw
        return len(raw)

    @abc.abstractmethod
    def size(self, key: str) -> int | None:
        """Return the size in bytes; None if there is no such object."""

    @abc.abstractmethod
    def keys(self) -> Iterator[str]:
        """Yield the key of every object, in any order."""

    @abc.abstractmethod
    def delete(self, key: str) -> None:
        """Remove an object; one that is absent is no error."""

    def is_staged(self, keys: Iterable[str]) -> dict[str, bool]:
        """Return for each key whether the object can be read now; an absent one is no error."""
        return dict.fromkeys(keys, True)

    def stage(self, keys: Iterable[str]) -> None:  # noqa: B027
        """Ask for the recall of all objects in one batch, and return at once.

        An absent object is left out, so that it does not keep the others from being recalled.
        """

    def prepare(self) -> None:  # noqa: B027
        """Make ready a target that has no object yet; called before the first `put`."""

    def building_place(self, key: str) -> Path | None:
        """Return a local file in which a bundle may be built; `put` of it then copies nothing."""
        return None

    def finish(self, key: str) -> None:  # noqa: B027
        """Do for a whole object what a `put` that was killed may not have come to."""

    def keeps_built(self) -> bool:
        """Say whether what is built there is the object, so that it may be compared meanwhile."""
        return False

    def local(self, key: str) -> Path | None:
        """Return the object itself as a local file to read, where the target is one of files."""
        return None

    def free_bytes(self) -> int | None:
        """Return the free space; None if that is not known."""
        return None

    def fail(self, key: str, reason: object) -> TargetError:
        """Return the error to raise; of an OSError only the reason without the path is shown."""
        text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        return TargetError(self.name, key, text)
