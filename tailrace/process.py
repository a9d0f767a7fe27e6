# SPDX-License-Identifier: BSD-3-Clause
"""Runs a parallel program under its launcher: output to a display, signals to the ranks.

A SIGTERM or SIGINT that reaches us goes straight to the ranks of this node, since mpirun itself
would kill them a second later; they write their last checkpoint and end together. The launcher
gets it only if no rank is seen here (ranks on other nodes), or at the second signal.
"""

import os
import signal
import subprocess
import threading
from pathlib import Path
from types import FrameType

from tailrace.errors import TailraceError
from tailrace.launcher import Launch
from tailrace.progress import Display, parse
from tailrace.stderr_filter import without_noise


def descendants(pid: int) -> list[int]:
    """Return the processes below `pid` on this node (none where there is no /proc)."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = [int(word) for word in (task / "children").read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found


def _runs(pid: int, program: Path) -> bool:
    """Tell whether process `pid` is `program` (or its interpreter, if it is a script)."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return False
    return str(program) in words[:2]


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


class Running:
    """A program under its launcher."""

    def __init__(self, launch: Launch, program: Path, arguments: list[str]) -> None:
        self._program = program
        self._signals = 0
        self._launch = launch
        environment = {**os.environ, **launch.environment}
        command = [*launch.prefix, str(program), *arguments]
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise TailraceError(f"{command[0]}: {error.strerror}") from error

    def forward(self, number: int, _frame: FrameType | None = None) -> None:
        """Pass a signal on: to the ranks here the first time, to the launcher the second."""
        self._signals += 1
        pids = [p for p in descendants(self.process.pid) if _runs(p, self._program)]
        if not self._launch.prefix:
            pids = [self.process.pid]
        if self._signals > 1 or not pids or self._launch.kind == "srun":
            _send(self.process.pid, signal.SIGTERM if self._signals == 1 else number)
            return
        for pid in pids:
            _send(pid, signal.SIGTERM)

    def follow(self, display: Display) -> int:
        """Show what the program prints until it ends; return its exit status."""
        assert self.process.stdout is not None
        errors = threading.Thread(target=self._pass_errors_on, args=(display,), daemon=True)
        errors.start()
        for line in self.process.stdout:
            status = parse(line)
            if status is None:
                display.text(line)
            else:
                display.show(status)
        code = self.process.wait()
        errors.join(timeout=5)
        return 128 - code if code < 0 else code

    def _pass_errors_on(self, display: Display) -> None:
        assert self.process.stderr is not None
        for line in without_noise(self.process.stderr):
            display.error(line)


def run_program(launch: Launch, program: Path, arguments: list[str], display: Display) -> int:
    """Run `program` and return its exit status; signals are forwarded while it runs."""
    running = Running(launch, program, arguments)
    kept = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            kept[number] = signal.signal(number, running.forward)
    try:
        return running.follow(display)
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
        display.close()
