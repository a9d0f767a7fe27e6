# SPDX-License-Identifier: BSD-3-Clause
"""A folder of another file system, such as a mount of a disk archive.

An object is written under the name ``.KEY.partial``, flushed to the disk and renamed, so that no
file with a bundle's name is ever incomplete. What is compared is read from
the disk: by O_DIRECT, or where a file system has none after pages of the system's cache were
dropped (`posix_fadvise`; the system may keep pages regardless).
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailrace.archive.stream import PAGE_BYTES
from tailrace.archive.target import KEY, Target

COPY_BYTES = 8 << 20
LARGE_BYTES = 1 << 20
MARKER = ".tailrace-archive"


class Directory(Target):
    """The settings are ``path``: the folder, which is made if its parent folder exists."""

    kind = "directory"

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        super().__init__(name)
        unknown = ", ".join(sorted(set(settings) - {"path"}))
        if unknown or not isinstance(settings.get("path"), str):
            raise self.fail("", f"unknown setting {unknown}" if unknown else "path is missing")
        self.path = Path(settings["path"]).expanduser()

    def _file(self, key: str) -> Path:
        if not KEY.fullmatch(key):
            raise self.fail(key, "is no valid key")
        return self.path / key

    def prepare(self) -> None:
        try:
            self.path.mkdir(exist_ok=True)
            (self.path / MARKER).touch()
        except OSError as error:
            raise self.fail("", error) from error

    def _require_marker(self, key: str) -> None:
        """Raise an error where the folder is not the one that was prepared.

        A file system that is not mounted leaves an empty folder, which must not be taken for lost
        objects, nor get new ones.
        """
        if (self.path / MARKER).exists() or any(self.path.glob("*.tar")):
            return
        raise self.fail(key, f"{self.path} has no {MARKER}; is its file system mounted?")

    def put(self, key: str, source: Path) -> None:
        file = self._file(key)
        partial = self.path / f".{key}.partial"
        self._require_marker(key)
        try:
            if source != partial:
                # The file is private: the folder's owner decides who else may read it.
                descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                with source.open("rb") as read, os.fdopen(descriptor, "wb", buffering=0) as written:
                    _copy(read.fileno(), written.fileno())
                    os.fsync(written.fileno())
            # A link fails where the key exists; a rename would replace the object.
            os.link(partial, file)
            partial.unlink()
            _sync_folder(self.path)
        except OSError as error:
            if source != partial:
                partial.unlink(missing_ok=True)
            raise self.fail(key, error) from error

    def building_place(self, key: str) -> Path | None:
        self._require_marker(key)
        return self._file(key).with_name(f".{key}.partial")

    def keeps_built(self) -> bool:
        return True

    def local(self, key: str) -> Path | None:
        return self._file(key)

    def get(self, key: str, to: Path) -> None:
        try:
            with self._file(key).open("rb") as read, to.open("wb", buffering=0) as written:
                _drop_pages(read.fileno())
                _copy(read.fileno(), written.fileno())
        except OSError as error:
            raise self.fail(key, error) from error

    def read(self, key: str, offset: int, length: int) -> bytes:
        try:
            descriptor = os.open(self._file(key), os.O_RDONLY)
            try:
                _drop_pages(descriptor, offset, length)
                return _read_fully(descriptor, offset, length)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self.fail(key, error) from error

    def read_into(self, key: str, offset: int, block: memoryview, cached: bool = True) -> int:
        try:
            if not cached:
                return read_uncached(self._file(key), offset, block)
            return _read_large(self._file(key), offset, block)
        except OSError as error:
            raise self.fail(key, error) from error

    def size(self, key: str) -> int | None:
        try:
            return self._file(key).stat().st_size
        except FileNotFoundError:
            self._require_marker(key)
            return None
        except OSError as error:
            raise self.fail(key, error) from error

    def keys(self) -> Iterator[str]:
        found = False
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    if KEY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                        found = True
                        yield entry.name
        except FileNotFoundError:
            raise self.fail("", f"no folder {self.path}; is its file system mounted?") from None
        except OSError as error:
            raise self.fail("", error) from error
        if not found:
            self._require_marker("")

    def delete(self, key: str) -> None:
        try:
            self._file(key).unlink()
        except FileNotFoundError:
            self._require_marker(key)
        except OSError as error:
            raise self.fail(key, error) from error

    def free_bytes(self) -> int | None:
        folder = self.path if self.path.is_dir() else self.path.parent
        try:
            return shutil.disk_usage(folder).free
        except OSError as error:
            raise self.fail("", error) from error


def _copy(source: int, to: int) -> None:
    """Copy to the end of the file, with copy_file_range where the system can."""
    try:
        while os.copy_file_range(source, to, 1 << 30) > 0:
            pass
        return
    except OSError:
        at = os.lseek(to, 0, os.SEEK_CUR)
        os.lseek(source, at, os.SEEK_SET)
    while block := os.read(source, COPY_BYTES):
        view = memoryview(block)
        while view:
            view = view[os.write(to, view) :]


def _read_fully(descriptor: int, offset: int, length: int) -> bytes:
    blocks = []
    while length > 0 and (block := os.pread(descriptor, length, offset)):
        blocks.append(block)
        offset, length = offset + len(block), length - len(block)
    return b"".join(blocks)


def read_uncached(file: Path | str, offset: int, block: memoryview, direct: bool = True) -> int:
    """Fill a block with bytes from the disk, not from the system's cache.

    Without `direct`, and where the file system has no such reads, the pages are dropped from the
    cache before. A direct read would keep others from writing to the cached file meanwhile.
    """
    if direct:
        with contextlib.suppress(_NotAligned):
            return _fill(file, os.O_DIRECT, offset, block)
    return _fill(file, 0, offset, block, drop=True)


def _read_large(file: Path, offset: int, block: memoryview) -> int:
    """Fill a block; a large one that is not in the system's cache does not get into it.

    A restore reads each byte once: pages in the cache would cost time and displace others.
    """
    if len(block) >= LARGE_BYTES and not _is_in_cache(file, offset):
        with contextlib.suppress(_NotAligned):
            return _fill(file, os.O_DIRECT, offset, block)
    return _fill(file, 0, offset, block)


def _is_in_cache(file: Path, offset: int) -> bool:
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.preadv(descriptor, [bytearray(1)], offset, os.RWF_NOWAIT)
    except BlockingIOError:
        return False
    except OSError:  # the file system cannot say
        return True
    finally:
        os.close(descriptor)
    return True


class _NotAligned(Exception):
    """The file system has no reads that bypass the cache, or not for this offset or memory."""


def _fill(file: Path | str, flags: int, offset: int, block: memoryview, drop: bool = False) -> int:
    descriptor, done = -1, 0
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | flags)
        if drop:
            _drop_pages(descriptor, offset, len(block))
        while done < len(block):
            length = os.preadv(descriptor, [block[done:]], offset + done)
            if length == 0:
                break
            done += length
            if length % PAGE_BYTES and flags:  # the end of the file
                break
    except OSError as error:
        if flags and error.errno in (errno.EINVAL, errno.EOPNOTSUPP):
            raise _NotAligned from error
        raise
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    return done


def _drop_pages(descriptor: int, offset: int = 0, length: int = 0) -> None:
    """Drop the pages of a range from the system's cache; without a length all that follow.

    Only whole pages are dropped, so the range is made larger.
    """
    start = offset // PAGE_BYTES * PAGE_BYTES
    end = -(-(offset + length) // PAGE_BYTES) * PAGE_BYTES if length else start
    os.posix_fadvise(descriptor, start, end - start, os.POSIX_FADV_DONTNEED)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
