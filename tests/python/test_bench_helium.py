# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `tailrace bench helium`: what a checkpoint costs, from a trace, and a small bench."""

import json
from pathlib import Path
from typing import Any

import pytest
from stand_ins import built
from typer.testing import CliRunner

from bench.studies.helium import WRITERS, entries
from bench.studies.helium_run import costs
from bench.studies.options import ServersOptions, StudyOptions
from tailrace.benchmarks.options import IoOptions
from tailrace.cli import app
from tailrace.errors import TailraceError


def trace(*spans: tuple[str, float]) -> dict[str, Any]:
    """Return the trace of a rank whose spans follow each other, with another rank's beside."""
    events: list[dict[str, Any]] = []
    start = 0.0
    for name, seconds in spans:
        for rank, longer in ((0, 1), (1, 7)):
            span = {"name": name, "ph": "X", "ts": start, "dur": longer * seconds * 1e6}
            events.append({**span, "pid": rank, "tid": 0})
        start += seconds * 1e6
    events.append({"name": "step", "ph": "X", "ts": 0, "dur": 1e9, "pid": 0, "tid": 1})
    return {"traceEvents": events[::-1]}


def test_a_checkpoint_costs_its_call_and_what_three_steps_take_more() -> None:
    usual = [("step", 0.10)] * 5
    after = [("checkpoint", 0.02), ("step", 0.15), ("step", 0.12), ("step", 0.10)]
    last = [("checkpoint", 0.04), ("step", 0.13)]
    found = costs(trace(*usual, *after, *usual, *last, ("checkpoint", 0.06)))
    assert found["step_s"] == pytest.approx(0.10)
    assert found["call_s"] == pytest.approx((0.02 + 0.04 + 0.06) / 3)
    assert found["checkpoint_s"] == pytest.approx(found["call_s"] + (0.07 + 0.03) / 2)
    assert found["first_slower"] == pytest.approx(0.40)
    assert costs(trace(*usual)) == {"step_s": pytest.approx(0.10)}


def test_each_kind_of_writer_runs_alone_and_then_beside_another(tmp_path: Path) -> None:
    chosen = ServersOptions(every=5, competitor=True)
    found = entries(StudyOptions(sizes=[40], ranks=[2], folder=tmp_path, steps=12, servers=chosen))
    assert [entry.name for entry in found] == [name for name in WRITERS for _ in range(2)]
    beside = ["--competitor" in entry.command.words for entry in found]
    assert beside == [False, True] * len(WRITERS)
    hidden = StudyOptions(
        folder=tmp_path, servers=ServersOptions(), io=IoOptions(entries=["hidden"])
    )
    assert [entry.name for entry in entries(hidden)] == ["no checkpoints", "hidden"]
    with pytest.raises(TailraceError, match="no entry contains this"):
        entries(StudyOptions(folder=tmp_path, io=IoOptions(entries=["nothing"])))


def test_a_small_bench(tmp_path: Path) -> None:
    built("tailrace-helium")
    path = tmp_path / "figures.json"
    line = ["bench", "helium", "--points", "70", "--ranks", "2", "--rounds", "1", "--competitor"]
    line += ["--steps", "12", "--every", "5", "--entries", "hidden;rank"]
    done = CliRunner().invoke(app, [*line, "--folder", str(tmp_path), "--json", str(path)])
    assert done.exit_code == 0, (done.output, done.exception)
    content = json.loads(path.read_text())
    assert not content["failures"]
    rows = content["rows"]
    assert [row["entry"] for row in rows] == ["no checkpoints"] * 2 + ["hidden"] * 2 + [
        "server rank"
    ] * 2
    for row in rows:
        assert row["median_s"] > row["step_s"] > 0
        assert ("checkpoint_share" in row) == (row["entry"] != "no checkpoints")
        assert ("competitor_core" in row) == row["problem"].endswith("writer")
        if row["problem"].endswith("writer"):
            assert row["competitor_bytes_per_s"] > 0
            assert 0 < row["competitor_core"] < 1.1
            assert row["slowed"] > 0
