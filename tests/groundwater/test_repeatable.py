# SPDX-License-Identifier: BSD-3-Clause
"""With TAILRACE_TUNE=off, which these tests run with, runs repeat each other bit by bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from groundwater_program import CASES, last_fields, needs_program, succeed

pytestmark = needs_program

CUBE = ("grid.nx=24", "grid.ny=24", "grid.nz=24")
TWO_YEARS = ("time.end=63072000",)


@pytest.mark.parametrize(
    ("case", "settings"),
    [("heterogeneous", CUBE), ("calcite", TWO_YEARS), ("celia", ("grid.nz=40", "time.end=3600"))],
)
def test_runs_repeat_each_other(tmp_path: Path, case: str, settings: tuple[str, ...]) -> None:
    """No format, schedule or method is chosen by a time."""
    runs = []
    for name in ("first", "second"):
        run = tmp_path / name
        succeed(3, CASES / f"{case}.toml", run, *settings, "output.servers=none")
        runs.append(last_fields(run))
    assert runs[0].keys() == runs[1].keys()
    for name, field in runs[0].items():
        np.testing.assert_array_equal(field, runs[1][name], err_msg=name)
