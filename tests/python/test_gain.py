# SPDX-License-Identifier: BSD-3-Clause
"""The gain of settings by rounds: its figures, those of equal runs, and the page."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from test_profile import write_rank
from typer.testing import CliRunner

from tailrace.advice.gain import gain_data, gain_text, measure_gain
from tailrace.advice.setting import Setting, settings_text
from tailrace.cli import app
from tailrace.profile.record import read_records
from tailrace.profile.summary import summarize
from tailrace.report.gain import render_gain

OURS = Setting("ours", {"X": "<3>"})


def machine(factor: float, noise: float) -> Callable[[Setting], float]:
    """Return a program of 1 s that `OURS` makes so many times as long, on a machine that drifts."""
    dice = random.Random(7)
    drift = 1.0

    def run(setting: Setting) -> float:
        nonlocal drift
        drift *= 1.003
        return (factor if setting is OURS else 1.0) * drift * dice.lognormvariate(0, noise)

    return run


def test_gain_beside_what_equal_runs_do() -> None:
    gain = measure_gain(machine(0.8, 0.02), OURS, 100, lambda: 0.0, rounds=30)
    assert len(gain.plain_s) == len(gain.again_s) == len(gain.changed_s) == 30
    found = gain_data(gain)
    assert found["low"] <= 1.25 <= found["high"] and found["high"] < 1.3
    assert found["null"]["low"] <= 1.0 <= found["null"]["high"]
    assert gain_text(gain).splitlines()[1].startswith("gains 1.2")
    slow = measure_gain(machine(1.4, 0.02), OURS, 100, lambda: 0.0)
    assert gain_text(slow).splitlines()[1].startswith("slower: 0.7")


def test_without_rounds_it_ends_when_it_is_decided() -> None:
    assert measure_gain(machine(0.5, 0.01), OURS, 100, lambda: 0.0).found.pairs == 8
    none = measure_gain(machine(1.0, 0.05), OURS, 100, lambda: 0.0)
    assert not none.found.wins and "no effect here: " in gain_text(none)


def test_the_budget_ends_it() -> None:
    seconds = iter(range(1000))
    gain = measure_gain(machine(0.5, 0.01), OURS, 5, lambda: float(next(seconds)), rounds=90)
    assert len(gain.changed_s) == 4
    assert gain_data(gain)["low"] is None


def test_command_measures_and_refuses(
    plain_launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program says its own time, so the figures are exact."""
    file = plain_launcher / "s.toml"
    file.write_text(settings_text(Setting("s", {"X": "3"}), "", {}))
    program = ["sh", "-c", "echo time ${X:-6}"]
    words = ["advise", "--apply", str(file), "--metric", r"time (\S+)", "--json", "--", *program]
    found = json.loads(CliRunner().invoke(app, words).stdout)
    assert (found["gain"], found["low"], found["high"], found["pairs"]) == (2.0, 2.0, 2.0, 8)
    assert found["null"] == {"gain": 1.0, "low": 1.0, "high": 1.0}
    words[1:1] = ["--rounds", "10"]
    assert len(json.loads(CliRunner().invoke(app, words).stdout)["changed_s"]) == 10
    words.remove("--json")
    assert "gains 2.00x (2.00 to 2.00), median of 10" in CliRunner().invoke(app, words).stdout
    file.write_text(settings_text(Setting("s", {"UNUSED": "3"}), "", {}))
    assert "no effect here: 1.00x (1.00 to 1.00)" in CliRunner().invoke(app, words).stdout
    done = CliRunner().invoke(app, ["advise", "--rounds", "9", "--", *program])
    assert "need --apply" in str(done.exception)
    done = CliRunner().invoke(app, ["advise", "--apply", "x", "--rounds", "7", "--", *program])
    assert "at least 8" in str(done.exception)
    monkeypatch.setenv("TAILRACE_BIN_DIR", str(plain_launcher))
    for name in ("io", "collectives", "waiting"):  # as exec --with
        done = CliRunner().invoke(app, ["advise", "--apply", name, "--", *program])
        assert "libtailrace_" in str(done.exception)


def test_page_shows_the_gain_above_the_profile(tmp_path: Path) -> None:
    for rank in range(2):
        write_rank(tmp_path, rank, [], 2)
    gain = measure_gain(machine(0.8, 0.02), OURS, 100, lambda: 0.0, rounds=12)
    page = render_gain(gain, summarize(read_records(tmp_path)), "app")
    assert gain.found.text in page and gain.null.text in page
    assert "X=&lt;3&gt;" in page and "equal runs" in page and "<svg" in page
    assert page.index("What the settings gain") < page.index(
        "Where the time goes without the settings"
    )
    plain = measure_gain(machine(1.0, 0.02), Setting("none"), 100, lambda: 0.0, rounds=8)
    assert "No effect" in render_gain(plain, summarize(read_records(tmp_path)), "app")
