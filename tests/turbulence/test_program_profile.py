# SPDX-License-Identifier: BSD-3-Clause
"""The regions that the program names for `tailrace profile`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from turbulence_program import CASES, PROGRAM, TINY, needs_program

pytestmark = needs_program


def test_regions_of_a_run_are_steps_statistics_and_checkpoints(tmp_path: Path) -> None:
    profile, run = tmp_path / "profile.json", tmp_path / "run"
    program = [str(PROGRAM), str(CASES / "taylor_green.toml")]
    settings = [word for one in (*TINY, "checkpoint.at_end=true") for word in ("--set", one)]
    words = ["profile", "-n", "2", "--json", str(profile), "--", *program, "--run-dir", str(run)]
    done = subprocess.run(
        [sys.executable, "-m", "tailrace", *words, *settings],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    regions = {row["name"]: row["count"] for row in json.loads(profile.read_text())["regions"]}
    steps = json.loads((run / "summary.json").read_text())["steps"]
    assert regions["step"] == 2 * steps  # of both ranks
    assert regions["last output/checkpoint"] == 2
    assert {"statistics", "last output"} <= set(regions)


def test_the_report_of_a_profiled_run_has_groups_regions_and_matrix(tmp_path: Path) -> None:
    run = tmp_path / "run"
    by_messages = "fft.method=pairwise"  # others read the other rank's memory
    settings = [word for one in (*TINY, by_messages) for word in ("--set", one)]
    case = str(CASES / "taylor_green.toml")
    tailrace = [sys.executable, "-m", "tailrace"]
    for words in (
        ["run", case, "-n", "2", "--run-dir", str(run), "--profile", *settings],
        ["report", str(run)],
    ):
        done = subprocess.run(
            [*tailrace, *words], capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
    found = json.loads((run / "profile.json").read_text())
    assert found["ranks"] == 2
    sent = {(cell["from"], cell["to"]): cell["bytes"] for cell in found["matrix"]}
    assert sent[0, 1] > 0
    assert sent[1, 0] > 0
    page = (run / "report.html").read_text()
    for part in ("timeline", "groups", "efficiency", "regions", "matrix", "facts"):
        assert f'<section id="{part}">' in page
