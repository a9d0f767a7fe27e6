# SPDX-License-Identifier: BSD-3-Clause
"""One writer at a time: a lock file next to the index.

It is locked with fcntl, which NFS and Lustre pass on to other nodes. Such a lock ends with its
process and never expires. Where the file system has no such locks, the file is made exclusively;
its text then says which process of which node has it.
"""

import errno
import fcntl
import os
import socket
import time
from pathlib import Path
from types import TracebackType

from tailrace.errors import TailraceError

#: What fcntl answers on file systems without locks (DVS: 524).
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, 524}
FIRST_WAIT_S, LONGEST_WAIT_S = 0.05, 2.0


class Lock:
    """The right to change the archive; a context.

    `wait_s`: how long another process is waited for.
    """

    def __init__(self, path: Path, wait_s: float) -> None:
        self._path, self._wait_s = path, wait_s
        self._descriptor = -1
        self._exclusive: Path | None = None

    def __enter__(self) -> "Lock":
        self._path.parent.mkdir(parents=True, exist_ok=True)
        start_s, pause_s = time.monotonic(), FIRST_WAIT_S
        while not self._try():
            if time.monotonic() - start_s >= self._wait_s:
                raise TailraceError(f"{self._path}: the archive is in use by {self._holder()}")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_WAIT_S)
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._exclusive is not None:
            self._exclusive.unlink(missing_ok=True)
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._exclusive = -1, None

    def require(self) -> None:
        """Raise an error if the lock file was removed or replaced meanwhile."""
        try:
            now, kept = (self._exclusive or self._path).stat(), os.fstat(self._descriptor)
        except FileNotFoundError:
            now, kept = None, None
        if now is None or kept is None or (now.st_dev, now.st_ino) != (kept.st_dev, kept.st_ino):
            raise TailraceError(
                f"{self._path}: the lock was removed while this process had it; nothing was changed"
            )

    def _try(self) -> bool:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            return self._try_exclusive() if error.errno in _NO_LOCKS else False
        self._descriptor = descriptor
        self._sign(descriptor)
        return True

    def _try_exclusive(self) -> bool:
        path = self._path.with_name(self._path.name + ".held")
        try:
            self._descriptor = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
            )
        except FileExistsError:
            if not self._is_dead(path):
                return False
            path.unlink(missing_ok=True)
            return False
        self._exclusive = path
        self._sign(self._descriptor)
        return True

    @staticmethod
    def _sign(descriptor: int) -> None:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{socket.gethostname()} {os.getpid()}\n".encode(), 0)

    @staticmethod
    def _is_dead(path: Path) -> bool:
        """Say whether the holder was a process of this node that has ended."""
        try:
            host, pid = path.read_text().split()
            if host != socket.gethostname():
                return False
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return True
        except (OSError, ValueError):
            pass
        return False

    def _holder(self) -> str:
        for path in (self._path.with_name(self._path.name + ".held"), self._path):
            try:
                host, pid = path.read_text().split()
            except (OSError, ValueError):
                continue
            return f"process {pid} on {host}"
        return "another process"
