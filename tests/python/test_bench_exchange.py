# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `tailrace bench exchange` and `allreduce`: tiny runs from end to end, judged rows."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from stand_ins import is_built
from typer.testing import CliRunner

from bench.studies import allreduce
from bench.studies.drivers import find_driver
from bench.studies.other_libraries import TRANSPOSERS
from tailrace.benchmarks import exchange, size_table
from tailrace.benchmarks.drivers import Command, parallel
from tailrace.benchmarks.fake_cluster import SCRIPT, hosts
from tailrace.benchmarks.options import MovingOptions, Options
from tailrace.benchmarks.rounds import Entry, Measured, measure, run_once
from tailrace.cli import app
from tailrace.errors import TailraceError

built = pytest.mark.skipif(
    not is_built("tailrace-bench"),
    reason="the drivers are not built",
)
cluster = pytest.mark.skipif(
    subprocess.run([SCRIPT, "--check"], capture_output=True, check=False).returncode != 0,
    reason="nodes cannot be made up here",
)
TINY = ["--rounds", "1", "--repeats", "2", "--no-other-libraries"]
ROW_KEYS = {
    *("problem", "entry", "ours", "family", "pattern", "size", "ranks", "nodes", "calls"),
    *("median_s", "quartile_low_s", "quartile_high_s", "ratio", "round_s", "waiting", "best"),
}


def bench(folder: Path, name: str, *words: str) -> tuple[int, dict[str, Any], str]:
    """Run a bench: its status, its file and what it printed."""
    path = folder / "figures" / f"{name}.json"
    result = CliRunner().invoke(app, ["bench", name, *TINY, *words, "--json", str(path)])
    assert isinstance(result.exception, SystemExit | None), result.exception
    return result.exit_code, json.loads(path.read_text()), result.output


@built
def test_a_tiny_bench_of_exchanges(tmp_path: Path) -> None:
    picture = tmp_path / "exchange.png"
    words = ["--patterns", "uniform,fat,zipf,pencils,kept,slabs", "--points", "9", "--ranks", "2"]
    status, content, output = bench(
        tmp_path, "exchange", *words, "--sizes", "8,4k", "--picture", str(picture)
    )
    assert status == 0, output
    assert content["bench"] == "exchange" and not content["failures"]
    rows = content["rows"]
    for row in rows:
        assert row.keys() >= ROW_KEYS, row
        assert row["ranks"] == 2 and row["nodes"] == 1 and row["gb_per_s"] > 0
        assert 0 < row["quartile_low_s"] <= row["quartile_high_s"]
        assert row.get("error") == (None if row["family"] == "limit" else 0)
    assert {row["pattern"] for row in rows} == {*exchange.ALL_TO_ALLS, *exchange.TRANSPOSES}
    assert {row["size"] for row in rows} == {8, 4096, 9}
    for problem in {row["problem"] for row in rows}:
        here = {row["entry"]: row for row in rows if row["problem"] == problem}
        assert {"alltoallv", "alltoallw", "pairwise", "node_direct", "auto"} <= here.keys()
        assert sum(row["best"] for row in here.values()) == 1
        assert here["auto"]["chosen"] in here
        best = next(row for row in here.values() if row["best"])
        assert here["auto"]["over_best"] == pytest.approx(
            here["auto"]["median_s"] / best["median_s"]
        )
        own = next(iter(here.values()))
        null = next(row for row in here.values() if row["family"] == "null")
        farthest = max(null["ratio_max"], 1 / null["ratio_min"])
        assert own["family"] == "mpi" and own["ratio"] == 1
        assert own["null_spread"] == pytest.approx(farthest - 1)
    assert "all-to-all, uniform" in output and "waiting: 2 ranks on" in output
    assert picture.read_bytes().startswith(b"\x89PNG")


@built
def test_a_tiny_bench_of_reductions(tmp_path: Path) -> None:
    picture = tmp_path / "allreduce.svg"
    words = ["--ranks", "2,3", "--sizes", "8,1k", "--picture", str(picture)]
    status, content, output = bench(tmp_path, "allreduce", *words)
    assert status == 0, output
    rows = content["rows"]
    assert {row["pattern"] for row in rows} == {"allreduce", "reduce", "barrier"}
    for row in rows:
        assert row.keys() >= ROW_KEYS, row
        assert row.get("error") == (None if row["pattern"] == "barrier" else 0)
    entries = {row["entry"] for row in rows}
    assert {"MPI_Allreduce", "MPI_Reduce", "MPI_Barrier", "mpi", "node_shared", "auto"} <= entries
    assert "<svg" in picture.read_text()


@built
def test_ways_and_methods_can_be_named(tmp_path: Path) -> None:
    words = ["--patterns", "uniform", "--ranks", "2", "--sizes", "64"]
    more = ["--method", "pairwise:in_flight=1", "--entries", "pairwise"]
    status, content, output = bench(tmp_path, "exchange", *words, *more)
    assert status == 0, output
    entries = [row["entry"] for row in content["rows"]]
    assert entries[0] == "MPI_Alltoall"
    assert {"pairwise", "pairwise:in_flight=1"} <= set(entries)
    assert all("pairwise" in entry for entry in entries[1:])


