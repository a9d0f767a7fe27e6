# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `tailrace reproduce`: every published figure, the verdict, the page, the command."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stand_ins import is_built
from typer.testing import CliRunner

from tailrace.cli import app
from tailrace.errors import TailraceError
from tailrace.planning import file_system
from tailrace.reproduce import blue_waters, helium, rank_order, xe6
from tailrace.reproduce.figure import Figure, Found, Row
from tailrace.reproduce.figures import FIGURES, compute, find_figure

pytestmark = pytest.mark.skipif(not is_built("tailrace-price"), reason="the program is not built")

# The ratios of model and study: a change of the model that moves one is a change of what the
# documents say.
RATIOS = {
    "checkpoint_share": 1.087,
    "average_step": 1.047,
    "disturbance_mpi": 1.229,
    "disturbance_shmem": 1.809,
    "steps_without_io_mpi": 1.145,
    "steps_without_io_shmem": 1.313,
    "halved_bandwidth_write": 0.982,
    "halved_bandwidth_run": 1.0,
    "extra_nodes": 0.651,
    "striping": 0.934,
    "hdf5_dump": 0.893,
    "placement": 0.869,
    "placement_output": 0.859,
    "slabs": 0.966,
    "random_nodes": 0.870,
    "random_list": 0.890,
    "random_pull": 1.083,
    "kept_memory": 0.856,
    "all_together": 0.902,
    "gyro_round_robin": 0.668,
    "gyro_folded": 0.598,
    "tgyro": 0.533,
    "grouped_reading": 0.467,
    "grouped_writing": 1.650,
    "whole_application": None,
    "allreduces": 0.868,
}
REPRODUCED = {
    *("checkpoint_share", "halved_bandwidth_write", "halved_bandwidth_run", "striping"),
    *("placement", "placement_output", "slabs", "random_list", "random_pull", "allreduces"),
}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_every_figure_is_computed_and_has_its_reason(figure: Figure) -> None:
    row = compute(figure)
    assert row.seconds < 300
    assert len(row.found.reason) > 60 and row.found.reason.endswith(".")
    assert row.reproduced == (figure.name in REPRODUCED)
    if figure.study is None:
        assert row.ratio is None and row.verdict == "trend" and figure.name not in RATIOS
        assert row.found.picture is not None
        return
    expected = RATIOS[figure.name]
    if expected is None:
        assert row.ratio is None and row.verdict == "no model"
        return
    assert row.found.ours is not None and row.ratio == pytest.approx(expected, abs=2e-3)
    assert row.ratio == row.found.ours / figure.study
    for curve in row.found.picture.curves if row.found.picture else []:
        assert len(curve.x) == len(curve.y) > 0 and all(map(math.isfinite, curve.y))


def test_published_values_are_those_of_the_studies() -> None:
    published = {figure.name: figure.study for figure in FIGURES}
    assert published["placement"] == pytest.approx(1.64, abs=0.005)
    assert published["placement_output"] == pytest.approx(1.41, abs=0.005)
    assert published["striping"] == pytest.approx(2.88, abs=0.005)
    assert published["gyro_folded"] == pytest.approx(1.686, abs=0.001)
    assert published["grouped_reading"] == 25 and published["grouped_writing"] == 3
    assert len(published) == len(FIGURES)


def test_a_model_changes_with_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result is a stored number."""
    usual = {name: compute(find_figure(name)).found.ours for name in ("striping", "extra_nodes")}
    found = file_system.find_file_system

    def faster(text: str) -> file_system.FileSystem:
        system = found(text)
        targets = replace(system.targets, bytes_per_s=2 * system.targets.bytes_per_s)
        clients = replace(system.clients, process_bytes_per_s=6e8)
        return replace(system, targets=targets, clients=clients)

    monkeypatch.setattr(xe6, "find_file_system", faster)
    monkeypatch.setattr(helium, "find_file_system", faster)
    for name, before in usual.items():
        after = compute(find_figure(name)).found.ours
        assert before is not None and after is not None and after < 0.8 * before, name


def test_exchanges_by_hand() -> None:
    assert blue_waters.run_factor(2.0, 0.5) == pytest.approx(1 / 0.75)
    assert blue_waters.run_factor(1.0) == 1
    # A ring of two nodes with a rank each: half of the field stays, a quarter goes each way.
    seconds = blue_waters.exchange_s("torus:2,bw=1", [0, 1], (2, 1))
    assert seconds == pytest.approx(250 / 2)
    assert rank_order.folded([0, 1, 2], 3) == [0, 1, 2, 2, 1, 0, 0, 1, 2]


def test_the_verdict_needs_the_effect_as_well() -> None:
    def row(study: float | None, ours: float | None, unit: str = "times", **more: Any) -> Row:
        figure = Figure("x", "y", "z", unit, study, "p", lambda: Found(None, "", []), **more)
        return Row(figure, Found(ours, "", []))

    assert row(1.5, 1.4).reproduced and row(1.5, 1.4).verdict == "within 15 %"
    assert not row(1.1, 1.0).reproduced  # 9 % off, and no effect at all
    assert not row(1.5, 1.2).reproduced
    assert not row(1.05, 1.16).reproduced  # three times the effect
    assert row(1.0, 1.0).reproduced and not row(1.0, 1.2).reproduced
    assert row(10.0, 9.0, "s").reproduced and not row(10.0, 8.0, "s").reproduced
    assert not row(1.5, 1.5, comparable=False).reproduced
    assert row(1.5, 1.5, comparable=False).verdict == "not the same quantity"
    assert row(None, 1.5).verdict == "trend" and row(1.5, None).verdict == "no model"


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["reproduce", *words])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_lists_and_computes() -> None:
    listed = json.loads(run("--list", "--json=-"))
    assert [one["name"] for one in listed] == [figure.name for figure in FIGURES]
    assert all({"study", "what", "unit", "published"} <= set(one) for one in listed)
    one = json.loads(run("striping", "--json=-"))
    assert one["ratio"] == pytest.approx(one["ours"] / one["study"])
    assert one["reproduced"] is True and one["assumed"]
    text = run("kept_memory")
    assert "differs" in text and "page faults" in text and "Assumed: 1 us" in text
    assert "grouped_reading" in run("--list")


def test_the_page_has_curves_and_reasons(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert f"Page: {path}" in run("placement", "-o", str(path))
    page = path.read_text()
    assert page.count("<svg") == 2 and "35.3 s, 21.5 s" in page and "y links" in page
    assert not re.search(r'(src|href)="http', page)


def test_the_documents_say_what_is_computed() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "how" / "reproduce.md").read_text()
    rows = dict(re.findall(r"^\| ([^|]+) \| (\d\.\d\d) \|$", page, flags=re.MULTILINE))
    assert sorted(rows.values()) == sorted(f"{RATIOS[name]:.2f}" for name in REPRODUCED)
    assert f"computes {len(FIGURES)} figures" in page


def test_a_figure_that_does_not_exist_is_named() -> None:
    result = CliRunner().invoke(app, ["reproduce", "stripin"])
    assert isinstance(result.exception, TailraceError)
    assert "did you mean striping" in str(result.exception) and result.exception.status == 2
