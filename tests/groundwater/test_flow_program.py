# SPDX-License-Identifier: BSD-3-Clause
"""The program itself: ranks, restart, servers, bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray
from groundwater_program import (
    CASES,
    ENVIRONMENT,
    balance,
    command,
    last_fields,
    needs_program,
    program_processes,
    refused,
    start,
    succeed,
)

from tailrace.report.page import render
from tailrace.runs.folder import load_run

pytestmark = needs_program

SMALL = ("grid.nx=9", "grid.ny=8", "grid.nz=7")
COLUMN = ("grid.nz=40", "time.end=3600", "time.max_step=600", "output.servers=none")


def test_ranks_agree(tmp_path: Path) -> None:
    """The same heads on 1 to 4 ranks, to the tolerance of the solver."""
    succeed(1, CASES / "heterogeneous.toml", tmp_path / "run1", *SMALL)
    one = last_fields(tmp_path / "run1")
    for ranks in (2, 3, 4):
        run = tmp_path / f"run{ranks}"
        succeed(ranks, CASES / "heterogeneous.toml", run, *SMALL)
        fields = last_fields(run)
        np.testing.assert_array_equal(fields["conductivity"], one["conductivity"])
        np.testing.assert_allclose(fields["head"], one["head"], rtol=0, atol=1e-9)


def test_restart_on_other_ranks(tmp_path: Path) -> None:
    """A run in two parts, on 1 and then 3 ranks, ends where one in one part does."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    succeed(1, CASES / "celia.toml", whole, *COLUMN)
    succeed(1, CASES / "celia.toml", parts, *COLUMN, "time.max_steps=7", "checkpoint.at_end=true")
    succeed(3, CASES / "celia.toml", parts, *COLUMN, "restart.file=latest")
    h = last_fields(whole)["pressure_head"]
    np.testing.assert_allclose(last_fields(parts)["pressure_head"], h, rtol=1e-9)
    assert [line["time"] for line in balance(parts)] == pytest.approx(
        [line["time"] for line in balance(whole)]
    )


