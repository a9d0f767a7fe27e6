# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C and SIGTERM: an end without a traceback, and without ranks that go on."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def restore(number: int, handler: Any) -> None:
    """Set a handler as it was; None is one of a library that is preloaded, which Python lost."""
    signal.signal(number, handler or signal.SIG_DFL)


@contextmanager
def ended_by_interrupts() -> Iterator[None]:
    """Let Ctrl-C end the process at once and silently, as it ends one without Python.

    For imports and other work that leaves nothing behind: an exception in the middle of NumPy's
    import, say, is printed by its C code. SIGINT stays ignored where it was (a job of `nohup`).
    """
    kept = signal.getsignal(signal.SIGINT)
    if kept is signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        restore(signal.SIGINT, kept)


@contextmanager
def raising_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt and SIGTERM SystemExit, so that a command can clean up.

    What it has started by `subprocess.run` then ends with it, ranks of a bench among them.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    kept = signal.getsignal(signal.SIGINT)
    if kept is signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        restore(signal.SIGINT, kept)
