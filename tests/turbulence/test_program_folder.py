# SPDX-License-Identifier: BSD-3-Clause
"""The folder of a run: one run at a time, results of one run, and chains of jobs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from turbulence_program import (
    CASES,
    ENVIRONMENT,
    TINY,
    command,
    needs_program,
    program_processes,
    refused,
    start,
    statistics,
    succeed,
)

pytestmark = needs_program

CASE = CASES / "taylor_green.toml"
SHORT = (*TINY, "time.max_steps=6", "checkpoint.every=3")


def overwrite(ranks: int, run: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command(ranks, CASE, run, *settings), "--overwrite"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_fresh_start_does_not_mix_with_old_results(run: Path, ranks: int) -> None:
    """Refused, and nothing is changed; with the flag old results go, other files stay."""
    succeed(ranks, CASE, run, *SHORT)
    (run / "notes.txt").write_text("mine")
    (run / "fields/taylor_green_000777.h5").write_text("of an older run")
    (run / "checkpoint_000777.h5").write_text("of an older run")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    message = refused(start(ranks, CASE, run, *SHORT))
    assert "holds the results of a run" in message
    assert "--overwrite" in message
    assert "restart.file=latest" in message
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    done = overwrite(ranks, run, *SHORT, "time.max_steps=4")
    assert done.returncode == 0, done.stderr
    assert names_in(run / "fields") == {f"taylor_green_{step:06d}.h5" for step in (0, 4)}
    assert {path.name for path in run.glob("checkpoint_*")} == {"checkpoint_000003.h5"}
    assert (run / "notes.txt").read_text() == "mine"


def test_products_are_results(run: Path) -> None:
    """Also where they are all that a run has written, and wherever they are in its folder."""
    product = (
        '\n[[output.products]]\nname = "range"\nstages = ["minmax"]\npath = "deep/{name}.csv"\n'
    )
    case = run.parent / "case.toml"
    case.write_text(CASE.read_text() + product)
    served = (*TINY, "output.servers=thread", "output.memory=32M")
    succeed(1, case, run, *served)
    for path in run.iterdir():
        if path.name != "deep":
            subprocess.run(["rm", "-r", str(path)], check=True)
    assert "deep/range.csv" in refused(start(1, case, run, *served))


def test_a_folder_with_a_case_alone_is_no_run(run: Path) -> None:
    """A case may be kept where its results go."""
    run.mkdir()
    (run / "case.toml").write_text(CASE.read_text())
    succeed(2, run / "case.toml", run, *TINY)


def test_a_chain_of_jobs_needs_one_command(run: Path) -> None:
    """`latest_or_fresh`: the first job starts, the next ones go on."""
    settings = (*TINY, "output.every=0", "checkpoint.at_end=true", "restart.file=latest_or_fresh")
    for last in (3, 6, 9):
        lines = succeed(2, CASE, run, *settings, f"time.max_steps={last}")
        assert [line["step"] for line in lines] == list(range(last + 1))
    assert (run / "checkpoint_000009.h5").exists()


def test_latest_or_fresh_does_not_mix_either(run: Path) -> None:
    """Results without a checkpoint, as of a job that was killed before its first one."""
    succeed(1, CASE, run, *TINY)
    assert "--overwrite" in refused(start(1, CASE, run, *TINY, "restart.file=latest_or_fresh"))
    done = overwrite(1, run, *TINY, "restart.file=latest_or_fresh")
    assert done.returncode == 0, done.stderr


def test_a_restart_from_an_earlier_checkpoint(run: Path) -> None:
    """Later checkpoints would be taken for those of this run."""
    succeed(2, CASE, run, *SHORT, "checkpoint.at_end=true")
    first = f"restart.file={run}/checkpoint_000003.h5"
    later = refused(start(2, CASE, run, *SHORT, "time.max_steps=5", first))
    assert "checkpoint_000006.h5" in later
    assert "later than step 3" in later
    done = overwrite(2, run, *SHORT, "time.max_steps=5", first)
    assert done.returncode == 0, done.stderr
    assert [line["step"] for line in statistics(run)] == list(range(6))
    assert not (run / "checkpoint_000006.h5").exists()


def begin(ranks: int, run: Path, *settings: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(ranks, CASE, run, *settings),
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def wait_for(folder: Path, pattern: str) -> None:
    limit = time.monotonic() + 60
    while not list(folder.glob(pattern)):
        assert time.monotonic() < limit, f"no {folder}/{pattern}"
        time.sleep(0.005)


def kill(process: subprocess.Popen[str], run: Path) -> None:
    for pid in program_processes(run):
        os.kill(pid, signal.SIGKILL)
    process.wait(timeout=60)


def test_two_runs_at_once_in_one_folder(run: Path) -> None:
    """The second is refused, whatever it wants there; a killed one leaves no lock."""
    endless = (*TINY, "time.end=1e9", "output.every=1000000", "checkpoint.every=4")
    with begin(2, run, *endless) as process:
        try:
            wait_for(run, "checkpoint_*.h5")  # the first is soon replaced
            assert "another run is using" in refused(start(1, CASE, run, *TINY))
            message = refused(start(2, CASE, run, *endless, "restart.file=latest"))
            assert "another run is using" in message
            assert "another run is using" in refused(overwrite(2, run, *endless))
        finally:
            kill(process, run)
    done = overwrite(2, run, *TINY)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("cut_off", [4, 6, 8])
def test_what_a_kill_cut_off_is_written_again(tmp_path: Path, cut_off: int) -> None:
    """A field file that has no whole version yet, older or newer than the last checkpoint."""
    settings = (*TINY, "output.every=2", "checkpoint.every=3")
    whole, run = tmp_path / "whole", tmp_path / "run"
    succeed(2, CASE, whole, *settings)
    succeed(2, CASE, run, *settings, "time.max_steps=8")
    lost = run / f"fields/taylor_green_{cut_off:06d}.h5"  # as if the run had been killed there
    lost.rename(f"{lost}.partial")
    (run / "checkpoint_000009.h5.partial").write_text("")
    succeed(2, CASE, run, *settings, "restart.file=latest")
    assert not list(run.rglob("*.partial"))
    assert names_in(run / "fields") == names_in(whole / "fields")
    for path in (whole / "fields").iterdir():
        assert (run / "fields" / path.name).read_bytes() == path.read_bytes()
    assert (run / "statistics.csv").read_text() == (whole / "statistics.csv").read_text()


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    """SIGKILL of all ranks at any time; all files of the uninterrupted run are there at the end."""
    settings = (*TINY, "grid.n=32", "output.every=1", "checkpoint.every=5")
    settings += ("time.end=1e9", "restart.file=latest_or_fresh")
    whole, run = tmp_path / "whole", tmp_path / "run"
    with begin(2, run, *settings, "time.max_steps=100000000") as process:
        try:
            wait_for(run / "fields", "taylor_green_000012.h5")
        finally:
            kill(process, run)
    assert not (run / "summary.json").exists()
    reached = max(int(path.stem[-6:]) for path in (run / "fields").glob("*.h5"))
    last = f"time.max_steps={reached + 12}"  # however far it came
    succeed(2, CASE, run, *settings, last)
    succeed(2, CASE, whole, *settings, last)
    assert not list(run.rglob("*.partial"))
    assert names_in(run / "fields") == names_in(whole / "fields")
    for path in (whole / "fields").iterdir():
        assert (run / "fields" / path.name).read_bytes() == path.read_bytes()
