# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the tests of `tailrace-turbulence`."""

from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line("markers", "slow: takes more than a few seconds")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder for the results that does not exist yet."""
    return tmp_path / "run"
