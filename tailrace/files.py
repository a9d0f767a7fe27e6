# SPDX-License-Identifier: BSD-3-Clause
"""Files that the command writes: whole or not at all, and an error that says what to do."""

import contextlib
import errno
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError

_ACCESS_LIST = "system.posix_acl_access"
_NO_FILE = "it is a device or a pipe; only regular files are replaced"
TICK_NS = 20_000_000  # more than the ticks of kernels, 1 to 10 ms
#: More than the tick of file systems that keep whole seconds, such as those of Lustre.
WHOLE_TICK_NS = 1_020_000_000
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")


def time_of_files(folder: Path) -> float:
    """Return the time that a file gets which is written into a folder now.

    It comes from the clock of the folder's file server, which may differ from that of this node.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"0")
            file.flush()
            return os.fstat(file.fileno()).st_mtime
    except OSError:  # nobody here writes into this folder
        return time.time()


def tick_ns(time_ns: int) -> int:
    """Return by how much the time of a file may lie before the write that it stands for."""
    return TICK_NS if time_ns % 1_000_000_000 else WHOLE_TICK_NS


def require_writable(path: Path, option: str) -> None:
    """Complain about a file that cannot be written, before hours are spent on its content."""
    if path.is_dir():
        raise TailraceError(f"{path}: is a folder; name a file with {option}", status=2)
    _require_file(path, option)
    if not path.parent.is_dir():
        raise TailraceError(f"{path}: no folder {path.parent} ({option} names the file)", status=2)
    if not os.access(path.parent, os.W_OK):
        raise TailraceError(f"{path}: cannot write there; give another path with {option}")


def require_place(path: Path, option: str) -> None:
    """Complain about a file whose folder can neither be written to nor made."""
    if path.is_dir():
        raise TailraceError(f"{option} {path}: is a folder; name a file", status=2)
    _require_file(path, option)
    require_folder(path.parent, option)


def _require_file(path: Path, option: str) -> None:
    if path.exists() and not path.is_file():
        raise TailraceError(f"{option} {path}: {_NO_FILE}", status=2)


def require_folder(folder: Path, option: str) -> None:
    """Make a folder, and complain if no file can be created in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise TailraceError(
            f"{option}: no file can be created in {folder} ({error.strerror}); name another folder"
        ) from error


def require_picture(path: Path, option: str = "--picture") -> None:
    """Complain about the name of a picture, before its figures are measured."""
    if path.suffix not in PICTURES:
        raise TailraceError(
            f"{option} {path}: expected a name that ends in one of {', '.join(PICTURES)}", status=2
        )
    if path.is_dir():
        raise TailraceError(f"{option} {path}: is a folder; name a file", status=2)


@contextlib.contextmanager
def replaced(path: Path, suffix: str = ".partial", made: bool = True) -> Iterator[Path]:
    """Give the name of a new file, which takes the place of `path` when the block ends well.

    As `core/replaced.hpp` does it: symbolic links are followed, the new file has the owner, group,
    mode and access control list of the old one, and a device or a pipe is refused. `made`: the new
    file exists when the block starts; else the block makes it.
    """
    target = Path(os.path.realpath(path))
    try:
        old = path.stat()
    except FileNotFoundError:
        old = None
    if old and stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if old and not stat.S_ISREG(old.st_mode):
        raise FileExistsError(errno.EEXIST, _NO_FILE)
    fresh = target.with_name(target.name + suffix)
    if made:
        _make_file(fresh, 0o600 if old else 0o666)
    try:
        yield fresh
        if old:
            _give_access(fresh, target, old)
        fresh.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise


def _make_file(path: Path, mode: int) -> None:
    """Make an empty file for others to open by name; not through a link, nor into a pipe."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, mode)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileExistsError(errno.EEXIST, _NO_FILE)
        os.fchmod(descriptor, mode & os.fstat(descriptor).st_mode)  # one left over may have more
    finally:
        os.close(descriptor)


def _give_access(fresh: Path, target: Path, old: os.stat_result) -> None:
    mode = stat.S_IMODE(old.st_mode) & 0o777
    now = fresh.stat()
    if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.chown(fresh, old.st_uid, old.st_gid)
        except OSError:  # the owner stays, where the system does not let us change it
            with contextlib.suppress(OSError):
                os.chown(fresh, -1, old.st_gid)
    try:
        access_list = os.getxattr(target, _ACCESS_LIST)
    except OSError:  # it has none, or the file system knows none
        access_list = b""
    has_group = fresh.stat().st_gid == old.st_gid
    try:
        if access_list and has_group:
            os.setxattr(fresh, _ACCESS_LIST, access_list)
        else:  # its folder may have given it one
            with contextlib.suppress(OSError):
                os.removexattr(fresh, _ACCESS_LIST)
    except OSError:
        has_group = False
    if not has_group:  # another group gets no more rights than all others have
        mode &= ~0o070 | (mode & 0o007) << 3
    fresh.chmod(mode)


def write_whole(path: Path, text: str) -> None:
    """Write a text file; it appears whole or not at all."""
    try:
        with replaced(path) as fresh:
            fresh.write_text(text)
    except OSError as error:
        raise TailraceError(f"{path}: {error.strerror}") from error


def save_figure(figure: Any, path: Path) -> None:
    """Save a matplotlib figure; its name, seen by `require_picture`, says the kind."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise TailraceError(f"--picture {path}: {error.strerror}") from error
