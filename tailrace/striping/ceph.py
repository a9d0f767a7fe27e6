# SPDX-License-Identifier: BSD-3-Clause
"""CephFS's layouts, which are extended attributes of files and folders."""

import errno
import json
import os
import shlex
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.files import replaced
from tailrace.striping.layout import Component, Layout
from tailrace.tools import run_tool

OBJECT_BYTES = 4 << 20
"""Objects are so large unless a stripe is larger (Ceph's own default)."""

# What Ceph gives files where no layout was set (file_layout_t of its source).
_DEFAULT = {"stripe_unit": OBJECT_BYTES, "stripe_count": 1, "object_size": OBJECT_BYTES}


def _attribute(path: Path, name: str) -> str:
    try:
        return os.getxattr(path, name).decode()
    except OSError as error:
        if error.errno in (errno.ENODATA, errno.ENOTSUP, errno.EOPNOTSUPP):
            return ""
        raise TailraceError(f"cannot read the layout of {path}: {error.strerror}") from None


def is_ceph(folder: Path) -> bool:
    """Whether `folder` is on CephFS: its folders, and no others, have this attribute."""
    try:
        return bool(os.getxattr(folder, "ceph.dir.entries"))
    except OSError:
        return False


def parse_layout(text: str) -> dict[str, str]:
    """Return "stripe_unit=4194304 stripe_count=1 ..." as a dictionary."""
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def _layout_of_folder(folder: Path) -> tuple[str, str]:
    """Return the layout that new files of a folder get, and who says so."""
    for above in (folder, *folder.parents):
        if not is_ceph(above):
            break
        if text := _attribute(above, "ceph.dir.layout"):
            return text, "" if above == folder else f"folder {above}"
    return " ".join(f"{name}={value}" for name, value in _DEFAULT.items()), "default of Ceph"


def read_layout(path: Path) -> Layout:
    """Return the layout of a file, or the one that new files of a folder get."""
    path = path.resolve()
    is_folder = path.is_dir()
    text, source = (
        _layout_of_folder(path) if is_folder else (_attribute(path, "ceph.file.layout"), "")
    )
    values = parse_layout(text)
    component = Component(
        start=0,
        end=None,
        stripe_count=int(values["stripe_count"]),
        stripe_bytes=int(values["stripe_unit"]),
        pool=values.get("pool", ""),
    )
    extra = {"object size": values["object_size"]}
    return Layout(str(path), "ceph", is_folder, (component,), source, extra)


def count_targets() -> int:
    """Return the number of storage targets that are up, or 0 if the tool `ceph` does not say."""
    done = run_tool("ceph", "osd", "stat", "--format", "json")
    try:
        return int(json.loads(done.stdout)["num_up_osds"]) if done and done.returncode == 0 else 0
    except (ValueError, KeyError):
        return 0


def _value(path: Path, count: int, size: int) -> str:
    """Return a whole layout: what is 0 stays as it is; a stripe must divide an object."""
    now = read_layout(path if path.exists() else path.resolve().parent).components[0]
    unit = size or now.stripe_bytes
    objects = -(-max(OBJECT_BYTES, unit) // unit) * unit
    return f"stripe_unit={unit} stripe_count={count or now.stripe_count} object_size={objects}"


def _name(path: Path) -> str:
    return "ceph.dir.layout" if path.is_dir() else "ceph.file.layout"


def set_command(path: Path, count: int, size: int) -> str:
    """Return the shell command that lays out `path`."""
    where = shlex.quote(str(path))
    set_it = f'setfattr -n {_name(path)} -v "{_value(path, count, size)}" {where}'
    return set_it if path.exists() else f"touch {where} && {set_it}"


def _set_attribute(path: Path, value: str) -> None:
    try:
        os.setxattr(path, _name(path), value.encode())
    except OSError as error:
        raise TailraceError(f'cannot set layout "{value}" of {path}: {error.strerror}') from None


def set_layout(path: Path, count: int, size: int) -> None:
    """Lay out a folder, or a file that does not exist or is empty.

    An empty file may have held data before, and then keeps its layout: it is replaced by a new one.
    """
    value = _value(path, count, size)
    if path.is_dir():
        _set_attribute(path, value)
        return
    if path.exists():
        with replaced(path, f".stripes.{os.getpid()}") as fresh:
            _set_attribute(fresh, value)
        return
    path.touch(exist_ok=False)
    try:
        _set_attribute(path, value)
    except TailraceError:
        path.unlink()
        raise
