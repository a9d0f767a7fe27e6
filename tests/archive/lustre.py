#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stands for ``lfs`` on a file system that has no HSM: it prints what Lustre 2.15 prints.

The states lie in ``.hsm.json`` next to the files, archived copies in the folder ``.tape``. The file
``.hsm.settings.json`` may say ``polls``: how many calls of hsm_state an archiving or a recall
lasts, and ``lose`` or ``refuse``, names of files. Released files hold zeros, so that a program that
reads one without a recall gets wrong bytes.
"""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

EXISTS, DIRTY, RELEASED, ARCHIVED, LOST = 0x1, 0x2, 0x4, 0x8, 0x40
NAMES = {RELEASED: "released", EXISTS: "exists", DIRTY: "dirty", ARCHIVED: "archived"}
NAMES |= {LOST: "lost_from_hsm"}


class Folder:
    """The states of one folder's files."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / ".hsm.json"
        (folder / ".tape").mkdir(exist_ok=True)
        self.states: dict[str, Any] = _json(self.file)
        self.settings = _json(folder / ".hsm.settings.json")

    def state(self, name: str) -> dict[str, Any]:
        state: dict[str, Any] = self.states.setdefault(name, {"flags": 0, "wait": 0, "do": ""})
        return state

    def begin(self, name: str, action: str) -> None:
        self.state(name).update({"do": action, "wait": self.settings.get("polls", 0)})
        self.poll(name, begun=True)

    def poll(self, name: str, begun: bool = False) -> None:
        state = self.state(name)
        state["wait"] -= not begun
        if state["do"] and state["wait"] <= 0:
            getattr(self, state["do"])(name, state)
            state["do"] = ""

    def archive(self, name: str, state: dict[str, Any]) -> None:
        shutil.copyfile(self.folder / name, self.folder / ".tape" / name)
        state["flags"] |= EXISTS | ARCHIVED

    def restore(self, name: str, state: dict[str, Any]) -> None:
        # In place, as the inode does not change.
        (self.folder / name).write_bytes((self.folder / ".tape" / name).read_bytes())
        state["flags"] &= ~RELEASED

    def release(self, name: str) -> int:
        state = self.state(name)
        if not state["flags"] & ARCHIVED:
            print(f"Cannot send HSM request (use of {name}): Operation not permitted")
            return 1
        size = (self.folder / name).stat().st_size
        os.truncate(self.folder / name, 0)
        os.truncate(self.folder / name, size)
        state["flags"] |= RELEASED
        return 0

    def line(self, path: Path) -> str:
        self.poll(path.name)
        flags = self.state(path.name)["flags"]
        if path.name in self.settings.get("lose", ()):
            flags |= LOST
        words = [word for flag, word in NAMES.items() if flags & flag]
        text = f"{path}: (0x{flags:08x})" + "".join(f" {word}" for word in words)
        return text + (", archive_id:1" if flags & EXISTS else "")


def _json(file: Path) -> dict[str, Any]:
    try:
        read: dict[str, Any] = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    return read


def main() -> int:
    """Run one command for files of one folder."""
    command, *words = sys.argv[1:]
    with (Path(__file__).parent / os.environ.get("LFS_LOG", os.devnull)).open("a") as log:
        log.write(" ".join(sys.argv[1:2]) + f" {len(words)}\n")
    if words[:1] == ["--archive"]:
        words = words[2:]
    if words[:1] == ["--filelist"]:
        words = Path(words[1]).read_text().splitlines()
    paths = [Path(word) for word in words]
    for path in paths:
        if not path.exists():
            print(
                f"lfs {command}: cannot open '{path}': No such file or directory", file=sys.stderr
            )
            return 2
    folder = Folder(paths[0].parent)
    status = 0
    for path in paths:
        if path.name in folder.settings.get("refuse", ()):
            print("Cannot send HSM request: No such device", file=sys.stderr)
            return 19
        if command == "hsm_state":
            print(folder.line(path))
        elif command == "hsm_release":
            status |= folder.release(path.name)
        elif command in ("hsm_archive", "hsm_restore"):
            folder.begin(path.name, command.removeprefix("hsm_"))
        else:
            return 2
    folder.file.write_text(json.dumps(folder.states))
    return status


if __name__ == "__main__":
    sys.exit(main())
