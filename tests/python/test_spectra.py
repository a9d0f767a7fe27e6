# SPDX-License-Identifier: BSD-3-Clause
"""Products of spectra, compared with NumPy."""

from pathlib import Path

import pytest
from test_face import run

PROGRAM = Path(__file__).resolve().parent / "spectra_program.py"


@pytest.mark.parametrize("ranks", [1, 3])
def test_shells_of_boxes_that_are_not_cubes(ranks: int, tmp_path: Path) -> None:
    done = run(ranks, PROGRAM, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 boxes with 5 scales equal NumPy" in done.stdout
