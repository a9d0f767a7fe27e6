# SPDX-License-Identifier: BSD-3-Clause
"""How ``tailrace profile`` ends: with the program's status, whatever the records are like."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from stand_ins import write_script
from test_profile import write_rank
from typer.testing import CliRunner, Result

from tailrace.cli import app
from tailrace.profile import job
from tailrace.profile.record import RECEIVE, SEND
from tailrace.profile.records import records_folder

Write = Callable[[Path], None]


def _flows(folder: Path, first: object, second: object) -> None:
    write_rank(folder, 0, [first], 2)
    write_rank(folder, 1, [second], 2)


def _apart(folder: Path) -> None:  # a send and a receive with other tags
    _flows(folder, (10, 20, 0, 0, SEND, 1, 1), (10, 20, 0, 0, RECEIVE, 0, 2))


def _sends_alone(folder: Path) -> None:
    _flows(folder, (10, 20, 0, 0, SEND, 1, 1), (10, 20, 0, 0, SEND, 0, 1))


def _receives_alone(folder: Path) -> None:
    _flows(folder, (10, 20, 0, 0, RECEIVE, 1, 1), (10, 20, 0, 0, RECEIVE, 0, 1))


def _of_others(folder: Path) -> None:  # peers that are no ranks of this world
    _flows(folder, (10, 20, 0, 0, SEND, -1, 1), (10, 20, 0, 0, RECEIVE, -1, 1))


def _of_threads(folder: Path) -> None:  # two threads of rank 0 sent with one tag
    write_rank(
        folder,
        0,
        [(10, 20, 0, 0, SEND, 1, 1), (12, 20, 1 << 24, 0, SEND, 1, 1)],
        2,
    )
    write_rank(folder, 1, [(10, 20, 0, 0, RECEIVE, 0, 1)] * 2, 2)


def _no_events(folder: Path) -> None:
    write_rank(folder, 0, [], 2)
    write_rank(folder, 1, [], 2)


def _no_calls(folder: Path) -> None:
    write_rank(folder, 0, [], 2, rows=[])
    write_rank(folder, 1, [], 2, rows=[])


def _no_time(folder: Path) -> None:
    for rank in range(2):
        write_rank(folder, rank, [], 2, last_tick=5000, last_ns=10**9, rows=[], modules=[])


SOUND: list[Write] = [_apart, _sends_alone, _receives_alone, _of_others, _of_threads]
SOUND += [_no_events, _no_calls, _no_time]


def _damage(folder: Path, change: Callable[[Path], object]) -> None:
    _apart(folder)
    change(folder / "rank-000001.json")


def _cut(folder: Path) -> None:
    _damage(folder, lambda path: path.write_text(path.read_text()[:100]))


def _empty(folder: Path) -> None:
    _damage(folder, lambda path: path.write_text(""))


def _no_list(folder: Path) -> None:
    _damage(folder, lambda path: path.write_text("[]"))


def _without_events(folder: Path) -> None:
    _damage(folder, lambda path: path.with_suffix(".events").unlink())


def _wrong_events(folder: Path) -> None:
    wrong = b"\xff" * 400
    _damage(folder, lambda path: path.with_suffix(".events").write_bytes(wrong))


def _another_version(folder: Path) -> None:
    _damage(folder, lambda path: path.write_text(path.read_text().replace("version", "vers")))


def _without(key: str) -> Write:
    def write(folder: Path) -> None:
        _apart(folder)
        path = folder / "rank-000001.json"
        facts = json.loads(path.read_text())
        del facts[key]
        path.write_text(json.dumps(facts))

    return write


KEYS = ("comms", "rows", "modules", "traffic", "host", "boot", "usage", "ended", "lost_events")
DAMAGED: list[Write] = [_cut, _empty, _no_list, _without_events, _wrong_events, _another_version]
DAMAGED += [_without(key) for key in KEYS]


def run_program(folder: Path, write: Write | None, status: int, *words: str) -> Result:
    """Profile a program that ends with a status; the records are what `write` makes."""
    made = folder / "made"
    made.mkdir()
    if write:
        write(made)
    text = f'#!/bin/sh\ncp -r {made}/. "$TAILRACE_PROFILE_DIR"\nexit {status}\n'
    program = write_script(folder / "app", text)
    return CliRunner().invoke(app, ["profile", *words, "--", str(program)])


@pytest.fixture(autouse=True)
def _launcher(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TAILRACE_LAUNCHER", "env")
    monkeypatch.setattr(job, "find_library", lambda *_: "")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("status", [0, 7, 137])
@pytest.mark.parametrize("write", SOUND)
def test_messages_without_a_partner(tmp_path: Path, write: Write, status: int) -> None:
    done = run_program(tmp_path, write, status, "-n", "2", "--json", "p.json")
    assert done.exit_code == status, done.output
    assert json.loads((tmp_path / "p.json").read_text())["ranks"] == 2
    assert "cannot be created" not in done.output


@pytest.mark.parametrize("status", [0, 7])
@pytest.mark.parametrize("write", DAMAGED)
def test_records_that_cannot_be_read(tmp_path: Path, write: Write, status: int) -> None:
    done = run_program(tmp_path, write, status, "-n", "2", "--report", "page.html")
    assert done.exit_code == status, done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize("status", [0, 7])
def test_a_profile_that_lacks_ranks(tmp_path: Path, status: int) -> None:
    done = run_program(tmp_path, lambda folder: write_rank(folder, 1, [], 3), status, "-n", "3")
    assert done.exit_code == (status or 1)
    assert ("app: 2 of 3 ranks left no record in" in done.output) == (status == 0)
    assert "Note: 2 of 3 ranks left no record" in done.output


def test_ranks_that_are_jobs_of_their_own(tmp_path: Path) -> None:
    done = run_program(tmp_path, lambda folder: write_rank(folder, 0, [], 1), 0, "-n", "4")
    assert done.exit_code == 1
    assert "4 ranks were requested, MPI has 1" in done.output


def test_reasons_for_no_record(tmp_path: Path) -> None:
    done = run_program(tmp_path, None, 3)
    assert done.exit_code == 3
    assert "no record: it did not call MPI_Init" in done.output


def test_programs_with_sessions_alone(tmp_path: Path) -> None:
    done = run_program(tmp_path, lambda folder: (folder / "rank-sessions.note").touch(), 0)
    assert "MPI_Session_init" in done.output and "did not call MPI_Init" not in done.output


@pytest.mark.parametrize("variable", ["SLURM_JOB_ID", "PBS_JOBID", "TAILRACE_LAUNCHER"])
def test_records_of_a_job_lie_where_all_nodes_see_them(tmp_path: Path, variable: str) -> None:
    with records_folder("profile", {variable: "1"}) as folder:
        assert folder.parent == tmp_path and folder.name.startswith(".")
    assert not folder.exists()
    with records_folder("profile", {}) as folder:
        assert folder.parent != tmp_path
