# SPDX-License-Identifier: BSD-3-Clause
"""Runs a parallel program under its launcher: output to a display, signals to the ranks.

A SIGTERM, SIGINT or SIGHUP that reaches us goes straight to the ranks of this node, or by scancel
to those of a step of Slurm, since mpirun and srun themselves would kill them within a second; they
write their last checkpoint and end together. The launcher gets it only if no rank is reached so, or
at the second signal.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from tailrace.errors import TailraceError
from tailrace.launch.interrupts import restore
from tailrace.launch.launcher import Launch
from tailrace.launch.slurm import signal_step
from tailrace.launch.stderr_filter import without_noise
from tailrace.progress import Display, parse, write_error

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


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
    """A program under its launcher. Signals that come before it runs are kept for it."""

    def __init__(self, launch: Launch, program: Path) -> None:
        self.signals: list[int] = []
        self._program = program
        self._launch = launch
        self._process: subprocess.Popen[str] | None = None
        self._display_broken = False

    def start(self, arguments: list[str]) -> None:
        """Start the ranks, unless a signal has come before."""
        command = [*self._launch.prefix, str(self._program), *arguments]
        if self.signals:
            return
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env={**os.environ, **self._launch.environment},
                start_new_session=True,
            )
        except OSError as error:
            raise TailraceError(f"{command[0]}: {error.strerror}") from error
        if self.signals:  # in between
            self._forward(self.signals[-1])

    def receive(self, number: int, _frame: FrameType | None = None) -> None:
        """Handle a signal."""
        self.signals.append(number)
        if self._process is not None:
            self._forward(number)

    def _forward(self, number: int) -> None:
        """Pass a signal on: to the ranks here the first time, to the launcher the second."""
        assert self._process is not None
        first = len(self.signals) == 1
        step = self._launch.step
        # The ranks know SIGTERM and SIGINT only.
        softly = signal.SIGINT if number == signal.SIGINT else signal.SIGTERM
        if first and step and signal_step(step, softly):
            return
        pids = [p for p in descendants(self._process.pid) if _runs(p, self._program)]
        if not self._launch.prefix:
            pids = [self._process.pid]
        if not first or not pids:
            # srun wants SIGINT twice.
            _send(self._process.pid, signal.SIGTERM if first or step else number)
            return
        for pid in pids:
            _send(pid, softly)

    def follow(self, display: Display) -> int:
        """Show what the program prints until it ends; return its exit status."""
        if self._process is None:
            return 128 + self.signals[0]
        assert self._process.stdout is not None
        errors = threading.Thread(target=self._pass_errors_on, args=(display,), daemon=True)
        errors.start()
        for line in self._process.stdout:
            status = parse(line)
            if isinstance(status, str):
                self._show(lambda text=status: display.text(text))  # type: ignore[misc]
            else:
                self._show(lambda facts=status: display.show(facts))  # type: ignore[misc]
        code = self._process.wait()
        errors.join(timeout=5)
        self._show(lambda: display.close(failed=code != 0))
        return 128 - code if code < 0 else code

    def _show(self, action: Callable[[], None]) -> None:
        """Show something; a run goes on when nobody can see it any more."""
        if self._display_broken:
            return
        try:
            action()
        except OSError as error:
            self._display_broken = True
            write_error(f"tailrace: standard output: {error.strerror}; the run continues\n")

    def _pass_errors_on(self, display: Display) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        for line in without_noise(self._process.stderr, stopped=lambda: bool(self.signals)):
            if not self._display_broken:
                self._show(lambda text=line: display.error(text))  # type: ignore[misc]
            else:
                write_error(line)


def run_program(
    launch: Launch, program: Path, arguments: list[str], make_display: Callable[[], Display]
) -> int:
    """Run `program` and return its exit status; signals are forwarded while it runs."""
    running = Running(launch, program)
    kept = {}
    if threading.current_thread() is threading.main_thread():
        for number in FORWARDED:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                kept[number] = signal.signal(number, running.receive)
    try:
        running.start(arguments)
        status = running.follow(make_display())
    finally:
        for number, handler in kept.items():
            restore(number, handler)
    if status != 0 and running.signals:
        write_error(f"tailrace: ended by {signal.Signals(running.signals[0]).name}\n")
    return status
