#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A tape library in a folder, to test what writes to one and reads from it.

Objects lie one after the other on tapes of a given capacity, and in a disk cache while they are
staged. One drive: reading another tape costs a mount, and reading anything but the next bytes of
the mounted tape costs a seek. Both are counted; both take the time that is configured, at first
none. A recall of several objects is read in the order of the tapes; several recalls are read in the
order in which they come, as a library does that has one drive.

  tape_library.py FOLDER put FILE KEY        FOLDER get KEY FILE      FOLDER read KEY OFFSET LENGTH
  tape_library.py FOLDER stage KEY...        FOLDER stage --from FILE
  tape_library.py FOLDER staged KEY...       (prints the names of those that are staged)
  tape_library.py FOLDER is_staged KEY       (exit status 0 or 1)
  tape_library.py FOLDER size KEY            FOLDER list              FOLDER delete KEY
  tape_library.py FOLDER free                FOLDER rename KEY KEY
  tape_library.py FOLDER drop [KEY...]       the disk cache forgets objects (all if none is named)
  tape_library.py FOLDER counts [--reset]    prints mounts, seeks and bytes read, as JSON
  tape_library.py FOLDER set NAME=JSON...    configures the library, see SETTINGS

Exit status: 0, 1 (no such object, or not staged), 2 (usage), 3 (the library is offline), 4 (full),
or what ``exit_status`` says.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SETTINGS: dict[str, Any] = {
    # The library.
    "tape_bytes": 1 << 40,  # capacity of a tape; an object is never split
    "free_bytes": 1 << 50,  # what may still be written
    "mount_s": 0.0,
    "seek_s": 0.0,
    "stays": True,  # what was put stays in the disk cache
    "recall_polls": 0,  # a recall ends after so many questions whether it has ended
    # Faults.
    "offline": False,
    "keep_of_put": 1.0,  # the share of the bytes that put really stores
    "flip_in_put": -1,  # put stores this bit inverted
    "lose_put": False,  # put stores nothing at all
    "exit_status": None,  # of a put that otherwise succeeded
    "fail_recall": False,  # a recall of these objects ends with an error
    "kill_parent_in": "",  # before the end of this command, the program that called it is killed
    "wait_in": "",  # in the middle of this command, wait until the file `go` exists
}


