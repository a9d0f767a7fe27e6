#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""remote_folder.py SOURCE MOUNT: shows SOURCE at MOUNT through this process, as a network file
system shows a folder of its server. A test stops the process, and the file system hangs; while the
file SOURCE.read_only exists, writing fails as on a read-only file system.
"""

import contextlib
import errno
import os
import sys
from pathlib import Path
from typing import Any

import mfusepy

STAT = ("st_mode", "st_ino", "st_nlink", "st_uid", "st_gid", "st_size", "st_blocks")
TIMES = ("st_atime", "st_mtime", "st_ctime")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class RemoteFolder(mfusepy.Operations):  # type: ignore[misc, unused-ignore]
    """Passes each call on to the folder behind it."""

    use_ns = True

    def __init__(self, source: str) -> None:
        self.source = source

    def real(self, path: str) -> str:
        return self.source + path

    def changed(self, path: str) -> str:
        """Return the path of something that the caller is about to change."""
        if os.path.exists(self.source + ".read_only"):  # noqa: PTH110 (called often)
            raise mfusepy.FuseOSError(errno.EROFS)
        return self.real(path)

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        found = os.lstat(self.real(path)) if fh is None else os.fstat(fh)
        times = {name: getattr(found, name + "_ns") for name in TIMES}
        return {name: getattr(found, name) for name in STAT} | times

    def readdir(self, path: str, fh: int) -> list[str]:
        return [".", "..", *os.listdir(self.real(path))]  # noqa: PTH208

    def readlink(self, path: str) -> str:
        return os.readlink(self.real(path))  # noqa: PTH115

    def statfs(self, path: str) -> dict[str, int]:
        found = os.statvfs(self.real(path))
        names = ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_files", "f_frsize", "f_namemax")
        return {name: getattr(found, name) for name in names}

    def open(self, path: str, flags: int) -> int:
        return os.open(self.changed(path) if flags & WRITING else self.real(path), flags)

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        return os.open(self.changed(path), os.O_RDWR | os.O_CREAT, mode)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        self.changed(path)
        return os.pwrite(fh, data, offset)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        os.truncate(self.changed(path), length)
        return 0

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        os.fsync(fh)
        return 0

    def release(self, path: str, fh: int) -> int:
        os.close(fh)
        return 0

    def mkdir(self, path: str, mode: int) -> int:
        os.mkdir(self.changed(path), mode)  # noqa: PTH102
        return 0

    def rmdir(self, path: str) -> int:
        os.rmdir(self.changed(path))  # noqa: PTH106
        return 0

    def unlink(self, path: str) -> int:
        os.unlink(self.changed(path))  # noqa: PTH108
        return 0

    def rename(self, old: str, new: str) -> int:
        os.rename(self.changed(old), self.real(new))  # noqa: PTH104
        return 0

    def link(self, target: str, source: str) -> int:
        os.link(self.real(source), self.changed(target))
        return 0

    def symlink(self, target: str, source: str) -> int:
        os.symlink(source, self.changed(target))  # noqa: PTH211
        return 0

    def chmod(self, path: str, mode: int) -> int:
        os.chmod(self.changed(path), mode)  # noqa: PTH101
        return 0

    def utimens(self, path: str, times: tuple[int, int]) -> int:
        os.utime(self.changed(path), ns=times)
        return 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        mfusepy.FUSE(
            RemoteFolder(str(Path(sys.argv[1]).resolve())), sys.argv[2], foreground=True,
            allow_other=True, default_permissions=True, entry_timeout=0, attr_timeout=0,
        )  # fmt: skip
