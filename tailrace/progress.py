# SPDX-License-Identifier: BSD-3-Clause
"""Shows the progress that a program tells: a bar in a terminal, plain lines elsewhere.

A program prints one JSON object a line, with ``step``, ``steps``, ``time``, ``end``, ``energy``,
``seconds_per_step``, ``eta_s`` and ``hidden_s``, or with a line for people, ``text``. Any other
line is passed on as it is.
"""

import contextlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column

PLAIN_INTERVAL_S = 5.0


class Display(Protocol):
    """Something that shows what a program prints."""

    def show(self, status: dict[str, Any]) -> None: ...
    def text(self, line: str) -> None: ...
    def error(self, line: str) -> None: ...
    def close(self, failed: bool = False) -> None: ...


def parse(line: str) -> dict[str, Any] | str:
    """Return the progress that `line` tells, or else the line for people."""
    if not line.startswith("{"):
        return line
    try:
        # C++ writes nan and inf, which are no JSON.
        status = json.loads(re.sub(r"(?<=: )-?(?:nan|inf)\b", "null", line))
    except json.JSONDecodeError:
        return line
    if isinstance(status, dict) and "step" in status:
        return status
    if isinstance(status, dict) and isinstance(status.get("text"), str):
        return f"{status['text']}\n"
    return line


def fraction(status: dict[str, Any]) -> float:
    """Return the part of the run that is done, by time where an end is known, else by steps."""
    for done, whole in (("time", "end"), ("step", "steps")):
        if status.get(whole):
            return min(1.0, max(0.0, float(status.get(done, 0)) / float(status[whole])))
    return 0.0


