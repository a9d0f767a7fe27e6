# SPDX-License-Identifier: BSD-3-Clause
"""Progress lines: what counts as one, and how much of the run is done."""

import doctest
import io
import re

import pytest
from rich.console import Console

from tailrace import progress


def test_doctests() -> None:
    assert doctest.testmod(progress).failed == 0


def test_only_objects_with_a_step_are_progress() -> None:
    assert progress.parse('{"step": 3}') == {"step": 3}
    assert progress.parse('{"step": 0, "energy": nan, "dt": -inf}') == {
        "step": 0,
        "energy": None,
        "dt": None,
    }
    for line in ("step 3", '{"step": ', '{"other": 1}', "[1]", ""):
        assert progress.parse(line) == line
    assert progress.parse('{"text": "done: \\"a\\""}\n') == 'done: "a"\n'


def test_fraction_by_time_then_by_steps() -> None:
    assert progress.fraction({"step": 1, "steps": 4}) == 0.25
    assert progress.fraction({"step": 1, "steps": 4, "time": 1.0, "end": 2.0}) == 0.5
    assert progress.fraction({"step": 1}) == 0.0


def test_plain_tells_the_last_state_at_the_end() -> None:
    stream = io.StringIO()
    display = progress.Plain(stream, interval_s=1000.0)
    for step in (1, 2, 3):
        display.show({"step": step, "steps": 3})
    display.close()
    assert stream.getvalue().split("\n") == ["step 1/3", "step 3/3", ""]


def test_bar_shows_step_and_hidden_output() -> None:
    stream = io.StringIO()
    bar = progress.Bar(Console(file=stream, force_terminal=True, width=140), "case")
    bar.show({"step": 2, "steps": 4, "time": 1.0, "end": 2.0, "energy": 0.1, "hidden_s": 1.5})
    bar.text("a line\n")
    bar.close()
    text = stream.getvalue()
    for part in ("step 2/4", "t 1/2", "output hidden 1.5 s", "50 %", "a line"):
        assert part in text


@pytest.mark.parametrize("width", [40, 60, 80])
def test_bar_keeps_part_and_time_left_on_a_narrow_line(width: int) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=width, color_system=None)
    bar = progress.Bar(console, "a_case_with_quite_a_long_name_[s]")
    status = {"step": 123456, "time": 1.25, "end": 2.5, "energy": 0.1249}
    bar.show({**status, "seconds_per_step": 0.0123, "hidden_s": 1.5, "eta_s": 4600})
    bar.close()
    line = re.sub(r"\x1b\[[?\w]*", "", stream.getvalue()).splitlines()[-1]
    line = line.split("\r")[-1]
    assert "50 % 1:16 h left" in line
    assert line.count("━") + line.count("╸") + line.count("╺") >= width // 10
    assert len(line.rstrip()) <= width
    assert ("step 123456" in line) == (width == 80)


@pytest.mark.parametrize("total", [None, 2])
def test_work_is_shown_in_a_terminal_and_not_in_a_pipe(
    total: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for terminal in (True, False):
        stream = io.StringIO()
        console = Console(file=stream, force_terminal=terminal, width=80, color_system=None)
        monkeypatch.setattr(progress, "Console", lambda stderr, used=console: used)
        with progress.working("some work", total) as tell:
            tell("first part")
            tell("second part")
        text = stream.getvalue()
        assert ("second part" in text and "some work" in text) == terminal
        assert terminal or not text


def test_several_runs_are_one_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(progress, "Console", lambda: console)
    with progress.Parts("demo", 40) as bar:
        for title, first in (("no output", 0), ("hidden output", 100)):
            part = bar.part(title, 20)
            for step in (0, 10):
                part.show({"step": first + step})
            part.text("all is well\n")
            part.error("a warning\n")
            part.close(failed=title == "hidden output")
    text = stream.getvalue()
    # The first run and half of the second, whatever number its steps begin with.
    assert " 75 %" in text and "hidden output" in text
    assert "all is well" not in text and bar.failure == "a warning"
