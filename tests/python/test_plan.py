# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `tailrace plan`: formulae by hand and at their limits, measured input, the command."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stand_ins import is_built
from typer.testing import CliRunner

from tailrace.cli import app
from tailrace.errors import TailraceError
from tailrace.planning import comparison, measured, model
from tailrace.planning.model import Job, Machine
from tailrace.planning.plan import make_case, make_cases
from tailrace.planning.quantities import parse_amount, parse_counts

# 10 GB every 10 s: 4 nodes of 8 ranks.
JOB = Job(ranks=32, ranks_per_node=8, bytes_per_output=10e9, interval=20, step_s=0.5)
MACHINE = Machine(
    writer=0.5e9, file_system=4e9, memory=5e9, copy=10e9, network=10e9, disturbance=0.01
)


def test_synchronous_output_by_hand() -> None:
    found = model.synchronous(JOB, MACHINE)
    # 16 writers could do 8 GB/s, the file system 4
    assert found.write_s == pytest.approx(2.5)
    assert found.period_s == pytest.approx(12.5)
    assert found.lost == pytest.approx(0.2)
    assert found.safe_s == pytest.approx(2.5)
    assert found.lost_work_s == pytest.approx(15.0)
    assert found.node_hours == pytest.approx(4 * 1000 * 12.5 / 3600)
    few = model.synchronous(replace(JOB, ranks=2, ranks_per_node=2), MACHINE)
    assert few.write_s == pytest.approx(10.0)  # two writers of 0.5 GB/s


def test_servers_by_hand() -> None:
    one = model.servers(JOB, MACHINE, 1)
    # copying 10 GB / (4 nodes * 10 GB/s) = 0.25 s; moving takes 1 s, which costs 1% of it
    assert one.hand_over_s == pytest.approx(0.26)
    assert one.write_s == pytest.approx(20.0)
    assert one.period_s == pytest.approx(20.0)  # the server is the limit
    assert one.stall_s == pytest.approx(20 - 10.26)
    assert one.lost == pytest.approx(0.5)
    assert not one.hidden and "more servers" in one.note
    assert one.safe_s == pytest.approx(0.26 + 20e9 / 0.5e9)  # 20 GB of staging memory are full
    assert one.nodes == 5
    two = model.servers(JOB, MACHINE, 2)
    assert two.hidden and two.stall_s == 0 and two.note == ""
    assert two.period_s == pytest.approx(10.255)
    assert two.lost == pytest.approx(1 - 10 / 10.255)
    assert two.safe_s == pytest.approx(0.255 + 10.0)
    assert two.lost_work_s == pytest.approx(10.255 + 10.255)
    assert two.outage_s == pytest.approx(10e9 / (10e9 / 10.255))  # 10 of 20 GB are free
    assert two.node_hours == pytest.approx(6 * (1000 * 10.255 + 10.255) / 3600)
    assert model.servers_to_hide(JOB, MACHINE) == 2


def test_servers_taken_from_the_ranks_slow_the_rest() -> None:
    found = model.servers(JOB, MACHINE, 2, "spread")
    assert found.compute_s == pytest.approx(10 * 32 / 30)
    assert found.nodes == 4 and found.hidden
    assert found.lost == pytest.approx(1 - 10 / found.period_s)
    assert found.period_s == pytest.approx(10 * 32 / 30 + 0.25 + 0.01 * 0.5)


def test_threads_take_time_of_the_cores() -> None:
    found = model.threads(JOB, replace(MACHINE, server_core=1e9))
    # 2.5 GB a node by one core of 8: 2.5 s of a core
    assert found.hand_over_s == pytest.approx(0.25 + 2.5 / 8)
    assert found.servers == 4 and found.write_s == pytest.approx(5.0)


