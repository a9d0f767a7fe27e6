# SPDX-License-Identifier: BSD-3-Clause
"""A folder of a Lustre file system whose files are moved to tape and back (``lfs hsm_*``).

``put`` writes the file, asks for its archiving, waits until the file system says that the copy on
the second tier is whole, and then releases the blocks on disk, so that a program that reads it back
reads the second tier. A released file is recalled with ``lfs hsm_restore``, all files in one call,
and is never opened before: opening it would recall files one by one in the order of reading.
"""

import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tailrace.archive.targets import program
from tailrace.archive.targets.directory import Directory
from tailrace.archive.targets.settings import checked

SETTINGS: dict[str, type | tuple[type, ...]] = {
    "path": str,
    "lfs": str,
    "archive_id": int,
    "release": bool,
    "archive_wait_s": (int, float),
    "timeout_s": (int, float),
}
# The flags of a file's state (lustre_user.h, enum hsm_states).
DIRTY, RELEASED, ARCHIVED, LOST = 0x2, 0x4, 0x8, 0x40
#: ``/path/file: (0x0000000d) released exists archived, archive_id:1``
STATE = re.compile(r"^(?P<path>.*): \((?P<flags>0x[0-9a-fA-F]+)\)", re.M)
FILES_PER_CALL = 500
LONGEST_POLL_S = 30.0


class Hsm(Directory):
    """The settings are those of `SETTINGS`; ``path``, a folder of the file system, is required."""

    kind = "hsm"

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        super().__init__(name, {key: settings[key] for key in ("path",) if key in settings})
        given = checked(self, settings, SETTINGS, ("path",))
        self.lfs: str = given.get("lfs", "lfs")
        self.archive_id: int | None = given.get("archive_id")
        self.release: bool = given.get("release", True)
        self.archive_wait_s: float = given.get("archive_wait_s", 86_400)
        self.timeout_s: float = given.get("timeout_s", 600)
        self._staged: set[str] = set()

    def put(self, key: str, source: Path) -> None:
        super().put(key, source)
        built_here = not source.exists()
        try:
            self._archive(key)
        except BaseException:
            if built_here:  # The source became the object; give it back.
                self._file(key).rename(source)
            else:
                super().delete(key)
            raise

    def finish(self, key: str) -> None:
        ((_, flags),) = self._states([key])
        if not flags & RELEASED:
            self._staged.discard(key)
            self._archive(key)

    def _archive(self, key: str) -> None:
        """Have a file copied to the second tier, and free its blocks on the disk."""
        file = str(self._file(key))
        choice = [] if self.archive_id is None else ["--archive", str(self.archive_id)]
        self._lfs(key, "hsm_archive", *choice, file)
        self._wait_until_archived(key)
        if self.release:
            self._lfs(key, "hsm_release", file)

    def get(self, key: str, to: Path) -> None:
        self._require_staged(key)
        super().get(key, to)

    def read(self, key: str, offset: int, length: int) -> bytes:
        self._require_staged(key)
        return super().read(key, offset, length)

    def read_into(self, key: str, offset: int, block: memoryview, cached: bool = True) -> int:
        self._require_staged(key)
        return super().read_into(key, offset, block, cached)

    def keeps_built(self) -> bool:
        return False  # the copy on tape is compared

    def delete(self, key: str) -> None:
        self._staged.discard(key)
        super().delete(key)

    def is_staged(self, keys: Iterable[str]) -> dict[str, bool]:
        staged = dict.fromkeys(keys, False)
        for key, flags in self._states([key for key in staged if self.size(key) is not None]):
            if flags & LOST:
                raise self.fail(key, "the file system reports that the archived copy is lost")
            staged[key] = not flags & RELEASED
            (self._staged.add if staged[key] else self._staged.discard)(key)
        return staged

    def stage(self, keys: Iterable[str]) -> None:
        away = [key for key, staged in self.is_staged(keys).items() if not staged]
        released = [key for key in away if self.size(key) is not None]
        if not released:
            return
        with tempfile.NamedTemporaryFile("w", prefix="tailrace-", suffix=".list") as names:
            names.writelines(f"{self._file(key)}\n" for key in released)
            names.flush()
            self._lfs("", "hsm_restore", "--filelist", names.name)

    def _require_staged(self, key: str) -> None:
        """Refuse a released file; what was staged when last asked is taken as still staged."""
        if key not in self._staged and not self.is_staged([key])[key]:
            raise self.fail(key, "is on tape only (stage it first)")

    def _wait_until_archived(self, key: str) -> None:
        """Poll the state, which no program can wait for, less and less often."""
        until = time.monotonic() + self.archive_wait_s
        pause_s = 0.05
        while True:
            ((_, flags),) = self._states([key])
            if flags & ARCHIVED and not flags & DIRTY:
                return
            if time.monotonic() > until:
                raise self.fail(key, f"was not archived within {self.archive_wait_s:g} s")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_POLL_S)

    def _states(self, keys: Sequence[str]) -> Iterator[tuple[str, int]]:
        for first in range(0, len(keys), FILES_PER_CALL):
            some = keys[first : first + FILES_PER_CALL]
            printed = self._lfs(
                some[0] if len(some) == 1 else "", "hsm_state", *(str(self._file(k)) for k in some)
            )
            flags = {
                Path(match["path"]).name: int(match["flags"], 16)
                for match in STATE.finditer(printed)
            }
            for key in some:
                if key not in flags:
                    raise self.fail(key, f"{self.lfs} hsm_state reports nothing about this file")
                yield key, flags[key]

    def _lfs(self, key: str, *words: str) -> str:
        output = program.succeed(self, key, [self.lfs, *words], timeout_s=self.timeout_s)
        return output.decode(errors="replace")
