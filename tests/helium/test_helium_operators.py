# SPDX-License-Identifier: BSD-3-Clause
"""The bench of helium beside SLEPc: both find the same states with the same H."""

from __future__ import annotations

import json
import subprocess

import pytest
from helium_program import BUILD

DRIVER = BUILD / "bench" / "bench_helium_operators"
PROBLEMS = ("ground state", "2 steps in a field")


@pytest.mark.skipif(not DRIVER.is_file(), reason="bench_helium_operators is not built")
def test_both_find_the_same_states() -> None:
    command = [str(DRIVER), "--n", "24", "--steps", "2", "--repeats", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for problem in PROBLEMS:
        rows = [line for line in lines if line["problem"].startswith(problem)]
        measured = [row for row in rows if "failure" not in row]
        assert all(row["error"] <= row["tolerance"] for row in measured)
        assert all(row["seconds"][0] > 0 for row in measured)
        assert measured[0]["entry"] == "tailrace"
        if len(measured) == 1:  # built without SLEPc
            assert "slepc-dev" in rows[1]["failure"]
        else:
            assert all(row["entry"].startswith("SLEPc") for row in measured[1:])
            assert len(measured) > 3