def test_limits() -> None:
    endless = replace(MACHINE, writer=1e18, file_system=1e18, copy=1e18, network=1e18)
    for outcome in (model.synchronous(JOB, endless), model.servers(JOB, endless, 1)):
        assert outcome.lost == pytest.approx(0, abs=1e-6)
    slow = replace(MACHINE, file_system=0.5e9)  # 20 s for an output of each 10 s
    assert model.servers_to_hide(JOB, slow) is None
    best = model.servers(JOB, slow, 1000)
    # Degrades to the speed of the disk, no worse, and is still better than waiting for it.
    assert best.period_s == pytest.approx(20.0)
    assert "cannot keep up" in best.note
    assert best.period_s < model.synchronous(JOB, slow).period_s
    busy = replace(MACHINE, load=0.5)
    assert model.synchronous(JOB, busy).write_s == pytest.approx(5.0)
    assert model.servers(JOB, busy, 4).hidden


def test_an_output_larger_than_the_staging_memory_waits_for_the_rest() -> None:
    small = replace(MACHINE, memory=1.5e9)  # 6 of 10 GB
    found = model.servers(JOB, small, 4)
    assert found.write_s == pytest.approx(5.0)
    assert found.stall_s == pytest.approx(4e9 / 2e9)
    assert found.outage_s == 0 and "does not fit" in found.note


def test_memory_for_an_outage_is_outage_times_rate_and_one_output() -> None:
    assert model.outage_memory(JOB, 60) == pytest.approx((60 * 1e9 + 10e9) / 4)
    case = make_case(JOB, MACHINE, [2], "own_nodes", 60)
    enough = replace(MACHINE, memory=case.outage_memory)
    assert model.servers(JOB, enough, 2).outage_s >= 60


def test_at_break_even_both_cost_the_same() -> None:
    fast = replace(MACHINE, writer=100e9)  # so that output is hidden there
    interval = model.break_even_interval_s(JOB, fast, 2)
    job = replace(JOB, step_s=interval / JOB.interval, steps=20 * 10**9)
    served, plain = model.servers(job, fast, 2), model.synchronous(job, fast)
    assert served.hidden
    assert served.node_hours == pytest.approx(plain.node_hours, rel=1e-3)
    assert model.break_even_interval_s(JOB, replace(MACHINE, copy=1e8), 2) == 0


@pytest.mark.parametrize("placement", ["own_nodes", "spread"])
@pytest.mark.parametrize("ranks", [2, 3, 64, 1000, 65536, 1_000_000])
def test_the_number_needed_is_the_smallest(ranks: int, placement: str) -> None:
    job = model.weak(JOB, ranks)
    machine = replace(MACHINE, file_system=1e15)
    needed = model.servers_to_hide(job, machine, placement)
    assert needed is not None
    assert model.servers(job, machine, needed, placement).hidden
    if needed > 1:
        assert not model.servers(job, machine, needed - 1, placement).hidden


def test_more_bandwidth_or_servers_never_cost_more_time() -> None:
    previous = math.inf
    for number in (1, 2, 3, 5, 8, 13):
        period = model.servers(JOB, MACHINE, number).period_s
        assert period <= previous
        assert model.servers(JOB, replace(MACHINE, file_system=8e9), number).period_s <= period
        previous = period


def test_plans_go_up_to_a_million_ranks() -> None:
    ranks = parse_counts("1..1M", "--ranks")
    cases = make_cases(JOB, MACHINE, ranks, model.weak, [], "own_nodes", 10)
    assert len(cases) == 21 and cases[-1].job.ranks == 1_000_000


def test_amounts_and_counts() -> None:
    assert parse_amount("1.5G", "-x") == 1.5e9 and parse_amount("4MiB", "-x") == 4 << 20
    assert parse_amount("2GB/s", "-x") == 2e9 and parse_amount("1e9", "-x") == 1e9
    assert parse_counts("4,1..3", "-x") == [1, 2, 3, 4]
    assert parse_counts("1M", "-x") == [10**6]
    for text in ("0", "-1", "fast", "", "1.5X", "nan", "inf"):
        with pytest.raises(TailraceError, match="-x"):
            parse_amount(text, "-x")
    for text in ("", "0", "8..4", "1.5", "..", "1,two", "1e12"):
        with pytest.raises(TailraceError, match="--ranks"):
            parse_counts(text, "--ranks")


