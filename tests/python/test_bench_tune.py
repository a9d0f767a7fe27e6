# SPDX-License-Identifier: BSD-3-Clause
"""What the bench of the tuner's choices makes of times."""

from typing import Any

import pytest

from bench.studies import tune as bench_tune
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Measured


def row(entry: str, method: str, relative: float, problem: str = "p") -> dict[str, Any]:
    names = {"entry": entry, "method": method, "problem": problem}
    return {**names, "relative": relative, "null_spread": 0.02}


def test_regret_is_against_the_best_entry_and_the_twin_says_what_is_none() -> None:
    rows = [
        row("auto", "pull", 1.0),
        row("pull", "pull", 1.08),
        row("pairwise", "pairwise", 1 / 1.06),
        row("alltoallv", "alltoallv", 3.0),
        row("auto", "pull", 1.0, "q"),
        row("pull", "pull", 1.01, "q"),
        row("pairwise", "pairwise", 0.8, "q"),
    ]
    bench_tune.finish(Measured(rows, {}), Options())
    assert rows[0]["best"] == "pairwise"
    assert rows[0]["regret"] == pytest.approx(0.06)
    assert rows[0]["twin"] == pytest.approx(0.08)
    assert rows[0]["worst_regret"] == pytest.approx(3 * 1.06 - 1)
    assert rows[0]["good"]  # more than 5 %, but less than two equal entries differ by
    assert not rows[4]["good"]
    assert rows[4]["regret"] == pytest.approx(0.25)
