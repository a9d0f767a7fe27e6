# SPDX-License-Identifier: BSD-3-Clause
"""The case of 15 species and sites of 50 rates, on a small grid: ranks, restart, balances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from groundwater_program import CASES, last_fields, needs_program, refused, start, succeed

pytestmark = needs_program

CASE = CASES / "uranium.toml"
SMALL = ("grid.nx=12", "grid.nz=8", "time.end=4e6", "output.servers=none")


def same(run: Path, expected: dict[str, np.ndarray]) -> None:
    """The last fields of `run` are those expected, the rarest species to 1e-6 of its largest."""
    found = last_fields(run)
    assert found.keys() == expected.keys()
    for name, field in found.items():
        scale = max(float(np.abs(expected[name]).max()), 1e-30)
        np.testing.assert_allclose(
            field / scale, expected[name] / scale, rtol=1e-6, atol=1e-6, err_msg=name
        )


def test_uranium_on_ranks_and_in_parts(tmp_path: Path) -> None:
    """As one on 2 and 3 ranks, and in two parts, whose checkpoint holds what the sites hold."""
    summary = succeed(1, CASE, tmp_path / "one", *SMALL)
    assert summary["worst_relative_species_balance"] < 1e-10
    one = last_fields(tmp_path / "one")
    assert len([name for name in one if name.startswith("total_")]) == 15
    uranium = one["total_UO2++"]
    assert uranium.max() > 1e-7  # it has come in
    assert uranium.min() < 1e-10  # and is held back
    for ranks in (2, 3):
        succeed(ranks, CASE, tmp_path / f"on{ranks}", *SMALL)
        same(tmp_path / f"on{ranks}", one)
    parts = tmp_path / "parts"
    succeed(2, CASE, parts, *SMALL, "time.max_steps=10", "checkpoint.at_end=true")
    succeed(3, CASE, parts, *SMALL, "restart.file=latest")
    same(parts, one)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"Na+ charge"', '"Na+ total 1e-2"', "charges do not balance"),
        ('"HPO4-- mineral Fluorapatite"', '"HPO4-- mineral Apatite"', "`Apatite` is not a mineral"),
    ],
)
def test_waters_that_cannot_be(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = CASE.read_text().replace(old, new)
    case = tmp_path / "case.toml"
    case.write_text(text.replace("../chemistry", str(CASES.parent / "chemistry")))
    assert expected in refused(start(1, case, tmp_path / "run", *SMALL))
