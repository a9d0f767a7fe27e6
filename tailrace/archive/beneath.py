# SPDX-License-Identifier: BSD-3-Clause
"""Makes files beneath one folder, and never outside of it.

Each component of a name is opened beneath the one before, following no symbolic link, so that
neither ``..`` nor a link that lies there leads elsewhere.
"""

import contextlib
import fcntl
import os
import stat
from pathlib import Path

from tailrace.archive.attributes import set_attributes
from tailrace.archive.entry import Entry
from tailrace.errors import TailraceError

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Beneath:
    """The folder `root` (links in its own path are followed); a context.

    `make`: it and folders below it are made where they are absent.
    """

    def __init__(self, root: Path, make: bool = True) -> None:
        self.root, self._make = root, make
        if make:
            root.mkdir(parents=True, exist_ok=True)
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._last: tuple[str, ...] | None = None
        self._descriptor = -1

    def __enter__(self) -> "Beneath":
        return self

    def __exit__(self, *_error: object) -> None:
        self._drop()
        os.close(self._root)

    def _drop(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._last = -1, None

    def folder_of(self, name: str) -> tuple[int, str]:
        """Return a descriptor of the folder of a relative name, made if absent, and the last part.

        The descriptor is valid until the next call.
        """
        parts = name.split("/")
        if not name or any(part in ("", ".", "..") for part in parts):
            raise TailraceError(f"{name!r} is not a path below {self.root}")
        folders = tuple(parts[:-1])
        if folders != self._last:
            self._drop()
            self._descriptor = self._open(folders)
            self._last = folders
        return self._descriptor, parts[-1]

    def _open(self, folders: tuple[str, ...]) -> int:
        at = os.dup(self._root)
        for i, part in enumerate(folders):
            try:
                below = self._step(at, part)
            except OSError as error:
                if isinstance(error, FileNotFoundError) and not self._make:
                    raise
                where = self.root / "/".join(folders[: i + 1])
                raise TailraceError(f"{where} is not a folder (links are not followed)") from error
            finally:
                os.close(at)
            at = below
        return at

    def _step(self, at: int, part: str) -> int:
        """Return a descriptor of a folder below an open one."""
        try:
            return os.open(part, _FOLDER_FLAGS, dir_fd=at)
        except FileNotFoundError:
            if not self._make:
                raise
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o777, dir_fd=at)
            return os.open(part, _FOLDER_FLAGS, dir_fd=at)

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of what has a name; None if nothing has it."""
        try:
            folder, last = self.folder_of(name)
            return os.stat(last, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def create(self, name: str, temporary: str) -> int:
        """Return a descriptor of a new file `temporary` in the folder of `name`.

        It is locked, so that another restore neither removes it nor takes it for its own. One that
        a killed restore has left is replaced.
        """
        folder, _ = self.folder_of(name)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._remove_left(folder, temporary)
        descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            _lock(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _remove_left(self, folder: int, temporary: str) -> None:
        try:
            descriptor = os.open(temporary, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except FileNotFoundError:
            return
        try:
            _lock(descriptor)
            os.unlink(temporary, dir_fd=folder)
        finally:
            os.close(descriptor)

    def drop(self, name: str, temporary: str) -> None:
        """Remove the file that `create` made."""
        folder, _ = self.folder_of(name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)

    def publish(self, name: str, temporary: str, replace: bool) -> None:
        """Give a file that `create` made its name."""
        folder, last = self.folder_of(name)
        if not replace:
            try:
                os.link(
                    temporary, last, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False
                )
                os.unlink(temporary, dir_fd=folder)
                return
            except FileExistsError:
                raise
            except OSError:  # no hard links here
                if self.status(name) is not None:
                    raise FileExistsError from None
        os.rename(temporary, last, src_dir_fd=folder, dst_dir_fd=folder)

    def make_folder(self, name: str) -> None:
        """Make a folder."""
        folder, last = self.folder_of(name)
        try:
            os.mkdir(last, 0o700, dir_fd=folder)
        except FileExistsError:
            status = self.status(name)
            if status is None or not stat.S_ISDIR(status.st_mode):
                raise

    def make_link(self, name: str, to: str) -> None:
        """Make a symbolic link."""
        folder, last = self.folder_of(name)
        os.symlink(to, last, dir_fd=folder)

    def make_hard_link(self, name: str, to: str) -> None:
        """Make a hard link to another file beneath the folder."""
        folder, last = self.folder_of(to)
        source = os.dup(folder)
        try:
            folder, new = self.folder_of(name)
            os.link(last, new, src_dir_fd=source, dst_dir_fd=folder, follow_symlinks=False)
        finally:
            os.close(source)

    def open_to_read(self, name: str) -> int:
        """Return a descriptor of a file."""
        folder, last = self.folder_of(name)
        return os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)

    def set_folder(self, name: str, entry: Entry) -> list[str]:
        """Do as `set_status` for a folder."""
        folder, last = self.folder_of(name)
        descriptor = os.open(last, _FOLDER_FLAGS, dir_fd=folder)
        try:
            return set_status(descriptor, entry)
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise TailraceError("is being restored by another process") from None
    except OSError:  # no such locks on this file system
        return


def give_access(descriptor: int, entry: Entry, bits: int) -> None:
    """Set mode, group and, for root, owner; `bits`: those of the mode that may be set.

    A file that cannot have its group gives the present one no more than it gives all others.
    """
    mode, now = entry.mode & bits, os.fstat(descriptor)
    has_group = True
    if os.geteuid() == 0:
        os.fchown(descriptor, entry.uid, entry.gid)
    else:
        if now.st_gid != entry.gid:
            try:
                os.fchown(descriptor, -1, entry.gid)
            except OSError:
                has_group = False
        if entry.uid != os.geteuid():
            mode &= 0o1777  # a file of another user keeps no set-user-id
    if not has_group:
        mode &= ~0o2070 | (mode & 0o007) << 3
    os.fchmod(descriptor, mode)


def set_status(descriptor: int, entry: Entry) -> list[str]:
    """Set mode, time, attributes and, for root, owner of an open file or folder.

    Returns attributes that could not be set, and why.
    """
    give_access(descriptor, entry, 0o7777)
    problems = set_attributes(descriptor, entry.xattrs) if entry.xattrs else []
    os.utime(descriptor, ns=(entry.mtime_ns, entry.mtime_ns))
    return problems
