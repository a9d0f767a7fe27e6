# SPDX-License-Identifier: BSD-3-Clause
"""Shipped cases are found by both of their names: in the source tree and in a package."""

import shutil
from pathlib import Path

import pytest

from tailrace import programs
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
