# SPDX-License-Identifier: BSD-3-Clause
"""Does a program write the same files with a setting that changes how it writes?

The files that a run made or changed in a folder are compared, byte for byte, with those of two runs
without the setting. A file that differs between these two (it holds a time) says nothing.
"""

import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_ENTRIES = 100_000  # of a folder that is searched before and after each run

State = dict[str, tuple[int, int, int]]  # path -> size, time of the last change [ns], inode


def state_of(folder: Path) -> State | None:
    """Return the regular files in a folder and below it, None if there are too many to search."""
    found: State = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            try:
                about = path.lstat()
            except OSError:
                continue
            if not stat.S_ISREG(about.st_mode):  # to read a FIFO would wait for its writer
                continue
            found[str(path.relative_to(folder))] = (about.st_size, about.st_mtime_ns, about.st_ino)
            if len(found) > MOST_ENTRIES:
                return None
    return found


def _digest(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, hashlib.blake2b).digest()
    except OSError:
        return b""  # it vanished, or may not be read


@dataclass
class WrittenFiles:
    """The files that runs of a program write in `folder`."""

    folder: Path
    plain: list[dict[str, bytes]] = field(default_factory=list)  # of two equal runs: path -> digest
    equal: set[str] = field(default_factory=set)  # that were compared with a setting
    size: int = 0  # of these [bytes]
    runs: int = 0  # that were compared
    not_searched: bool = False
    _before: State | None = None

    @property
    def needs_plain(self) -> bool:
        """Tell whether another run without a setting is needed to compare with."""
        return len(self.plain) < 2 and not self.not_searched

    @property
    def varying(self) -> list[str]:
        """Return the files that differ between equal runs."""
        if self.needs_plain or self.not_searched:
            return []
        one, two = self.plain
        return sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name))

    def begin(self) -> None:
        """Look at the folder before a run."""
        self._before = state_of(self.folder)
        self.not_searched |= self._before is None

    def _written(self) -> dict[str, bytes]:
        after = state_of(self.folder)
        self.not_searched |= after is None
        if self._before is None or after is None:
            return {}
        changed = [name for name, state in after.items() if self._before.get(name) != state]
        return {name: _digest(self.folder / name) for name in changed}

    def end_plain(self) -> None:
        """Keep what a run without a setting wrote, until two are kept."""
        if self.needs_plain:
            self.plain.append(self._written())

    def end_changed(self) -> str:
        """Compare what a run with a setting wrote; return what is wrong, "" if nothing is."""
        found = self._written()
        if self.not_searched:
            return ""
        varying = set(self.varying)
        expected = {name: one for name, one in self.plain[0].items() if name not in varying}
        for name, digest in sorted(expected.items()):
            if name not in found:
                return f"with the setting it does not write {name}"
            if found[name] != digest:
                return f"with the setting it writes other bytes to {name}"
        # Where equal runs write files of other names, another name is no fault.
        if not any((name in self.plain[0]) != (name in self.plain[1]) for name in varying):
            for name in sorted(found.keys() - expected.keys() - varying):
                return f"with the setting it writes another file, {name}"
        self.equal |= expected.keys()
        self.size = sum((self.folder / name).stat().st_size for name in expected)
        self.runs += 1
        return ""

    @property
    def text(self) -> str:
        """Return in a line what was compared, "" if no setting changed how files are written."""
        if self.not_searched:
            return "Files were not compared: there are too many in this folder."
        if not self.runs:
            return ""
        if not self.equal and not self.varying:
            return "Files were not compared: the program writes none in this folder."
        count = len(self.equal)
        files = "file" if count == 1 else "files"
        runs = "run" if self.runs == 1 else "runs"
        megabytes = f"{self.size / 1e6:.3g} MB"
        text = f"{count} {files} ({megabytes}) compared after {self.runs} {runs}: equal"
        if self.varying:
            text += f"; not compared, as equal runs differ: {', '.join(self.varying[:3])}"
            text += ", ..." if len(self.varying) > 3 else ""
        return text + "."

    @property
    def data(self) -> dict[str, Any]:
        """Return the same for JSON."""
        return {
            "compared": sorted(self.equal),
            "bytes": self.size,
            "runs": self.runs,
            "varying": self.varying,
        }
