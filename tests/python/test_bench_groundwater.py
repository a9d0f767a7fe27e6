# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `tailrace bench groundwater` and of what it gives PFLOTRAN and reads from it.

TAILRACE_PFLOTRAN names PFLOTRAN's program; without it only what needs none is tested.
"""

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from bench.studies.groundwater import TOLERANCE, entries, finish
from bench.studies.groundwater_run import PARTS, Flow
from bench.studies.options import StudyOptions
from tailrace.benchmarks.rounds import Measured
from tailrace.cli import app
from tailrace.errors import TailraceError
from tailrace.programs import SOURCE_ROOT, find_program

PFLOTRAN = os.environ.get("TAILRACE_PFLOTRAN", "")


def load_peer() -> Any:
    path = SOURCE_ROOT / "bench" / "other_libraries" / "pflotran_flow.py"
    spec = importlib.util.spec_from_file_location("pflotran_flow", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


peer = load_peer()


def program_is_built() -> bool:
    try:
        find_program("tailrace-groundwater")
    except TailraceError:
        return False
    return True


built = pytest.mark.skipif(
    not program_is_built() and "TAILRACE_BIN_DIR" not in os.environ,
    reason="tailrace-groundwater is not built",
)


def cards(deck: str) -> list[tuple[str, ...]]:
    """Return each line with the blocks that it stands in; fails where one is left open."""
    opening = ("SIMULATION", "PROCESS_MODELS", "SUBSURFACE_FLOW", "OPTIONS", "SUBSURFACE", "GRID")
    opening += ("NUMERICAL_METHODS", "NEWTON_SOLVER", "LINEAR_SOLVER", "BOUNDS", "EOS", "DATASET")
    opening += ("FLUID_PROPERTY", "MATERIAL_PROPERTY", "PERMEABILITY", "CHARACTERISTIC_CURVES")
    opening += ("SATURATION_FUNCTION", "PERMEABILITY_FUNCTION", "OUTPUT", "SNAPSHOT_FILE", "TIME")
    opening += ("VARIABLES", "REGION", "COORDINATES", "FLOW_CONDITION", "TYPE", "STRATA")
    opening += ("INITIAL_CONDITION", "BOUNDARY_CONDITION")
    values = {("MATERIAL_PROPERTY", "CHARACTERISTIC_CURVES"), ("PERMEABILITY", "DATASET")}
    values |= {("GRID", "TYPE"), ("STRATA", "REGION"), ("INITIAL_CONDITION", "FLOW_CONDITION")}
    values |= {("INITIAL_CONDITION", "REGION"), ("BOUNDARY_CONDITION", "FLOW_CONDITION")}
    values |= {("BOUNDARY_CONDITION", "REGION")}
    within: list[str] = []
    found = []
    for line in deck.splitlines():
        word = line.split()[0]
        assert len(line) <= 512  # the longest that PFLOTRAN reads
        if word in ("/", "END", "END_SUBSURFACE"):
            within.pop()
            continue
        found.append((*within, line.strip()))
        is_value = within and (within[-1].split()[0], word) in values
        if word in opening and not is_value:
            within.append(line.strip())
    assert not within
    return found


def test_the_deck_has_the_problem_and_the_tolerances(tmp_path: Path) -> None:
    flow = Flow(7, 2, tmp_path, linear_tolerance=1e-9, newton_tolerance=1e-7)
    found = cards(peer.deck(flow))
    methods = ("SUBSURFACE", "NUMERICAL_METHODS FLOW")
    assert (*methods, "LINEAR_SOLVER", "RTOL 1e-09") in found
    assert (*methods, "NEWTON_SOLVER", "RTOL 1e-07") in found
    assert ("SUBSURFACE", "GRID", "NXYZ 7 7 7") in found
    assert ("SUBSURFACE", "DATASET permeability", f"FILENAME {flow.aquifer}") in found
    pressure = {
        block[1]: float(block[-1].split()[1])
        for block in found
        if len(block) == 3 and block[-1].startswith("LIQUID_PRESSURE ")
    }
    drop = pressure["FLOW_CONDITION high"] - pressure["FLOW_CONDITION low"]
    assert drop == pytest.approx(997.16 * 9.8068)  # 1 m of water
    sides = [block[1:] for block in found if len(block) == 3]
    assert ("BOUNDARY_CONDITION west", "FLOW_CONDITION high") in sides
    assert ("BOUNDARY_CONDITION east", "FLOW_CONDITION low") in sides


def test_heads_are_compared_cell_by_cell_and_at_the_last_time(tmp_path: Path) -> None:
    own = np.random.default_rng(1).random((2, 3, 4))  # z, y, x
    with h5py.File(tmp_path / "own.h5", "w") as file:
        file["head"] = own
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        for time, more in (("0.00000E+00", 5.0), ("1.00000E+01", 0.25), ("2.00000E+00", 5.0)):
            heads = own.copy()
            heads[1, 0, 3] += more
            pressure = (101325.0 + 997.16 * 9.8068 * heads).transpose()
            file[f"Time:  {time} s/Liquid_Pressure [Pa]"] = pressure
    found = peer.difference(tmp_path / "theirs.h5", tmp_path / "own.h5")
    assert found == pytest.approx(0.25, rel=1e-9)
    with h5py.File(tmp_path / "own.h5", "w") as file:
        file["head"] = own[:1]
    with pytest.raises(TailraceError, match="cells"):
        peer.difference(tmp_path / "theirs.h5", tmp_path / "own.h5")


def test_times_are_the_longest_of_the_ranks(tmp_path: Path) -> None:
    log, listing = tmp_path / "log.csv", tmp_path / "flow.out"
    head = "Stage Name,Event Name,Rank,Count,Time,Num Messages\n"
    rows = ["TimeStepStage,SNESSolve,0,1,1.5,3", "TimeStepStage,SNESSolve,1,1,2.5,3"]
    log.write_text(head + "\n".join([*rows, "InitStage,H5RdCellIndxReal,0,1,0.25,0"]) + "\n")
    assert peer.logged(log) == {"SNESSolve": 2.5, "H5RdCellIndxReal": 0.25}
    listing.write_text("  --> SNES Linear/Non-Linear Iterations = 174 / 1\n")
    assert peer.iterations(listing) == 174
    listing.write_text("nothing\n")
    with pytest.raises(TailraceError, match="iterations"):
        peer.iterations(listing)


def test_other_heads_and_a_missing_program_are_refused(tmp_path: Path) -> None:
    row = {"entry": "PFLOTRAN", "problem": "p", "ours": False, "error": 2 * TOLERANCE}
    measured = Measured([row, {**row, "entry": "close", "error": TOLERANCE / 2}], {})
    finish(measured, StudyOptions())
    assert list(measured.failures) == ["PFLOTRAN (p)"]
    assert "wrong result" in measured.failures["PFLOTRAN (p)"]
    options = StudyOptions(sizes=[3], ranks=[1], folder=tmp_path, pflotran=str(tmp_path / "none"))
    with pytest.raises(TailraceError, match="--pflotran"):
        entries(options)


def bench(folder: Path, *words: str) -> list[dict[str, Any]]:
    path = folder / "figures.json"
    line = ["bench", "groundwater", "--points", "10", "--ranks", "2", "--rounds", "1"]
    line += ["--folder", str(folder), "--json", str(path), *words]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, (done.output, done.exception)
    content = json.loads(path.read_text())
    assert not content["failures"]
    rows: list[dict[str, Any]] = content["rows"]
    return rows


@built
def test_a_bench_of_ours_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAILRACE_PFLOTRAN", raising=False)
    rows = bench(tmp_path)
    assert {row["problem"].split(": ")[1] for row in rows} == set(PARTS)
    assert all(row["entry"] == "tailrace" and row["median_s"] > 0 for row in rows)
    whole = next(row["median_s"] for row in rows if row["problem"].endswith("whole"))
    assert whole > sum(row["median_s"] for row in rows if not row["problem"].endswith("whole"))


@built
@pytest.mark.skipif(not PFLOTRAN, reason="TAILRACE_PFLOTRAN does not name PFLOTRAN's program")
def test_a_bench_beside_pflotran(tmp_path: Path) -> None:
    rows = bench(tmp_path, "--pflotran", PFLOTRAN)
    assert {row["entry"] for row in rows} == {"tailrace", "PFLOTRAN"}
    assert len(rows) == 2 * len(PARTS)
    (solve,) = [row for row in rows if "error" in row]
    assert 0 < solve["error"] <= TOLERANCE
    assert solve["iterations"] > 0