def test_a_signal_ends_a_long_steady_solve(tmp_path: Path) -> None:
    """One rank's signal ends the linear solver on all; the restart finds the flow."""
    case = CASES / "heterogeneous.toml"
    settings = ("grid.nx=40", "grid.ny=40", "grid.nz=40", "output.servers=none")
    slow = ("linear.preconditioner=none", "linear.tolerance=1e-12", "linear.max_iterations=1000000")
    with subprocess.Popen(
        command(2, case, tmp_path, *settings, *slow, "heterogeneity.sigma=6"),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (tmp_path / "balance.csv").exists():
            time.sleep(0.02)
        os.kill(program_processes(tmp_path)[-1], signal.SIGTERM)
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["stopped_by"] == "SIGTERM"
    assert summary["steps"] == 0, "the solve was over before the signal came"
    assert summary["solver"]["steps"] == 0 and summary["solver"]["failed_steps"] == 0
    assert "stopped by SIGTERM at step 0; restart with" in output
    assert (tmp_path / "checkpoint_000000.h5").exists()
    rest = succeed(2, case, tmp_path, *settings, "restart.file=latest")
    assert rest["steps"] == 1 and rest["stopped_by"] is None
    assert [line["step"] for line in balance(tmp_path)] == [1]
    assert (tmp_path / "fields/heterogeneous_000001.h5").exists()


def test_restart_on_the_same_ranks_is_equal(tmp_path: Path) -> None:
    """On the same ranks, bit by bit."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    succeed(2, CASES / "celia.toml", whole, *COLUMN)
    succeed(2, CASES / "celia.toml", parts, *COLUMN, "time.max_steps=7", "checkpoint.at_end=true")
    succeed(2, CASES / "celia.toml", parts, *COLUMN, "restart.file=latest")
    h = last_fields(whole)["pressure_head"]
    np.testing.assert_array_equal(last_fields(parts)["pressure_head"], h)


def test_servers_write_the_same(tmp_path: Path) -> None:
    """Through an I/O server, with a product, and readable by xarray."""
    plain, served = tmp_path / "plain", tmp_path / "served"
    succeed(2, CASES / "heterogeneous.toml", plain, *SMALL)
    product = (
        '[{name = "slice", variables = ["head"], stages = ["slice axis=z index=3"], '
        'path = "{name}.h5"}]'
    )
    summary = succeed(
        3,
        CASES / "heterogeneous.toml",
        served,
        *SMALL,
        "output.servers=1",
        f"output.products={product}",
    )
    assert summary["output"]["mode"] == "servers"
    cost = summary["output_cost"]
    assert (cost["steps"], cost["run_s"]) == (summary["steps"], summary["wall_s"])
    assert cost["call_s"] > 0
    assert cost["capture_s"] > 0  # the fields are computed for the file
    head = last_fields(plain)["head"]
    path = next((served / "fields").glob("*.h5"))
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        assert data["head"].dims == ("z", "y", "x")
        assert data["head"].attrs["units"] == "m"
        np.testing.assert_allclose(data["head"].values, head, rtol=0, atol=1e-9)
    with h5py.File(served / "slice.h5") as file:
        np.testing.assert_allclose(np.squeeze(file["head"]), head[3], rtol=0, atol=1e-9)


def test_saturated_flow_is_solved_by_conjugate_gradients(tmp_path: Path) -> None:
    """Half the multiplies and solves an iteration; only where the matrix is symmetric."""
    small = ("grid.nx=12", "grid.ny=11", "grid.nz=10", "linear.tolerance=1e-10")
    heads = {}
    for method in ("auto", "bicgstab"):
        case, run = CASES / "heterogeneous.toml", tmp_path / method
        summary = succeed(2, case, run, *small, f"linear.method={method}")
        assert summary["linear_solver"].startswith("cg;" if method == "auto" else "bicgstab;")
        heads[method] = last_fields(run)["head"]
    np.testing.assert_allclose(heads["auto"], heads["bicgstab"], rtol=0, atol=1e-7)
    few = ("time.max_steps=1", "output.every=0")
    summary = succeed(1, CASES / "celia.toml", tmp_path / "dry", *few)
    assert summary["linear_solver"].startswith("bicgstab;")


def test_reductions_are_counted_by_size(tmp_path: Path) -> None:
    """All of them: norms, balances, wells, linear solver; the page has a row for each size."""
    run = tmp_path / "run"
    size = ("grid.nx=21", "grid.ny=21", "time.max_steps=3", "output.every=0")
    summary = succeed(2, CASES / "theis.toml", run, *size)
    found = summary["reductions"]
    rows = found["by_size"]
    assert {row["kind"] for row in rows} == {"allreduce"}
    assert [row["max_bytes"] for row in rows] == sorted({row["max_bytes"] for row in rows})
    assert all(row["time_s"] > 0 for row in rows)
    # A sum for each line of balance.csv, a vote on going on for each step, one sum for all wells.
    steps, votes, wells = len(balance(run)), summary["steps"], 1
    counted = found["norms_and_balances"] + found["linear_solver"] + steps + votes + wells
    assert sum(row["count"] for row in rows) == counted
    assert {row["max_bytes"]: row["count"] for row in rows}[64] >= found["norms_and_balances"]
    page = render(load_run(run))
    assert '<section id="reductions">' in page
    for row in rows:
        assert f"allreduce of up to {row['max_bytes']} bytes" in page


GROUND = '[[flow.materials]]\nname = "sand"\nconductivity = [1e-4]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[grid]\nnx = 4\n", "no material"),
        (GROUND + "porosity = -0.2\n", "porosity is -0.2: it must be above 0"),
        (
            GROUND + '[[grid.regions]]\nname = "far"\nfrom = [0, 0, 0]\nto = [2, 1, 1]\n',
            "region `far` lies outside the grid: from 0 to 2 along x",
        ),
        (
            GROUND + '[[grid.regions]]\nname = "east"\nfrom = [0, 0, 0]\nto = [1, 1, 1]\n'
            '[[flow.wells]]\nname = "w"\nregion = "eats"\nvalues = [1.0]\n',
            "well `w`: `eats` is not a region; did you mean `east`?",
        ),
        ("[flow]\nsteady = true\n" + GROUND, "a steady flow needs a boundary of type head"),
        (GROUND + '[[flow.boundaries]]\nname = "b"\n', "boundary `b` has 0 values for 0 times"),
        (GROUND + '[linear]\nmethod = "bicgstap"\n', 'did you mean "bicgstab"?'),
        (
            GROUND + "[grid]\nnx = 10000\nny = 10000\nnz = 10000\n",
            "10000 x 10000 x 10000 cells (x, y, z) on 2 ranks need about",
        ),
    ],
)
def test_bad_input_is_one_clear_message(tmp_path: Path, run: Path, text: str, message: str) -> None:
    """One line that names the input and what would be right."""
    case = tmp_path / "bad.toml"
    case.write_text(text)
    assert message in refused(start(2, case, run))


COLUMN_OF_LOAM = """
[grid]
nz = 20
[flow]
steady = {steady}
initial = "pressure_head"
initial_value = -1.0
[[flow.materials]]
name = "loam"
conductivity = [2.9e-6]
porosity = 0.43
storage = 1e-4
curve = "van_genuchten"
alpha = 3.6
n = 1.56
[[flow.boundaries]]
name = "rain"
face = "z_max"
type = "flux"
values = [{rain}]
{more}
[time]
step = {step}
end = 86400.0
[output]
servers = "none"
every = 1000000
"""


def column_of_loam(
    folder: Path, rain: float, more: str, steady: bool = False, step: float = 10.0
) -> Path:
    """Write a case of rain on loam."""
    case = folder / "loam.toml"
    text = COLUMN_OF_LOAM.format(steady=str(steady).lower(), rain=rain, more=more, step=step)
    case.write_text(text)
    return case


DRAINED = '[[flow.boundaries]]\nname = "below"\nface = "z_min"\ntype = "free_drainage"\n'
TABLE = '[[flow.boundaries]]\nname = "below"\nface = "z_min"\nvalues = [0.2]\n'
SEEPAGE = '[[flow.boundaries]]\nname = "runoff"\nface = "z_max"\ntype = "seepage"\n'


@pytest.mark.parametrize("ranks", [1, 3])
def test_water_that_ponds_is_reported(tmp_path: Path, ranks: int) -> None:
    """Rain beyond the conductivity: a warning with the depth, or a boundary it runs off by."""
    case = column_of_loam(tmp_path, 2.9e-5, DRAINED)
    done = start(ranks, case, tmp_path / "ponds")
    assert done.returncode == 0, done.stderr
    depth = json.loads((tmp_path / "ponds/summary.json").read_text())["ponding_m"]["rain"]
    assert depth > 0.1
    warning = "boundary `rain` supplies more water than infiltrates: the water ponds, with a press"
    assert done.stderr.count(warning) == 1, done.stderr
    assert f"{depth:.4g} m" in done.stderr
    case = column_of_loam(tmp_path, 2.9e-5, SEEPAGE + DRAINED)  # in any order
    done = start(ranks, case, tmp_path / "runs_off")
    summary = json.loads((tmp_path / "runs_off/summary.json").read_text())
    assert summary["ponding_m"] == {} and "ponds" not in done.stderr
    rates = summary["rates_m3_per_s"]
    assert rates["runoff"] == pytest.approx(-2.61e-5, rel=1e-6)
    assert rates["below"] == pytest.approx(-2.9e-6, rel=1e-6)
    case = column_of_loam(tmp_path, 1e-6, DRAINED)
    done = start(ranks, case, tmp_path / "takes")
    assert "ponds" not in done.stderr


def test_a_steady_flow_that_is_not_found_is_an_error(tmp_path: Path) -> None:
    """time.max_steps ends the search with an error that says so, and keeps the heads."""
    case = column_of_loam(tmp_path, 1e-6, TABLE, steady=True)
    hard = ("newton.max_iterations=3", "time.step=1e-3")
    message = refused(start(2, case, tmp_path / "run", *hard, "time.max_steps=2"))
    assert "2 time steps have not reached the steady flow" in message
    assert "(time.max_steps is 2; raise it)" in message
    assert "the state at step 2 is in" in message and "pressure heads are" in message
    more = (*hard, "restart.file=latest")
    again = refused(start(2, case, tmp_path / "run", *more, "time.max_steps=3"))
    assert "3 time steps" in again
    summary = succeed(2, case, tmp_path / "run", *more)
    assert summary["rates_m3_per_s"]["below"] == pytest.approx(-1e-6, rel=1e-6)
    # Nothing is left to do, which is no error.
    succeed(2, case, tmp_path / "run2", "time.max_steps=5", "checkpoint.at_end=true")
    succeed(2, case, tmp_path / "run2", "time.max_steps=5", "restart.file=latest")


def test_a_steady_flow_at_rest_is_found_at_once(tmp_path: Path) -> None:
    """Equal heads above and below: rates are round-off, which the solver must not try to reduce."""
    above = TABLE.replace("below", "above").replace("z_min", "z_max")
    case = column_of_loam(tmp_path, 0, TABLE + above, steady=True)
    for head in (0.2, 7.3, 1234.5):
        text = case.read_text().replace("values = [0.2]", f"values = [{head}]")
        case.write_text(text)
        summary = succeed(1, case, tmp_path / f"run{head}")
        assert summary["steps"] == 1 and summary["worst_relative_balance"] == 0
        np.testing.assert_allclose(last_fields(tmp_path / f"run{head}")["head"], head, rtol=1e-12)
        case.write_text(case.read_text().replace(f"values = [{head}]", "values = [0.2]"))


def test_a_step_that_cannot_converge_keeps_the_last_state(run: Path) -> None:
    """The message names time, step and limit, and where the last good state is."""
    settings = (*COLUMN, "time.min_step=100", "newton.max_iterations=4")
    done = start(2, CASES / "celia.toml", run, *settings, "time.step=1e-3", "time.growth=50")
    message = refused(done)
    assert "the state at step" in message
    kept = message.rsplit(" is in ", 1)[1].strip()
    with h5py.File(kept) as file:
        assert np.isfinite(file["pressure_head"]).all()
    assert "does not converge" in message
    assert "time.min_step is 100 s" in message