ROWS: list[dict[str, Any]] = [
    {"problem": "contiguous, 200 MB, 1 rank, ext4 /d", "entry": "posix", "bytes": 200e6, "s": 0.4},
    {"problem": "contiguous, 200 MB, 4 ranks, ext4 /d", "entry": "posix", "bytes": 200e6, "s": 0.2},
    {
        "problem": "contiguous, 200 MB, 4 ranks, ext4 /d",
        "entry": "limit: 1 thread, 4 MiB, O_DIRECT",
        "bytes": 200e6,
        "s": 0.25,
    },
    {
        "problem": "contiguous, 200 MB, 4 ranks, ext4 /d, reading",
        "entry": "posix",
        "bytes": 200e6,
        "s": 0.01,
    },
]


def io_file(folder: Path) -> Path:
    rows = [{**row, "median_s": row["s"]} for row in ROWS]
    path = folder / "io.json"
    path.write_text(json.dumps({"bench": "io", "rows": rows}))
    return path


def test_bandwidths_come_from_a_file_of_bench_io(tmp_path: Path) -> None:
    assert measured.read_file(io_file(tmp_path)) == pytest.approx((0.8e9, 1e9))
    with pytest.raises(TailraceError, match="no measurement with one writer"):
        measured.bandwidths([{**ROWS[1], "median_s": 1.0}], "--from x")


@pytest.mark.skipif(not is_built("tailrace-bench"), reason="the drivers are not built")
def test_bandwidths_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "TOTAL_BYTES", 1_000_000)
    monkeypatch.setattr(measured, "RANKS", [1, 2])
    one, all_of_them = measured.measure_folder(tmp_path)
    assert 0 < one <= all_of_them
    assert not list(tmp_path.iterdir())


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["plan", *words])
    assert isinstance(result.exception, SystemExit | None), result.exception
    return result.exit_code, result.output


USUAL = ("--ranks-per-node", "8", "--bytes", "0.3125G", "--interval", "20", "--step-s", "0.5")
DISK = ("--writer", "0.5G", "--file-system", "4G", "--memory", "5G")


def test_the_command_tells_numbers_and_reasons(tmp_path: Path) -> None:
    picture = tmp_path / "sub" / "plan.svg"
    status, output = run(
        "--ranks", "32", *USUAL, *DISK, "--outage-s", "60", "--picture", str(picture)
    )
    assert status == 0
    for text in ("no servers", "20.00%", "2 servers hide the output", "break-even", "outage"):
        assert text in output, output
    assert picture.read_text().count("</svg>") == 1
    status, output = run("--ranks", "32..1M", *USUAL, *DISK)
    assert status == 0 and "1,000,000" in output and "cannot be" in output
    status, output = run("--ranks", "32", *USUAL, "--writer", "0.1G", "--file-system", "0.1G")
    assert status == 0 and "No number of servers hides the output" in output
    png = tmp_path / "plan.png"
    words = ("--placement", "spread", "--servers", "1..4", "--picture", str(png))
    status, _ = run("--ranks", "2..64", *USUAL, *DISK, *words)
    assert status == 0 and png.read_bytes().startswith(b"\x89PNG")


def test_the_command_gives_json_with_every_number(tmp_path: Path) -> None:
    words = ("--ranks", "32,64", *USUAL, "--from", str(io_file(tmp_path)), "--servers", "1,3")
    status, output = run(*words, "--json")
    content = json.loads(output)
    assert status == 0 and len(content["cases"]) == 2
    assert content["machine"]["writer"] == pytest.approx(0.8e9)
    first = content["cases"][0]
    assert [outcome["kind"] for outcome in first["outcomes"]] == ["none", "thread"] + [
        "own_nodes"
    ] * 2
    assert first["job"]["bytes_per_output"] == pytest.approx(10e9)
    assert first["outcomes"][0]["write_s"] == pytest.approx(10.0)


def test_strong_scaling_keeps_the_bytes() -> None:
    words = ["--ranks", "32,64", "--ranks-per-node", "8", "--total-bytes", "10G", "--json"]
    _, output = run(*words, "--interval", "20", "--step-s", "0.5", *DISK)
    jobs = [case["job"] for case in json.loads(output)["cases"]]
    assert [job["bytes_per_output"] for job in jobs] == [10e9, 10e9]
    assert [job["step_s"] for job in jobs] == [0.5, 0.25]


