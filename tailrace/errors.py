# SPDX-License-Identifier: BSD-3-Clause
"""Errors: those of the command line, which prints their text, and those of the library."""


class TailraceError(Exception):
    """An error of the command; `status` becomes the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


class Error(Exception):
    """An error of the library, raised on all ranks alike.

    Attributes
    ----------
    code
        "invalid_input", "io", "mpi", "corrupt" or "internal".
    errno
        The errno of the failed system call, or None.
    rank, path, step
        The rank, file and step at which it happened; None if unknown.
    """

    code = "internal"
    errno: int | None = None
    rank: int | None = None
    path: str | None = None
    step: int | None = None

    def __str__(self) -> str:
        return str(self.args[-1]) if self.args else ""


class InvalidInput(Error, ValueError):
    """A value that the program gave is wrong; the message says what would be right."""

    code = "invalid_input"


class FileFailure(Error, OSError):
    """A file operation failed; `errno` gives the reason."""

    code = "io"


class CorruptData(Error):
    """Data read back does not match its checksum or its format."""

    code = "corrupt"


class MpiFailure(Error, RuntimeError):
    """An MPI call failed."""

    code = "mpi"


_KINDS = {kind.code: kind for kind in (InvalidInput, FileFailure, CorruptData, MpiFailure)}


def error_of(code: str, errno: int, message: str, rank: int, path: str, step: int) -> Error:
    """Return the exception for an error of the C++ library."""
    error = _KINDS.get(code, Error)(message)
    error.errno = errno or None
    error.rank = rank if rank >= 0 else None
    error.path = path or None
    error.step = step if step >= 0 else None
    return error
