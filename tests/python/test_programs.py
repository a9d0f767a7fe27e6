# SPDX-License-Identifier: BSD-3-Clause
"""Shipped cases and modules are found by both of their names."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace import old_names, programs
from tailrace.programs import find_case, shipped_cases

APPS = Path(__file__).resolve().parents[2] / "apps"
CASES = {f"{path.parents[1].name}/{path.stem}": path for path in APPS.glob("*/cases/*.toml")}


@pytest.fixture(params=["source tree", "package"])
def cases(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay the cases out as `pip install` does, beside the chemistry that they refer to."""
    monkeypatch.chdir(tmp_path)
    if request.param == "source tree":
        return
    package = tmp_path / "tailrace"
    for name, path in CASES.items():
        folder = package / "cases" / name.partition("/")[0]
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder)
    shutil.copytree(APPS / "groundwater" / "chemistry", package / "cases" / "chemistry")
    monkeypatch.setattr(programs, "PACKAGE", package)
    monkeypatch.setattr(programs, "SOURCE_ROOT", tmp_path)


@pytest.mark.usefixtures("cases")
def test_every_case_is_found_by_both_names() -> None:
    assert len(CASES) > 10
    for name, path in CASES.items():
        assert find_case(name).read_text() == path.read_text()
        assert find_case(path.stem).read_text() == path.read_text()
    assert sorted(shipped_cases()) == sorted(path.stem for path in CASES.values())


@pytest.mark.parametrize("old", old_names.MOVED)
def test_modules_are_found_under_their_old_names(old: str) -> None:
    new = old_names.MOVED[old]
    line = f"import {old} as old, {new} as new; print(old.__file__ == new.__file__)"
    words = [sys.executable, "-c", line]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr
    assert done.stderr == f"tailrace: the module {old} is now {new}\n"


def test_a_program_runs_under_its_old_name() -> None:
    words = [sys.executable, "-m", "tailrace.helium_cross_section"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: python -m tailrace.apps.helium.cross_section FOLDER" in done.stderr
