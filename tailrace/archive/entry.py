# SPDX-License-Identifier: BSD-3-Clause
"""One member of a bundle, as both indexes know it: SQLite's outside, JSON lines inside."""

import json
import os
import tarfile
from dataclasses import dataclass, field
from typing import Any

from tailrace.archive.attributes import Attributes, to_records
from tailrace.archive.checksum import LISTS, SHA256
from tailrace.archive.variable import Variable

#: Kinds of members: file, sparse file, folder, symbolic link, hard link to a member before it.
FILE, SPARSE, FOLDER, SYMLINK, HARD_LINK = "f", "s", "d", "l", "h"

#: The name of a compressed member, and its PAX records: size and checksum of the file.
PACKED_ENDING, PACKED_SIZE, PACKED_SUM = ".zst", "TAILRACE.zstd.size", "TAILRACE.zstd."

_TAR_TYPES = {
    FILE: tarfile.REGTYPE,
    SPARSE: tarfile.REGTYPE,
    FOLDER: tarfile.DIRTYPE,
    SYMLINK: tarfile.SYMTYPE,
    HARD_LINK: tarfile.LNKTYPE,
}
_NOT_AS_THEY_ARE = ("variables", "id", "seen_ns", "checksum", "algorithm")


@dataclass(slots=True)
class Entry:
    """A member: absolute path, attributes, and where it lies in its bundle.

    `header` and `data` are offsets in the bundle; `stored` bytes lie at `data` (of a sparse file
    its map and the parts that are no holes). `checksum` is that of the stored bytes, made with
    `algorithm`, `frame` the CRC-32 of the header and of the padding behind the data. `packed` says
    how these bytes are compressed; then `content` is the checksum of the file itself.
    """

    path: str
    kind: str
    size: int = 0
    mode: int = 0
    uid: int = 0
    gid: int = 0
    owner: str = ""
    group: str = ""
    mtime_ns: int = 0
    ctime_ns: int = 0
    ino: int = 0
    dev: int = 0
    link: str = ""
    header: int = 0
    data: int = 0
    stored: int = 0
    checksum: str = ""
    frame: int = 0
    algorithm: str = SHA256
    xattrs: Attributes = field(default_factory=dict)
    packed: str = ""
    content: str = ""
    variables: list[Variable] = field(default_factory=list)
    id: int = 0  # of the row, in the index outside
    seen_ns: int = 0  # when a source had these times, by the monotonic clock of this process

    @property
    def end(self) -> int:
        """Offset of the byte behind the padding."""
        return self.data + padded(self.stored)

    @property
    def file_checksum(self) -> str:
        """Checksum of the file's bytes; of a sparse file that of what is stored."""
        return self.content or self.checksum

    def to_json(self) -> str:
        """Return the line of the index inside the bundle."""
        row = {
            name: getattr(self, name)
            for name in self.__slots__
            if name not in _NOT_AS_THEY_ARE and getattr(self, name)
        }
        if self.checksum:
            row[self.algorithm] = self.checksum
        if self.variables:
            row["variables"] = [variable.to_json() for variable in self.variables]
        return json.dumps(row, separators=(",", ":"))

    def tar_header(self, sparse_map: bytes = b"") -> bytes:
        """Return the PAX header; `stored` is set, offsets need not be."""
        info = tarfile.TarInfo(self.path.lstrip("/") or ".")
        info.type, info.mode = _TAR_TYPES[self.kind], self.mode & 0o7777
        info.uid, info.gid, info.uname, info.gname = self.uid, self.gid, self.owner, self.group
        info.size, info.mtime = self.stored, max(0, self.mtime_ns // 10**9)
        sign = "-" if self.mtime_ns < 0 else ""
        seconds, rest = divmod(abs(self.mtime_ns), 10**9)
        more: dict[str, str] = to_records(self.xattrs)
        if rest or sign or seconds != info.mtime:
            more["mtime"] = f"{sign}{seconds}.{rest:09d}"
        if self.packed:
            info.name += PACKED_ENDING
            more |= {PACKED_SIZE: str(self.size), PACKED_SUM + self.algorithm: self.content}
        if self.kind == HARD_LINK:
            info.linkname = self.link.lstrip("/")
        elif self.kind == SYMLINK:
            info.linkname = self.link
        elif self.kind == SPARSE:
            folder, name = os.path.split(info.name)
            more |= {
                "GNU.sparse.major": "1",
                "GNU.sparse.minor": "0",
                "GNU.sparse.name": info.name,
                "GNU.sparse.realsize": str(self.size),
            }
            info.name = f"{folder}/GNUSparseFile.0/{name}".lstrip("/")
        info.pax_headers = more
        return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def from_json(line: str | bytes) -> Entry:
    """Return the member that a line of the index inside a bundle describes; ValueError if none."""
    row: dict[str, Any] = json.loads(line)
    variables = [Variable.from_json(each) for each in row.pop("variables", [])]
    for algorithm in LISTS:
        if algorithm in row:
            row["checksum"], row["algorithm"] = row.pop(algorithm), algorithm
    try:
        return Entry(**row, variables=variables)
    except TypeError as error:
        raise ValueError(str(error)) from error


def padded(size: int) -> int:
    """Return `size` rounded up to blocks of tar."""
    return -(-size // 512) * 512
