# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the tests of `tailrace-groundwater`."""

from pathlib import Path

import pytest


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a folder for the results that does not exist yet."""
    return tmp_path / "run"
