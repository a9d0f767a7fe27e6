# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `tailrace bench servers`: tiny runs from end to end, figures from several rows."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.studies import servers
from bench.studies.competitor import competing
from bench.studies.drivers import find_driver
from bench.studies.options import ServersOptions, StudyOptions
from bench.studies.servers_picture import draw
from tailrace.benchmarks import slow_disk
from tailrace.benchmarks.drivers import Command
from tailrace.benchmarks.io import list_variants
from tailrace.benchmarks.options import IoOptions
from tailrace.benchmarks.rounds import Entry, Measured, measure
from tailrace.cli import app
from tailrace.errors import TailraceError

built = pytest.mark.skipif(
    find_driver("servers_ours") is None and "TAILRACE_BIN_DIR" not in os.environ,
    reason="the drivers are not built",
)
TINY = ["--points", "12", "--ranks", "2", "--steps", "4", "--every", "2", "--rounds", "1"]
QUICK = ["--compute", "sleep", "--compute-s", "0.01", "--idle-s", "0.05"]
ROW_KEYS = {
    *("problem", "entry", "ours", "family", "median_s", "min_s", "max_s", "runs", "round_s"),
    *("seen_s", "seen_worst_s", "seen_sum_s", "drain_s", "memcpy_s", "idle_cpu", "outputs"),
    *("bytes_per_output", "compute_ranks", "disk_bytes_per_s", "compute_s", "steps"),
}


def bench(folder: Path, *words: str) -> tuple[int, dict[str, Any], str]:
    """Run the bench in `folder`: its status, its file and what it printed."""
    path = folder / "figures" / "servers.json"
    files = folder / "files"
    line = ["bench", "servers", *TINY, *QUICK, *words, "--folder", str(files), "--json", str(path)]
    result = CliRunner().invoke(app, line)
    assert isinstance(result.exception, SystemExit | None), result.exception
    assert not list(files.iterdir())  # files are removed
    return result.exit_code, json.loads(path.read_text()), result.output


@built
def test_a_tiny_bench_gives_table_file_and_picture(tmp_path: Path) -> None:
    picture = tmp_path / "figures" / "servers.png"
    words = ["--shapes", "pencil", "--picture", str(picture), "--entries", "synchronous;thread;toy"]
    status, content, output = bench(tmp_path, *words, "--halo", "10")
    assert status == 0, output
    rows = {row["entry"]: row for row in content["rows"]}
    assert set(rows) >= {"no output", "tailrace, synchronous", "tailrace, thread", "toy server"}
    for row in content["rows"]:
        assert row.keys() >= ROW_KEYS
        assert row["outputs"] == 2 and row["bytes_per_output"] == 12**3 * 8
    reference = rows["no output"]["median_s"]  # one round: medians are its values
    for name in ("no output", "tailrace, synchronous", "tailrace, thread", "toy server"):
        assert rows[name]["ratio"] == pytest.approx(rows[name]["median_s"] / reference)
    assert "idle CPU" in output and picture.read_bytes().startswith(b"\x89PNG")


@built
def test_every_variant_of_ours_writes_what_it_was_given(tmp_path: Path) -> None:
    status, content, output = bench(tmp_path, "--shapes", "slab", "--no-other-libraries")
    assert status == 0 and not content["failures"], output
    found = {row["entry"] for row in content["rows"]}
    assert {"tailrace, thread", "tailrace, process", "tailrace, push_ordered"} <= found
    assert all(row["ours"] for row in content["rows"])


@built
def test_peers_are_checked_too(tmp_path: Path) -> None:
    program = find_driver("servers_ours")
    assert program is not None
    peers = [variant["name"] for variant in list_variants(program) if variant["family"] == "peer"]
    assert {"toy server", "POSIX, a file per rank"} <= set(peers)
    status, content, output = bench(tmp_path, "--shapes", "pencil", "--entries", ";".join(peers))
    # A peer may fail; it is told, and nothing of ours fails with it.
    assert status == 0 or "wrong result" in output, output
    found = {row["entry"] for row in content["rows"]}
    assert {"no output", "toy server", "POSIX, a file per rank"} <= found


@built
def test_a_competitor_writes_meanwhile(tmp_path: Path) -> None:
    words = ["--shapes", "slab", "--entries", "tailrace, synchronous", "--competitor"]
    status, content, output = bench(tmp_path, *words)
    assert status == 0, output
    beside = [row for row in content["rows"] if row["problem"].endswith(servers.BESIDE)]
    assert len(beside) == 2 and len(content["rows"]) == 4
    for row in beside:
        assert row["competitor_bytes_per_s"] > 0 and row["slowed"] > 0


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a POSIX system")
def test_the_competitor_cleans_up(tmp_path: Path) -> None:
    with competing(tmp_path) as other:
        assert (tmp_path / "competitor.dat").exists()
    assert other.bytes_per_s > 0 and not list(tmp_path.iterdir())


@built
def test_what_is_unknown_is_named() -> None:
    for words, text in (
        (["--shapes", "ball"], "--shapes ball: expected slab or pencil"),
        (
            ["--entries", "telepathy"],
            "--entries telepathy: no entry contains this word (no output",
        ),
        (["--throttle", "fast"], "--throttle fast: expected bytes/s"),
        (["--throttle", "9", "--fractions", "2"], "give one of them"),
        (["--steps", "1"], "--steps 1: no output within --every 2"),
    ):
        result = CliRunner().invoke(app, ["bench", "servers", *TINY, *QUICK, *words])
        assert isinstance(result.exception, TailraceError), result.output
        assert text in str(result.exception) and result.exception.status == 2


def test_slow_disks_need_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(TailraceError, match="--throttle needs root"):
        slow_disk.mount(tmp_path, "1000", 10**6)


