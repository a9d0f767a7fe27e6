# SPDX-License-Identifier: BSD-3-Clause
"""Which file system a path is on, and its layouts, whichever it is."""

import os
import shlex
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.striping import ceph, lustre
from tailrace.striping.layout import ALL_TARGETS, SMALLEST_STRIPE, Layout

_MOUNTS = Path("/proc/self/mountinfo")


def _unescaped(text: str) -> str:
    """Undo the octal escapes of blanks in mountinfo."""
    for code in ("040", "011", "012", "134"):
        text = text.replace(f"\\{code}", chr(int(code, 8)))
    return text


def mount_type(path: Path) -> str:
    """Return the type of the mount that `path` is on, as the kernel names it."""
    number = path.stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    by_device, by_place, longest = "", "", -1
    for line in _MOUNTS.read_text().splitlines():
        head, _, tail = line.partition(" - ")
        fields, kind = head.split(), tail.split()[0]
        place = Path(_unescaped(fields[4]))
        if fields[2] == device:
            by_device = kind
        # A later mount on the same place hides the earlier one.
        if path.resolve().is_relative_to(place) and len(place.parts) >= longest:
            by_place, longest = kind, len(place.parts)
    return by_device or by_place or "unknown"


def file_system_of(path: Path) -> str:
    """Return "lustre", "ceph" or the name of another file system; `path` may not exist yet."""
    here = path if path.exists() else path.resolve().parent
    if not here.exists():
        raise TailraceError(f"{path}: there is no folder {here}")
    kind = mount_type(here)
    folder = here if here.is_dir() else here.resolve().parent
    if kind.startswith(("ceph", "fuse")) and ceph.is_ceph(folder):
        return "ceph"
    return "lustre" if kind == "lustre" else kind


def read_layout(path: Path) -> Layout:
    """Return the layout of an existing path; without components if its file system has none."""
    if not path.exists():
        raise TailraceError(f"{path}: no such file or folder")
    kind = file_system_of(path)
    if kind == "lustre":
        return lustre.read_layout(path)
    if kind == "ceph":
        return ceph.read_layout(path)
    return Layout(str(path), kind, path.is_dir())


def count_targets(path: Path) -> int:
    """Return the number of storage targets of the file system of `path`, or 0 if unknown."""
    kind = file_system_of(path)
    if kind == "lustre":
        return lustre.count_targets(path if path.exists() else path.resolve().parent)
    return ceph.count_targets() if kind == "ceph" else 0


def set_command(path: Path, count: int, size: int) -> str:
    """Return the shell command that lays out `path`, or "" where there is none."""
    kind = file_system_of(path)
    if kind == "lustre":
        return shlex.join(lustre.set_command(path, count, size))
    return ceph.set_command(path, count, size) if kind == "ceph" else ""


def _check(path: Path, count: int, size: int) -> None:
    if count == 0 and size == 0:
        raise TailraceError(
            "nothing to set: give --count, --size or both (tailrace stripe advise says which)",
            status=2,
        )
    if count < ALL_TARGETS:
        raise TailraceError(f"--count {count}: expected a number of targets, or -1 for all", 2)
    if size % SMALLEST_STRIPE != 0 or size >= 1 << 32:
        raise TailraceError(f"--size {size}: expected a multiple of 64 KiB below 4 GiB", status=2)
    if path.exists() and not path.is_dir():
        if not path.is_file():
            raise TailraceError(f"{path} is neither a file nor a folder")
        if path.stat().st_size > 0:
            raise TailraceError(
                f"{path} holds data: stripes are given when a file is created. Set them on its "
                f"folder or on a new name, copy it there (cp) and rename the copy"
            )


def set_layout(path: Path, count: int, size: int) -> None:
    """Lay out a folder, or a file that does not exist or is empty; 0 leaves count or size."""
    _check(path, count, size)
    kind = file_system_of(path)
    if kind not in ("lustre", "ceph"):
        raise TailraceError(f"{path} is on {kind}, which has no stripes to set")
    if kind == "lustre":
        lustre.set_layout(path, count, size)
        return
    if count == ALL_TARGETS:
        count = ceph.count_targets()
        if count == 0:
            raise TailraceError("--count -1: the tool ceph does not say how many targets there are")
    ceph.set_layout(path, count, size)
