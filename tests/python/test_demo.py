# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace demo` with a stand-in program whose times are known."""

import json
import subprocess
import sys
from pathlib import Path


def test_demo_measures_three_modes_and_reports(stage: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tailrace", "demo", "-n", "2", "--repeats", "2", "--run-dir", "out"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.replace("│", " ").split() for line in done.stdout.splitlines() if "│" in line]
    ratios = {row[0]: row[1:3] for row in rows if row and row[0] in ("none", "hidden")}
    assert ratios == {"none": ["2.00", "1.000"], "hidden": ["2.10", "1.050"]}
    summary = json.loads((stage / "out" / "summary.json").read_text())
    assert summary["times_s"] == {"none": 2.0, "synchronous": 3.0, "hidden": 2.1}
    assert summary["times_all_s"]["synchronous"] == [3.0, 3.0]
    assert summary["hidden_fraction"] == 0.9
    page = (stage / "out" / "report.html").read_text()
    assert "+5.0 %" in page
    assert "+50.0 %" in page
    assert not list((stage / "out" / "other").glob("*/fields"))


def test_demo_ends_with_the_status_of_a_failed_run(stage: Path) -> None:
    program = stage / "tools" / "tailrace-turbulence"
    program.write_text("#!/bin/sh\necho 'tailrace-turbulence: no space left' >&2\nexit 4\n")
    done = subprocess.run(
        [sys.executable, "-m", "tailrace", "demo", "--run-dir", "out"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 4
    assert "no space left" in done.stderr
    assert not (stage / "out" / "report.html").exists()
