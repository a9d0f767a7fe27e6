# SPDX-License-Identifier: BSD-3-Clause
"""Faults that users of other libraries reported, tried on Tailrace."""

from pathlib import Path

import pytest
from test_face import run

PROGRAM = Path(__file__).resolve().parent / "public_reports_program.py"


@pytest.mark.parametrize(("ranks", "cases"), [(1, ()), (3, ()), (4, ()), (8, ("slices_in_order",))])
def test_what_was_reported_elsewhere(ranks: int, cases: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    pytest.importorskip("xarray")
    done = run(ranks, PROGRAM, tmp_path, *cases, PYTHONWARNINGS="default")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cases passed" in done.stdout