def test_wrong_input_is_named(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"bench": "fft", "rows": []}')
    text = tmp_path / "text"
    text.write_text("no json")
    for words, message in (
        (["--ranks", "32", *USUAL], "give --writer and --file-system, or --measure"),
        ([*USUAL, *DISK], "--ranks"),
        (["--ranks", "32", *USUAL, *DISK, "--load", "1"], "load by others = 1"),
        (["--ranks", "32", *USUAL, *DISK, "--load", "nan"], "load by others = nan"),
        (["--ranks", "32", *USUAL, *DISK, "--placement", "moon"], "own_nodes or spread"),
        (["--ranks", "32", *USUAL, *DISK, "--total-bytes", "1G"], "either --bytes"),
        (["--ranks", "32", *USUAL, *DISK, "--step-s", "0"], "time of a step"),
        (["--ranks", "32", *USUAL, *DISK, "--interval", "0"], "interval = 0"),
        (
            ["--ranks", "32", *USUAL, *DISK, "--steps", "3"],
            "3 steps: the run ends before the first output",
        ),
        (["--ranks", "32", *USUAL, "--from", str(other)], "tailrace bench io"),
        (["--ranks", "32", *USUAL, "--from", str(text)], "not JSON"),
        (["--ranks", "32", *USUAL, "--from", str(tmp_path / "gone")], "No such file"),
        (["--ranks", "32", *USUAL, "--measure", str(tmp_path / "gone")], "no such folder"),
        (["--check", str(other)], "tailrace bench servers"),
        (["--ranks", "32", *USUAL, *DISK, "--servers", "none"], "--servers none"),
    ):
        result = CliRunner().invoke(app, ["plan", *words])
        assert isinstance(result.exception, TailraceError), (words, result.output)
        assert message in str(result.exception) and result.exception.status == 2


def servers_file(folder: Path) -> Path:
    """A disk of 0.2 GB/s, 0.1 GB each second of computing, 4 times."""
    usual = {"problem": "slab", "ours": True, "bytes_per_output": 1e8, "outputs": 4.0}
    usual |= {"compute_ranks": 4.0, "memcpy_s": 0.01}
    rows = [
        {**usual, "entry": "no output", "median_s": 4.0, "seen_s": 0.0},
        {**usual, "entry": "tailrace, synchronous", "median_s": 6.0, "seen_s": 0.5},
        {**usual, "entry": "tailrace, pull", "median_s": 4.54, "seen_s": 0.01},
        {**usual, "entry": "toy server", "ours": False, "median_s": 5.0, "seen_s": 0.01},
    ]
    path = folder / "servers.json"
    path.write_text(json.dumps({"bench": "servers", "rows": rows}))
    return path


def test_the_model_is_compared_with_what_was_measured(tmp_path: Path) -> None:
    path = servers_file(tmp_path)
    plain, pull = comparison.compare(path, 8e9)
    assert plain.predicted_s == pytest.approx(6.0) and plain.error() == pytest.approx(0)
    # four steps with their copies, and the writing of the last output
    assert pull.predicted_s == pytest.approx(4 * 1.01 + 0.5, rel=1e-3)
    status, output = run("--check", str(path))
    assert status == 0 and "tailrace, pull" in output and "toy" not in output


def test_the_prediction_of_a_run_feels_a_slow_disk_when_memory_is_full() -> None:
    base = {"median_s": 4.0, "memcpy_s": 1e-9, "compute_ranks": 4, "entry": "no output"}
    row = {"bytes_per_output": 1e8, "outputs": 4, "compute_ranks": 4, "entry": "tailrace, pull"}
    plain = {"seen_s": 3.0}
    # room for two outputs; each takes 3 s: the last leaves 1 + 4 * 3 s after the start
    assert comparison.predict(row, base, plain, 2e8) == pytest.approx(13.0, rel=1e-3)