@built
@cluster
def test_hierarchical_ways_show_on_made_up_nodes(tmp_path: Path) -> None:
    words = ["--ranks", "3", "--nodes", "2", "--sizes", "8"]
    status, content, output = bench(tmp_path, "exchange", "--patterns", "uniform", *words)
    assert status == 0, output
    entries = {row["entry"] for row in content["rows"]}
    assert "node_aware" in entries and "node_direct" not in entries
    assert all(row["nodes"] == 2 and "on 2 nodes" in row["problem"] for row in content["rows"])
    status, content, output = bench(tmp_path, "allreduce", "--patterns", "allreduce", *words)
    assert status == 0, output
    assert "hierarchical" in {row["entry"] for row in content["rows"]}


@built
def test_other_libraries_move_the_same() -> None:
    """Every other library that was built gives the right result, on its own terms."""
    found = 0
    for driver, patterns in TRANSPOSERS.items():
        program = find_driver(driver)
        for pattern in patterns if program else ():
            assert program is not None
            words = ["--n", "12", "--repeats", "1", "--pattern", pattern]
            for record in run_once(parallel(2, program, words)):
                assert record["pattern"] == pattern and not record["ours"]
                assert record["error"] == 0, record
                found += 1
    if not found:
        pytest.skip("no other library is built")


def row(entry: str, family: str, median: float, error: float = 0) -> dict[str, Any]:
    return {
        **{"problem": "all-to-all, 8 B", "entry": entry, "family": family, "median_s": median},
        **{"ours": family == "ours", "error": error, "ratio": median, "size": 8},
        **{"ratio_min": median, "ratio_max": median, "pattern": "uniform", "ranks": 2},
    }


def test_wrong_results_are_failures_and_never_best() -> None:
    rows = [row("MPI_Alltoall", "mpi", 1), row("MPI_Alltoall, again", "null", 0.8)]
    rows += [row("pull", "ours", 0.1, error=3), row("auto", "ours", 0.9), row("x", "peer", 0.2, 1)]
    measured = Measured(rows, {})
    size_table.judge(measured)
    assert measured.failures["pull (all-to-all, 8 B)"] == "wrong result: 3 items"
    assert "other library" in measured.failures["x (all-to-all, 8 B)"]
    assert not measured.failures["x (all-to-all, 8 B)"].startswith("wrong result")
    assert [one["entry"] for one in rows if one["best"]] == ["MPI_Alltoall, again"]
    assert rows[3]["over_best"] == pytest.approx(0.9 / 0.8)
    assert rows[0]["null_spread"] == pytest.approx(0.25)


def test_a_wrong_result_of_any_round_counts() -> None:
    errors = iter([2.0, 0.0])
    entry = Entry("methods", "uniform, 2 ranks", True, Command(["x"]))
    record = row("pull", "ours", 1) | {"seconds": [1.0]}
    measured = measure([entry], 2, run=lambda _: [{**record, "error": next(errors)}])
    size_table.judge(measured)
    assert list(measured.failures.values()) == ["wrong result: 2 items"]


@built
def test_unknown_words_are_refused() -> None:
    for name, words, text in (
        ("exchange", ["--patterns", "diagonal"], "uniform, fat, zipf"),
        ("allreduce", ["--patterns", "gather"], "allreduce, reduce, barrier"),
        ("exchange", ["--sizes", "4q"], "as in 8,4k,1M"),
    ):
        result = CliRunner().invoke(app, ["bench", name, *words])
        assert isinstance(result.exception, TailraceError)
        assert text in str(result.exception) and result.exception.status == 2
    for module in (exchange, allreduce):
        with pytest.raises(TailraceError, match=r"only 2 ranks|nodes"):
            module.entries(Options(ranks=[2], moving=MovingOptions(nodes=3)))


def test_ranks_are_spread_over_nodes_as_evenly_as_can_be() -> None:
    assert hosts(5, 2) == "node1:3,node2:2"
    assert hosts(4, 4) == "node1:1,node2:1,node3:1,node4:1"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["2y4", "true"], "as in 2x4"),
        (["--nodes", "nodea:0", "true"], "as in nodea:3,nodeb:1"),
        (["--nodes", "nodea:1,nodea:1", "true"], "nodea is named twice"),
        (["2x1"], "no program"),
    ],
)
def test_the_cluster_refuses_what_it_does_not_understand(words: list[str], text: str) -> None:
    done = subprocess.run([SCRIPT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and text in done.stderr


def test_the_cluster_says_when_it_is_impossible() -> None:
    environment = {**os.environ, "MPIRUN": "no-such-launcher"}
    done = subprocess.run(
        [SCRIPT, "2x1", "true"], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 77 and "no-such-launcher is not on PATH" in done.stderr


@cluster
def test_nodes_have_names_of_their_own() -> None:
    done = subprocess.run(
        [SCRIPT, "--nodes", "nodea:2,nodeb:1", "hostname"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["nodea", "nodea", "nodeb"]