def duration(seconds: float) -> str:
    """Return ``42 s``, ``3:05 min`` or ``2:10 h``.

    >>> duration(42.4), duration(185), duration(7800)
    ('42 s', '3:05 min', '2:10 h')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d} h"


def _facts(status: dict[str, Any]) -> list[str]:
    steps = f"/{status['steps']}" if status.get("steps") else ""
    facts = [f"step {status['step']}{steps}"]
    if "time" in status:
        end = f"/{status['end']:.4g}" if status.get("end") else ""
        facts.append(f"t {status['time']:.4g}{end}")
    if status.get("energy") is not None:
        facts.append(f"energy {status['energy']:.6g}")
    if status.get("seconds_per_step"):
        facts.append(f"{status['seconds_per_step']:.3g} s/step")
    if status.get("hidden_s") is not None:
        facts.append(f"output hidden {status['hidden_s']:.1f} s")
    if status.get("eta_s") is not None:
        facts.append(f"{duration(status['eta_s'])} left")
    return facts


class Plain:
    """A line every few seconds, for logs."""

    def __init__(self, stream: TextIO, interval_s: float = PLAIN_INTERVAL_S) -> None:
        self._stream = stream
        self._interval_s = interval_s
        self._last = -interval_s
        self._pending: dict[str, Any] | None = None

    def show(self, status: dict[str, Any]) -> None:
        self._pending = status
        if time.monotonic() - self._last >= self._interval_s:
            self._flush()

    def text(self, line: str) -> None:
        self._flush()
        self._stream.write(line)
        self._stream.flush()

    def error(self, line: str) -> None:
        write_error(line)

    def close(self, failed: bool = False) -> None:
        self._flush()

    def _flush(self) -> None:
        if self._pending is not None:
            self._last = time.monotonic()
            print("  ".join(_facts(self._pending)), file=self._stream, flush=True)
            self._pending = None


def _text(format_: str, style: str = "none") -> TextColumn:
    return TextColumn(format_, style=style, markup=False, table_column=Column(no_wrap=True))


class Bar:
    """A live bar: part, time left and, as far as the line is wide enough, step and the rest."""

    def __init__(self, console: Console, title: str, transient: bool = False) -> None:
        self._progress = Progress(
            _text("{task.description}", "bold"),
            BarColumn(bar_width=None, complete_style="cyan", finished_style="cyan"),
            _text("{task.fields[part]}"),
            _text("{task.fields[facts]}", "dim"),
            console=console,
            expand=True,
            transient=transient,
        )
        self._title = title
        self._task = self._progress.add_task("", total=1.0, part="", facts="starting")
        self._fit("starting", [])
        self._progress.start()

    def show(self, status: dict[str, Any], what: str = "") -> None:
        """Show a status, or only `what` beside the part that is done."""
        part = f"{100 * fraction(status):3.0f} %"
        if status.get("eta_s") is not None:
            part += f" {duration(status['eta_s'])} left"
        self._progress.update(self._task, completed=fraction(status))
        self._fit(part, [what] if what else _facts({**status, "eta_s": None}))

    def _fit(self, part: str, facts: list[str]) -> None:
        """Cut title and facts so that the bar keeps a quarter of the line, `part` all it needs."""
        width = self._progress.console.width
        room = width - width // 4 - len(part) - 3  # a blank between columns
        most = min(room, width // 3)
        title = self._title if len(self._title) <= most else self._title[: max(0, most - 1)] + "…"
        room -= len(title)
        shown = ""
        for fact in facts:
            longer = f"{shown} · {fact}" if shown else fact
            if len(longer) > room:
                break
            shown = longer
        self._progress.update(self._task, description=title, part=part, facts=shown)

    def text(self, line: str) -> None:
        self._progress.console.print(
            line.rstrip("\n"), markup=False, highlight=False, soft_wrap=True
        )

    def error(self, line: str) -> None:
        if sys.stderr.isatty():  # the same screen: above the bar
            self.text(line)
        else:
            write_error(line)

    def close(self, failed: bool = False) -> None:
        self._progress.stop()


def write_error(line: str) -> None:
    """Write a line to standard error as it is; where nobody reads it any more, to nowhere."""
    try:
        sys.stderr.write(line)
        sys.stderr.flush()
    except OSError:
        return


def make_display(title: str) -> Display:
    """Return a bar if standard output is a terminal, else plain lines."""
    console = Console()
    if console.is_terminal and not console.is_dumb_terminal:
        return Bar(console, title)
    return Plain(sys.stdout)


@contextlib.contextmanager
def working(title: str, total: int | None = None) -> Iterator[Callable[[str], None]]:
    """Show a bar while something is done; in a pipe, nothing.

    What it yields is called with the name of each of the `total` parts that begins; without a total
    the bar only moves. It goes to standard error and is gone at the end.
    """
    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield lambda _name: None
        return
    columns = (
        _text("{task.description}", "bold"),
        BarColumn(bar_width=None, complete_style="cyan"),
        TimeElapsedColumn(),
        _text("{task.fields[name]}", "dim"),
    )
    with Progress(*columns, console=console, expand=True, transient=True) as progress:
        task = progress.add_task(title, total=total, name="")
        begun = 0

        def begin(name: str) -> None:
            nonlocal begun
            most = max(8, console.width // 2)
            progress.update(task, completed=begun, name=name[:most])
            begun += 1

        yield begin


class Parts:
    """One bar for several runs in turn, by the steps of all; used as a context."""

    def __init__(self, title: str, steps: int) -> None:
        console = Console()
        live = console.is_terminal and not console.is_dumb_terminal
        self._bar = Bar(console, title, transient=True) if live else None
        self._steps = steps
        self._done = 0
        self.failure = ""  # the last words of a run that has failed
        self._start_s = time.monotonic()

    def __enter__(self) -> "Parts":
        return self

    def __exit__(self, *_error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def part(self, title: str, steps: int) -> Display:
        """Return the display of the next run, which takes so many steps."""
        return _Part(self, title, steps)

    def tell(self, title: str, steps: int) -> None:
        """Show that the run `title` has taken so many steps."""
        done = min(self._done + steps, self._steps)
        if self._bar is None or done == 0:
            return
        left = (time.monotonic() - self._start_s) * (self._steps - done) / done
        status = {"step": done, "steps": self._steps, "eta_s": left}
        self._bar.show(status, title)

    def end(self, steps: int) -> None:
        """Count a run that has ended."""
        self._done += steps


class _Part:
    """A run below a bar of several."""

    def __init__(self, parts: Parts, title: str, steps: int) -> None:
        self._parts, self._title, self._steps = parts, title, steps
        self._first: int | None = None
        self._errors: list[str] = []

    def show(self, status: dict[str, Any]) -> None:
        if self._first is None:
            self._first = int(status["step"])
        self._parts.tell(self._title, int(status["step"]) - self._first)

    def text(self, line: str) -> None:
        """What a run says when all is well is not shown."""

    def error(self, line: str) -> None:
        self._errors.append(line.strip())

    def close(self, failed: bool = False) -> None:
        self._parts.end(self._steps)
        if failed:
            self._parts.failure = " | ".join(self._errors[-3:])
