# SPDX-License-Identifier: BSD-3-Clause
"""A short program whose lines are read as they come, so that a bar can follow it."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tailrace.errors import TailraceError


@dataclass(frozen=True)
class Captured:
    """What a program has printed, and its exit status."""

    status: int
    lines: list[str]
    errors: str


def one_line(text: str) -> str:
    """Return the last lines of an error as one, cut to what can be read."""
    return " | ".join(line.strip() for line in text.splitlines()[-3:] if line.strip())[:500]


def run_captured(
    command: list[str],
    environment: Mapping[str, str],
    on_line: Callable[[str], None] = lambda _line: None,
) -> Captured:
    """Run `command` with more environment to its end; `on_line` gets each line of its output."""
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                errors="replace",
                env={**os.environ, **environment},
            )
        except OSError as error:
            raise TailraceError(f"{command[0]}: {error.strerror}") from error
        lines = []
        with process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    lines.append(line)
                    on_line(line)
            except BaseException:  # Ctrl-C
                process.terminate()
                raise
        errors.seek(0)
        return Captured(process.returncode, lines, errors.read())
