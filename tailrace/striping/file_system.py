# SPDX-License-Identifier: BSD-3-Clause
"""Which file system a path is on, and its layouts, whichever it is.

The library finds out the file system, and reads and sets layouts of CephFS (``tailrace-stripe``).
"""

import json
import os
import shlex
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.files import replaced
from tailrace.launch.alone import run_alone
from tailrace.striping import lustre
from tailrace.striping.layout import ALL_TARGETS, SMALLEST_STRIPE, Component, Layout
from tailrace.tools import run_tool


def _ask(action: str, path: Path, *words: int) -> str:
    done = run_alone("tailrace-stripe", action, str(path), *map(str, words))
    if done.returncode != 0:
        raise TailraceError(done.stderr.strip().removeprefix("tailrace-stripe: "))
    return done.stdout.strip()


def _stripes(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_ask("show", path))
    return found


def file_system_of(path: Path) -> str:
    """Return "lustre", "ceph" or the name of another file system; `path` may not exist yet."""
    here = path if path.exists() else path.resolve().parent
    if not here.exists():
        raise TailraceError(f"{path}: there is no folder {here}")
    return str(_stripes(here)["file_system"])


def read_layout(path: Path) -> Layout:
    """Return the layout of an existing path; without components if its file system has none."""
    if not path.exists():
        raise TailraceError(f"{path}: no such file or folder")
    kind = file_system_of(path)
    if kind == "lustre":
        return lustre.read_layout(path)
    if kind == "ceph":
        return _layout_of_ceph(path)
    return Layout(str(path), kind, path.is_dir())


def _layout_of_ceph(path: Path) -> Layout:
    path = path.resolve()
    found = _stripes(path)
    component = Component(0, None, found["stripe_count"], found["stripe_bytes"], (), found["pool"])
    source = f"folder {found['source']}" if found["source"].startswith("/") else found["source"]
    extra = {"object size": str(found["object_bytes"])}
    return Layout(str(path), "ceph", path.is_dir(), (component,), source, extra)


def _targets_of_ceph() -> int:
    """Return the number of storage targets that are up, or 0 if the tool `ceph` does not say."""
    done = run_tool("ceph", "osd", "stat", "--format", "json")
    try:
        return int(json.loads(done.stdout)["num_up_osds"]) if done and done.returncode == 0 else 0
    except (ValueError, KeyError):
        return 0


def count_targets(path: Path) -> int:
    """Return the number of storage targets of the file system of `path`, or 0 if unknown."""
    kind = file_system_of(path)
    if kind == "lustre":
        return lustre.count_targets(path if path.exists() else path.resolve().parent)
    return _targets_of_ceph() if kind == "ceph" else 0


def set_command(path: Path, count: int, size: int) -> str:
    """Return the shell command that lays out `path`, or "" where there is none."""
    kind = file_system_of(path)
    if kind == "lustre":
        return shlex.join(lustre.set_command(path, count, size))
    if kind != "ceph":
        return ""
    name = "ceph.dir.layout" if path.is_dir() else "ceph.file.layout"
    where = shlex.quote(str(path))
    set_it = f'setfattr -n {name} -v "{_ask("ceph", path, count, size)}" {where}'
    return set_it if path.exists() else f"touch {where} && {set_it}"


def _check(path: Path, count: int, size: int) -> None:
    if count == 0 and size == 0:
        raise TailraceError(
            "nothing to set: give --count, --size or both (see tailrace stripe advise)",
            status=2,
        )
    if count < ALL_TARGETS:
        raise TailraceError(f"--count {count}: expected a number of targets, or -1 for all", 2)
    if size % SMALLEST_STRIPE != 0 or size >= 1 << 32:
        raise TailraceError(f"--size {size}: expected a multiple of 64 KiB below 4 GiB", status=2)
    if path.exists() and not path.is_dir():
        if not path.is_file():
            raise TailraceError(f"{path} is a device or a pipe, not a file or a folder")
        if path.stat().st_size > 0:
            raise TailraceError(
                f"{path} contains data: stripes can only be set for new files. Set them on the "
                "folder or on a new file, copy the data into it (cp), and rename it"
            )


def set_layout(path: Path, count: int, size: int) -> None:
    """Lay out a folder, or a file that does not exist or is empty; 0 leaves count or size."""
    _check(path, count, size)
    kind = file_system_of(path)
    if kind not in ("lustre", "ceph"):
        raise TailraceError(f"{path} is on {kind}, which has no stripes to set")
    if kind == "ceph":
        count, size = _whole_of_ceph(path, count, size)
    lay_out = lustre.set_layout if kind == "lustre" else _set_on_ceph
    if path.is_dir() or not path.exists():
        lay_out(path, count, size)
        return
    # Lustre has given an existing file its stripes, and on CephFS one that held data keeps them.
    with replaced(path, f".stripes.{os.getpid()}", made=False) as fresh:
        lay_out(fresh, count, size)


def _whole_of_ceph(path: Path, count: int, size: int) -> tuple[int, int]:
    if count == ALL_TARGETS:
        count = _targets_of_ceph()
        if count == 0:
            raise TailraceError("--count -1: the tool ceph does not say how many targets there are")
    now = _stripes(path)
    return count or now["stripe_count"], size or now["stripe_bytes"]


def _set_on_ceph(path: Path, count: int, size: int) -> None:
    if path.is_dir():
        _ask("set", path, count, size)
        return
    path.touch(exist_ok=False)
    try:
        _ask("set", path, count, size)
    except TailraceError:
        path.unlink()
        raise
