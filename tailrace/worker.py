# SPDX-License-Identifier: BSD-3-Clause
"""The Python side of stage "python": a process beside an I/O server that runs a user's function.

The server starts ``python -m tailrace.worker FILE FUNCTION`` with a socket as file descriptor 3. A
message is its length (8 bytes, this machine's order) and so much text; with each request comes a
file descriptor of memory that both processes share, which holds the arrays.
"""

from __future__ import annotations

import ctypes
import dataclasses
import importlib.util
import mmap
import os
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_SOCKET = 3
_TRACEBACK_LINES = 6
_PR_SET_PDEATHSIG = 1


@dataclasses.dataclass(frozen=True)
class Part:
    """A box of a variable on this server.

    Attributes
    ----------
    name
        Name of the variable.
    data
        Values of the variable. Changes to them change what the product writes. Valid only during
        the call.
    start
        Global index of the box's first item.
    extents
        Extents of the whole variable.
    """

    name: str
    data: npt.NDArray[Any]
    start: tuple[int, ...]
    extents: tuple[int, ...]


Function = Callable[[int, list[Part]], Mapping[str, float] | None]


def load_function(file: str, name: str) -> Function:
    """Function ``name`` of the Python file ``file``."""
    path = Path(file).resolve()
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file (its name must end in .py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if callable(value) and key[0] != "_"]
        raise AttributeError(f"{file} has no function {name}; it has {', '.join(known) or 'none'}")
    return function  # type: ignore[no-any-return]


def parse_request(text: str, memory: mmap.mmap) -> tuple[int, list[Part]]:
    """Step and parts of a request: "step N"; a line "offset dtype axes numbers... name" a part.

    The numbers are the box's start, its extents and the variable's extents, one for each axis.
    """
    first, *lines = text.splitlines()
    parts = []
    for line in lines:
        offset, dtype, axes_text, rest = line.split(" ", 3)
        axes = int(axes_text)
        *numbers_text, name = rest.split(" ", 3 * axes)
        numbers = [int(number) for number in numbers_text]
        shape = tuple(numbers[axes : 2 * axes])
        data = np.ndarray(shape, dtype=dtype, buffer=memory, offset=int(offset))
        parts.append(Part(name, data, tuple(numbers[:axes]), tuple(numbers[2 * axes :])))
    return int(first.removeprefix("step ")), parts


def reply_text(result: Mapping[str, float] | None) -> str:
    """ "ok" and a line "value name" for each scalar."""
    if result is None:
        return "ok"
    if not isinstance(result, Mapping):
        raise TypeError(f"it must return None or a dict of numbers, not {type(result).__name__}")
    lines = ["ok"]
    for name, value in result.items():
        if not isinstance(name, str) or not name or "\n" in name:
            raise TypeError(f"{name!r} cannot name a column")
        lines.append(f"{float(value)!r} {name}")
    return "\n".join(lines)


def error_text() -> str:
    """ "error" and the last lines of the traceback of what is being handled."""
    lines = traceback.format_exc().strip().splitlines()
    return "\n".join(["error", *lines[-_TRACEBACK_LINES:]])


def send(connection: socket.socket, text: str) -> None:
    """Sends one message."""
    data = text.encode()
    connection.sendall(struct.pack("=q", len(data)) + data)


def receive(connection: socket.socket) -> tuple[str, int] | None:
    """The next message and the file descriptor that comes with it, or None at the end."""
    head, descriptors, _, _ = socket.recv_fds(connection, 8, 1)
    while 0 < len(head) < 8:
        more = connection.recv(8 - len(head))
        if not more:
            return None
        head += more
    if not head or not descriptors:
        return None
    (length,) = struct.unpack("=q", head)
    data = bytearray()
    while len(data) < length:
        piece = connection.recv(min(length - len(data), 1 << 20))
        if not piece:
            return None
        data += piece
    return data.decode(), descriptors[0]


def answer(function: Function, text: str, descriptor: int) -> str:
    """Runs ``function`` for one request."""
    try:
        memory = mmap.mmap(descriptor, 0)
    finally:
        os.close(descriptor)
    try:
        return reply_text(function(*parse_request(text, memory)))
    except Exception:
        return error_text()


def die_with_parent() -> None:
    """Lets the kernel end this process when the server ends, however it ends."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def main() -> None:
    """Serves requests until the server closes the socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    with socket.socket(fileno=_SOCKET) as connection:
        try:
            function = load_function(sys.argv[1], sys.argv[2])
        except Exception:
            send(connection, error_text())
            return
        send(connection, "ok")
        while (request := receive(connection)) is not None:
            send(connection, answer(function, *request))


if __name__ == "__main__":
    main()
