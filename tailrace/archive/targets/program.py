# SPDX-License-Identifier: BSD-3-Clause
"""Runs the programs that some targets consist of: without a shell, without input, with one error.

The exit status decides, never the printed text. Both outputs are kept in files, so that a program
that prints a lot or forks a process cannot block.
"""

import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailrace.archive.target import Target
from tailrace.archive.targets.settings import masked

#: So much of what a program printed is shown in a message.
SHOWN_BYTES = 600


@dataclass(frozen=True)
class Outcome:
    """What a program did."""

    status: int
    output: bytes
    message: str


def run(
    target: Target,
    key: str,
    words: Sequence[str],
    *,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
) -> Outcome:
    """Run a program to its end; raise only if it cannot be started or takes too long."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            status = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=environment,
                pass_fds=tuple(pass_fds),
                timeout=timeout_s,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            raise target.fail(key, f"{words[0]} took more than {timeout_s:g} s") from None
        except OSError as error:
            raise target.fail(key, f"{words[0]} cannot be run: {error.strerror}") from error
        except ValueError as error:
            raise target.fail(key, f"{words[0]} cannot take these arguments: {error}") from error
        output.seek(0)
        printed = output.read()
        errors.seek(0)
        said = errors.read()[-1 << 16 :]
    return Outcome(status, printed, explained(words[0], status, said or printed))


def succeed(target: Target, key: str, words: Sequence[str], *, timeout_s: float) -> bytes:
    """Run a program and return what it printed; any exit status but 0 is an error."""
    outcome = run(target, key, words, timeout_s=timeout_s)
    if outcome.status != 0:
        raise target.fail(key, outcome.message)
    return outcome.output


def explained(program: str, status: int, said: bytes) -> str:
    """Return how a program ended and the last lines that it printed, without secrets."""
    ended = f"exit status {status}"
    if status < 0:
        ended = f"killed by {signal.Signals(-status).name}"
    lines = masked(said.decode(errors="replace")).splitlines()
    text = " | ".join(line.strip() for line in lines if line.strip())
    if len(text) > SHOWN_BYTES:
        text = "..." + text[-SHOWN_BYTES:]
    return f"{Path(program).name}: {ended}" + (f": {text}" if text else "")
