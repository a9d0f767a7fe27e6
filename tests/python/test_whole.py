# SPDX-License-Identifier: BSD-3-Clause
"""The whole way with the real program and launcher: run, report, list, failure."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from stand_ins import built


def tailrace(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tailrace", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
    )


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_run_and_report(tmp_path: Path, ranks: int) -> None:
    built("tailrace-turbulence")
    settings = ["grid.n=16", "time.step=0.02", "time.end=0.1", "output.every=2"]
    words = [word for setting in settings for word in ("--set", setting)]
    done = tailrace(
        "run", "taylor_green", "-n", str(ranks), *words, "--run-dir", "out", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["ranks"] == ranks
    done = tailrace("report", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "report.html").read_text()
    assert '<section id="timeline">' in page
    assert '<section id="flow">' in page
    assert "published, 1024" in page or "Published curve" in page


def test_a_misspelt_key_ends_with_the_programs_words_alone(tmp_path: Path) -> None:
    built("tailrace-turbulence")
    done = tailrace("run", "taylor_green", "-n", "2", "--set", "grid.m=16", folder=tmp_path)
    assert done.returncode != 0
    assert "grid.m" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_list_shows_every_table() -> None:
    built("tailrace-list")
    done = tailrace("list", "--json", folder=Path.cwd())
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)["tables"]
    names = {entry["name"] for table in tables for entry in table["entries"]}
    assert {"alltoallv", "node_direct", "fftw", "hidden", "taylor_green"} <= names
    assert {"credit", "zarr", "spectrum"} <= names  # of the I/O servers
