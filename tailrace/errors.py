# SPDX-License-Identifier: BSD-3-Clause
"""Errors that the user can mend: the command line prints their text and nothing else."""


class TailraceError(Exception):
    """Something is wrong outside the program; `status` becomes the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status
