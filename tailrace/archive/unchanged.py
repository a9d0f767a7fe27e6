# SPDX-License-Identifier: BSD-3-Clause
"""Says whether a source is the same as its newest version in the archive."""

import os

from tailrace.archive.attributes import Attributes, read_attributes
from tailrace.archive.checksum import file_checksum
from tailrace.archive.entry import FILE, FOLDER, HARD_LINK, SPARSE, SYMLINK, Entry
from tailrace.archive.index import Found, Index
from tailrace.archive.sources import open_source


def is_archived(index: Index, entry: Entry) -> int | None:  # noqa: PLR0911
    """Return the bundle that has this source as it is; None if it must be archived.

    A file with the same size, times and inode is the same. If only the inode or the time of its
    status differs, as behind a rename or after another hard link was removed, its bytes are hashed.
    """
    found = index.newest(entry.path)
    if found is None:
        return None
    old = found.entry
    if entry.kind == FOLDER:
        same = old.kind == FOLDER and old.mode == entry.mode
        return found.bundle if same and _attributes(entry) == old.xattrs else None
    if entry.kind == SYMLINK:
        return found.bundle if (old.kind, old.link) == (SYMLINK, entry.link) else None
    data = origin(index, found)
    if data is None or old.kind not in (FILE, SPARSE, HARD_LINK):
        return None
    if (data.size, old.mtime_ns, old.mode) != (entry.size, entry.mtime_ns, entry.mode):
        return None
    if (old.ctime_ns, old.ino, old.dev) == (entry.ctime_ns, entry.ino, entry.dev):
        return found.bundle
    if (
        data.kind != FILE
        or _attributes(entry) != data.xattrs
        or _hash(entry, data.algorithm) != (data.file_checksum)
    ):
        return None
    return found.bundle


def _attributes(entry: Entry) -> Attributes | None:
    """Return the attributes of a source; None if they cannot be read."""
    try:
        return read_attributes(entry.path)
    except OSError:
        return None


def origin(index: Index, found: Found) -> Entry | None:
    """Return the member that has the data of a file or hard link."""
    if found.entry.kind != HARD_LINK:
        return found.entry
    last = None  # of several with this name, it is the one that `tar` would link to
    for other in index.find(found.entry.link, below=False, removed=True):
        before = other.bundle == found.bundle and other.entry.header < found.entry.header
        if before and other.entry.kind in (FILE, SPARSE):
            last = other.entry
    return last


def _hash(entry: Entry, algorithm: str) -> str:
    """Return the checksum of a file; empty if it cannot be read or changes meanwhile."""
    try:
        descriptor = open_source(entry.path)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            digest = file_checksum(file, algorithm)
            status = os.fstat(descriptor)
    except OSError:
        return ""
    same = (status.st_size, status.st_mtime_ns) == (entry.size, entry.mtime_ns)
    return digest if same else ""