SLOW_DISK_PROGRAM = """
import os, pathlib, signal, sys, time
from tailrace.benchmarks import slow_disk
slow_disk.SCRIPT = pathlib.Path(sys.argv[1])
os.geteuid = lambda: 0
slow_disk.mount(pathlib.Path("disk"), "1000", 1000000)
print("mounted", flush=True)
if sys.argv[2] == "fail":
    raise RuntimeError("fails")
if sys.argv[2] != "end":
    os.kill(os.getpid(), getattr(signal, sys.argv[2]))
    time.sleep(60)
"""


@pytest.mark.parametrize("way", ["end", "fail", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
def test_a_slow_disk_goes_however_its_user_ends(tmp_path: Path, way: str) -> None:
    """By the script itself, in which a file stands for the disk."""
    text = slow_disk.SCRIPT.read_text()
    for function, body in (("up", "touch"), ("down", "rm")):
        text = text.replace(f"{function}() {{", f'{function}() {{ {body} "$1.disk"; return; ')
    script = tmp_path / "disk.sh"
    script.write_text(text)
    script.chmod(0o755)
    words = [sys.executable, "-c", SLOW_DISK_PROGRAM, str(script), way]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "mounted\n", done.stderr
    limit = time.monotonic() + 20
    while (tmp_path / "disk.disk").exists():
        assert time.monotonic() < limit, "the disk stays"
        time.sleep(0.02)


def test_a_slow_disk_that_cannot_be_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(
        TailraceError, match=r"(needs root|must be a number).*--throttle is not possible"
    ):
        slow_disk.mount(tmp_path / "disk", "fast", 10**6)


def figures() -> Measured:
    """A disk on which an output takes as long as an interval; two outputs in two steps."""
    times = {
        "no output": {"seconds": [2.0], "seen_s": 0.0, "drain_s": 0.0, "idle_step_s": 1.0},
        "tailrace, synchronous": {"seconds": [4.0], "seen_s": 1.0, "drain_s": 0.0},
        "tailrace, pull": {
            **{"seconds": [3.3], "seen_s": 0.05, "drain_s": 1.1},
            **{"busy_step_s": 1.02, "idle_step_s": 1.001},
        },
    }
    usual = {"outputs": 2, "bytes_per_output": 1e8, "memcpy_s": 0.04, "disk_bytes_per_s": 1e8}
    entries = [
        Entry(name, problem, True, Command([name, problem]), name == "no output")
        for problem in ("p" + servers.ALONE, "p" + servers.BESIDE)
        for name in times
    ]

    def run(command: Command) -> list[dict[str, Any]]:
        name, problem = command.words
        record = {**usual, **times[name]}
        if problem.endswith(servers.BESIDE) and name != "no output":
            record["seconds"] = [6.0 if name.endswith("synchronous") else 3.3]
        return [record]

    return measure(entries, 3, run=run)


def test_rows_are_compared_with_no_output_the_ideal_and_being_alone() -> None:
    measured = figures()
    servers.finish(measured, StudyOptions(steps=2))
    rows = {(row["entry"], row["problem"]): row for row in measured.rows}
    pull = rows["tailrace, pull", "p" + servers.ALONE]
    assert pull["ideal_s"] == pytest.approx(3.0) and pull["over_ideal"] == pytest.approx(1.1)
    assert pull["hidden"] == pytest.approx(1 - 1.3 / 2)
    assert pull["of_memcpy"] == pytest.approx(1.25)
    assert pull["busy_slower"] == pytest.approx(0.02)
    assert pull["idle_slower"] == pytest.approx(0.001)
    assert pull["loop_overhead"] == pytest.approx(1.1)
    assert rows["tailrace, pull", "p" + servers.BESIDE]["slowed"] == pytest.approx(1.0)
    assert rows["tailrace, synchronous", "p" + servers.BESIDE]["slowed"] == pytest.approx(1.5)
    assert "ideal_s" not in rows["tailrace, pull", "p" + servers.BESIDE]


def test_a_failure_of_ours_is_one_of_the_bench_and_a_failure_of_a_peer_is_not() -> None:
    measured = Measured([], {"tailrace, pull (p)": "killed", "toy server (p)": "killed"})
    servers.finish(measured, StudyOptions())
    assert measured.failures == {
        "tailrace, pull (p)": "ours failed: killed",
        "toy server (p)": "killed",
    }


def test_the_picture_needs_figures(tmp_path: Path) -> None:
    with pytest.raises(TailraceError, match="nothing was measured"):
        draw(tmp_path / "none.png", Measured([], {}))


def test_ranks_that_serve_are_more_ranks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    variants = [
        {"name": "no output", "family": "ours", "own_ranks": False},
        {"name": "tailrace, pull", "family": "ours", "own_ranks": True},
        {"name": "toy server", "family": "peer", "own_ranks": True},
    ]
    monkeypatch.setattr(servers, "need_driver", lambda _name: Path("/bin/bench_servers_ours"))
    monkeypatch.setattr(servers, "list_variants", lambda _program: variants)
    monkeypatch.setenv("TAILRACE_LAUNCHER", "launch {ranks}")
    options = StudyOptions(
        ranks=[3],
        compute="sleep",
        folder=tmp_path,
        io=IoOptions(entries=["pull", "toy"]),
        servers=ServersOptions(servers=2, shapes=["slab"]),
    )
    none, pull, toy = servers.entries(options)
    assert [entry.command.words[1] for entry in (none, pull, toy)] == ["3", "5", "4"]
    assert none.reference and not pull.reference
    assert pull.command.words[-2:] == ["--entry", "tailrace, pull"]