class Refusal(Exception):
    """What a command could not do, and its exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


class Library:
    """The folder: ``tapes/`` and ``cache/`` hold the bytes, ``library.json`` the rest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tapes, self.cache = folder / "tapes", folder / "cache"
        for made in (self.tapes, self.cache):
            made.mkdir(parents=True, exist_ok=True)
        self.state: dict[str, Any] = {
            "settings": dict(SETTINGS),
            "objects": {},  # key -> tape, offset, bytes
            "ends": [],  # bytes written to each tape
            "recalls": {},  # key -> questions until it is there
            "drive": {"tape": None, "at": 0},
            "counts": {"mounts": 0, "seeks": 0, "bytes": 0, "recalls": 0, "objects": 0},
        }
        with contextlib.suppress(FileNotFoundError):
            self.state |= json.loads((folder / "library.json").read_text())

    def save(self) -> None:
        """Write the state so that a killed process leaves the old or the new one."""
        new = self.folder / f".library.{os.getpid()}"
        new.write_text(json.dumps(self.state, indent=1))
        new.replace(self.folder / "library.json")

    def setting(self, name: str) -> Any:
        return self.state["settings"][name]

    def found(self, key: str) -> dict[str, Any]:
        try:
            entry: dict[str, Any] = self.state["objects"][key]
        except KeyError:
            raise Refusal(f"{key}: no such object") from None
        return entry

    def put(self, file: str, key: str) -> None:
        if key in self.state["objects"]:
            raise Refusal(f"{key}: exists")
        if self.setting("lose_put"):
            return
        size = Path(file).stat().st_size
        if size > self.setting("free_bytes"):
            raise Refusal("no space left on the tapes", 4)
        kept = int(size * self.setting("keep_of_put"))
        tape, ends = self._tape_for(kept), self.state["ends"]
        with Path(file).open("rb") as source, self._tape(tape).open("r+b") as medium:
            medium.seek(ends[tape])
            _copy(source, medium, kept)
        self.state["objects"][key] = {"tape": tape, "offset": ends[tape], "bytes": kept}
        if self.setting("flip_in_put") >= 0:
            flip(self._tape(tape), 8 * ends[tape] + self.setting("flip_in_put"))
        self.state["settings"]["free_bytes"] -= kept
        ends[tape] += kept
        if self.setting("stays"):
            self._to_cache(key)

    def _tape_for(self, size: int) -> int:
        ends = self.state["ends"]
        if not ends or (ends[-1] and ends[-1] + size > self.setting("tape_bytes")):
            ends.append(0)
            self._tape(len(ends) - 1).touch()
        return len(ends) - 1

    def get(self, key: str, file: str) -> None:
        self._require_staged(key)
        shutil.copyfile(self.cache / key, file)

    def read(self, key: str, offset: str, length: str) -> None:
        self._require_staged(key)
        with (self.cache / key).open("rb") as file:
            file.seek(int(offset))
            sys.stdout.buffer.write(file.read(int(length)))

    def _require_staged(self, key: str) -> None:
        self.found(key)
        if not (self.cache / key).exists():
            raise Refusal(f"{key}: is on tape only")

    def size(self, key: str) -> None:
        print(self.found(key)["bytes"])

    def list(self) -> None:
        for key, entry in self.state["objects"].items():
            print(entry["bytes"], key)

    def delete(self, key: str) -> None:
        self.found(key)
        del self.state["objects"][key]
        (self.cache / key).unlink(missing_ok=True)

    def rename(self, old: str, new: str) -> None:
        if new in self.state["objects"]:
            raise Refusal(f"{new}: exists")
        self.state["objects"][new] = self.found(old)
        del self.state["objects"][old]
        with contextlib.suppress(FileNotFoundError):
            (self.cache / old).rename(self.cache / new)

    def free(self) -> None:
        print(self.setting("free_bytes"))

    def stage(self, *keys: str) -> None:
        if keys[:1] == ("--from",):
            keys = tuple(Path(keys[1]).read_text().split())
        if self.setting("fail_recall"):
            raise Refusal("a tape cannot be read")
        wanted = [key for key in keys if self.found(key) and not (self.cache / key).exists()]
        self.state["counts"]["recalls"] += 1
        wanted.sort(key=lambda key: (self.found(key)["tape"], self.found(key)["offset"]))
        for key in wanted:
            if self.setting("recall_polls"):
                self.state["recalls"].setdefault(key, self.setting("recall_polls"))
            else:
                self._to_cache(key, drive=True)

    def staged(self, *keys: str) -> None:
        """Print the names that are in the disk cache."""
        for key in [key for key in self.state["recalls"] if key in keys]:
            self.state["recalls"][key] -= 1
            if self.state["recalls"][key] <= 0:
                del self.state["recalls"][key]
                self._to_cache(key, drive=True)
        there = [key for key in keys if self.found(key) and (self.cache / key).exists()]
        print("\n".join(there))

    def is_staged(self, key: str) -> None:
        self.staged(key)
        self._require_staged(key)

    def drop(self, *keys: str) -> None:
        for key in keys or tuple(self.state["objects"]):
            (self.cache / key).unlink(missing_ok=True)
            self.state["recalls"].pop(key, None)

    def counts(self, reset: str = "") -> None:
        print(json.dumps(self.state["counts"]))
        if reset:
            self.state["counts"] = dict.fromkeys(self.state["counts"], 0)
            self.state["drive"] = {"tape": None, "at": 0}

    def set(self, *settings: str) -> None:
        for setting in settings:
            name, _, value = setting.partition("=")
            if name not in SETTINGS:
                raise Refusal(f"no setting {name}", 2)
            self.state["settings"][name] = json.loads(value)

    def _tape(self, number: int) -> Path:
        return self.tapes / f"{number:04}"

    def _to_cache(self, key: str, drive: bool = False) -> None:
        entry = self.found(key)
        if drive:
            self._move_drive(entry)
        part = self.cache / f".{key}"
        with self._tape(entry["tape"]).open("rb") as medium, part.open("wb") as file:
            medium.seek(entry["offset"])
            _copy(medium, file, entry["bytes"])
        part.rename(self.cache / key)

    def _move_drive(self, entry: dict[str, Any]) -> None:
        drive, counts = self.state["drive"], self.state["counts"]
        if drive["tape"] != entry["tape"]:
            drive |= {"tape": entry["tape"], "at": 0}
            counts["mounts"] += 1
            time.sleep(self.setting("mount_s"))
        if drive["at"] != entry["offset"]:
            counts["seeks"] += 1
            time.sleep(self.setting("seek_s"))
        drive["at"] = entry["offset"] + entry["bytes"]
        counts["bytes"] += entry["bytes"]
        counts["objects"] += 1


def _copy(source: Any, to: Any, size: int) -> None:
    while size > 0 and (block := source.read(min(size, 1 << 20))):
        to.write(block)
        size -= len(block)


def flip(file: Path, bit: int) -> None:
    """Invert one bit of a file."""
    with file.open("r+b") as damaged:
        damaged.seek(bit // 8)
        byte = damaged.read(1)[0] ^ (1 << bit % 8)
        damaged.seek(bit // 8)
        damaged.write(bytes([byte]))


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Library]:
    """Open the library for one command; commands of several processes wait for each other."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        library = Library(folder)
        try:
            yield library
        finally:
            library.save()


COMMANDS = (
    *(
        "put",
        "get",
        "read",
        "stage",
        "staged",
        "is_staged",
        "size",
        "list",
        "delete",
        "free",
        "rename",
    ),
    *("drop", "counts", "set"),
)


def main() -> int:
    """Run one command."""
    folder, command, *words = sys.argv[1:]
    if command not in COMMANDS:
        print(f"tape_library: no command {command}", file=sys.stderr)
        return 2
    try:
        with opened(Path(folder)) as library:
            if library.setting("offline") and command not in ("set", "counts", "drop"):
                raise Refusal("the library is offline", 3)
            getattr(library, command)(*words)
            if library.setting("kill_parent_in") == command:
                os.kill(os.getppid(), signal.SIGKILL)
            while library.setting("wait_in") == command and not (Path(folder) / "go").exists():
                time.sleep(0.01)
            if command == "put" and library.setting("exit_status") is not None:
                return int(library.setting("exit_status"))
    except Refusal as refusal:
        if str(refusal):
            print(f"tape_library: {refusal}", file=sys.stderr)
        return refusal.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
