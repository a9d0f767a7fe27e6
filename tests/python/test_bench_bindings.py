# SPDX-License-Identifier: BSD-3-Clause
"""Test of `tailrace bench bindings`: one tiny run from end to end."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.studies.drivers import find_driver
from tailrace.cli import app


def has_python_face() -> bool:
    """Tell whether the compiled module loads; asked elsewhere, as loading it starts MPI."""
    load = [sys.executable, "-c", "from tailrace import extension; extension.load()"]
    return subprocess.run(load, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(
    find_driver("bindings_cpp") is None and "TAILRACE_BIN_DIR" not in os.environ,
    reason="the drivers are not built",
)
def test_every_binding_that_is_built_is_compared_with_cpp(tmp_path: Path) -> None:
    path = tmp_path / "faces.json"
    words = ["bench", "bindings", "--rounds", "1", "--repeats", "2", "--ranks", "2"]
    result = CliRunner().invoke(app, [*words, "--json", str(path)])
    assert result.exit_code == 0, result.output
    content = json.loads(path.read_text())
    found: dict[str, set[str]] = {}
    for row in content["rows"]:
        assert row["problem"].endswith("ranks 2")
        assert row["median_s"] > 0
        found.setdefault(row["problem"], set()).add(row["entry"])
        if row["entry"] == "C++":
            assert row["us_over_cpp"] == 0
    assert len(found) == 3
    built = {"C++", "C"} | ({"Fortran"} if find_driver("bindings_fortran") else set())
    if has_python_face():
        built.add("Python")
        assert not content["failures"]
    assert all(entries == built for entries in found.values()), found
