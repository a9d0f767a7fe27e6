# SPDX-License-Identifier: BSD-3-Clause
"""Walks the files that shall be archived, in the order of a run: numbers in names count as numbers.

Symbolic links are members and are not followed. Memory: the names of one folder and of its parents,
and one entry for each file with more than one hard link.
"""

import contextlib
import grp
import os
import pwd
import re
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from tailrace.archive.entry import FILE, FOLDER, HARD_LINK, SPARSE, SYMLINK, Entry

AHEAD_BYTES, AHEAD_FILES = 16 << 20, 64  # that the system reads before they are packed

#: Takes a path and the reason why it is left out.
Report = Callable[[str, str], None]


def walk(top: str, report: Report, folders_last: bool = False) -> Iterator[Entry]:
    """Yield an entry for an absolute path and all below it; folders before or after their files."""
    try:
        entry = _entry(top, os.lstat(top))
    except OSError as error:
        report(top, error.strerror or str(error))
        return
    if entry is None:
        report(top, "is not a file, folder or link")
        return
    if entry.kind != FOLDER or not folders_last:
        yield entry
    if entry.kind != FOLDER:
        return
    try:
        names = sorted(os.listdir(top), key=_natural)  # noqa: PTH208
    except OSError as error:
        report(top, error.strerror or str(error))
        names = []
    names.reverse()
    while names:
        yield from walk(f"{top.rstrip('/')}/{names.pop()}", report, folders_last)
    if folders_last:
        yield entry


def _natural(name: str) -> str:
    return re.sub(r"[0-9]+", lambda digits: digits[0].zfill(18), name)


@lru_cache(4096)
def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""


@lru_cache(4096)
def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return ""


def _entry(path: str, status: os.stat_result) -> Entry | None:
    kinds = {stat.S_IFREG: FILE, stat.S_IFDIR: FOLDER, stat.S_IFLNK: SYMLINK}
    kind = kinds.get(stat.S_IFMT(status.st_mode))
    if kind is None:
        return None
    entry = Entry(path, kind, status.st_size if kind == FILE else 0, stat.S_IMODE(status.st_mode))
    set_status(entry, status)
    if kind == SYMLINK:
        entry.link = os.readlink(path)  # noqa: PTH115
    return entry


def set_status(entry: Entry, status: os.stat_result) -> None:
    """Set owner, times, inode and of a file its size."""
    entry.mode = stat.S_IMODE(status.st_mode)
    entry.uid, entry.gid = status.st_uid, status.st_gid
    entry.owner, entry.group = _user(status.st_uid), _group(status.st_gid)
    entry.mtime_ns, entry.ctime_ns = status.st_mtime_ns, status.st_ctime_ns
    entry.ino, entry.dev = status.st_ino, status.st_dev
    if entry.kind in (FILE, SPARSE):
        entry.size = status.st_size


class Links:
    """Remembers the first name of each file with several hard links, within one bundle.

    A file that was written between two of its names is a member for each of them.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[int, int], tuple[str, int, int, int]] = {}

    def resolve(self, entry: Entry, num_links: int) -> bool:
        """Make `entry` a hard link if its file is a member already; say whether it became one."""
        if num_links < 2:
            return False
        now = (entry.path, entry.size, entry.mtime_ns, entry.ctime_ns)
        first = self._first.get((entry.dev, entry.ino))
        if first is None or first[0] == now[0] or first[1:] != now[1:]:
            self._first[entry.dev, entry.ino] = now
            return False
        entry.kind, entry.link, entry.size = HARD_LINK, first[0], 0
        return True

    def forget(self, entry: Entry) -> None:
        """Forget a file that did not become a member."""
        first = self._first.get((entry.dev, entry.ino))
        if first is not None and first[0] == entry.path:
            del self._first[entry.dev, entry.ino]


def open_source(path: str) -> int:
    """Return a descriptor of a file, without following a link and without touching its time."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        return os.open(path, flags | os.O_NOATIME)
    except PermissionError:
        return os.open(path, flags)


def ahead(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the same entries, and have the system read the files that come next meanwhile."""
    coming: deque[Entry] = deque()
    total = 0
    for entry in entries:
        if entry.kind == FILE and entry.size > 0:
            _will_need(entry)
        coming.append(entry)
        total += min(entry.size, AHEAD_BYTES)
        while total > AHEAD_BYTES or len(coming) > AHEAD_FILES:
            first = coming.popleft()
            total -= min(first.size, AHEAD_BYTES)
            yield first
    yield from coming


def _will_need(entry: Entry) -> None:
    with contextlib.suppress(OSError):  # who opens it later reports what is wrong
        descriptor = open_source(entry.path)
        try:
            os.posix_fadvise(descriptor, 0, min(entry.size, AHEAD_BYTES), os.POSIX_FADV_WILLNEED)
        finally:
            os.close(descriptor)


def absolute(path: Path | str) -> str:
    """Return an absolute path without ``.`` and ``..``; a link at its end stays a link."""
    return os.path.abspath(path)  # noqa: PTH100
