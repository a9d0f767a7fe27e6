# SPDX-License-Identifier: BSD-3-Clause
"""The shipped cases run without a warning about themselves."""

import subprocess
import sys
from pathlib import Path

import pytest
from stand_ins import built

from tailrace.programs import find_case, find_case_program

APPS = Path(__file__).parents[2] / "apps"
CASES = sorted(f"{path.parents[1].name}/{path.stem}" for path in APPS.glob("*/cases/*.toml"))
HELIUM = [case for case in CASES if case.startswith("helium/")]


def words_of_run(case: str, folder: Path, *settings: str) -> str:
    """Run a case on two ranks; return what it has printed."""
    built(find_case_program(find_case(case)).name)
    options = [word for setting in settings for word in ("--set", setting)]
    done = subprocess.run(
        [sys.executable, "-m", "tailrace", "run", case, "-n", "2", "--run-dir", folder, *options],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "done: step" in done.stdout
    return done.stdout + done.stderr


def test_all_applications_have_cases() -> None:
    assert {case.partition("/")[0] for case in CASES} == {"turbulence", "groundwater", "helium"}


@pytest.mark.parametrize("case", CASES)
def test_a_case_begins_without_a_warning(case: str, tmp_path: Path) -> None:
    assert "warning" not in words_of_run(case, tmp_path / "run", "time.max_steps=2")


@pytest.mark.slow
@pytest.mark.parametrize("case", HELIUM)
def test_nothing_comes_back_from_the_end_of_the_box(case: str, tmp_path: Path) -> None:
    assert "warning" not in words_of_run(case, tmp_path / "run")


def test_a_box_that_is_too_small_is_warned_of(tmp_path: Path) -> None:
    words = words_of_run("helium/photon", tmp_path / "run", "time.max_steps=1", "grid.points=60")
    assert "warning: the box is small" in words
