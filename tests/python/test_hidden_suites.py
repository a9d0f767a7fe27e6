# SPDX-License-Identifier: BSD-3-Clause
"""The own tests of libraries that write HDF5 and netCDF end under hidden output as without it.

h5py brings its tests. PyTables does, too, where it is installed; those of netCDF4-python lie in its
sources: NETCDF4_TESTS names their folder.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
HIDDEN = [sys.executable, "-m", "tailrace", "exec", "--with", "hidden", "--"]


def outcomes(words: list[str], folder: Path, **environment: str) -> tuple[dict[str, str], str]:
    """Run a suite; return the outcome of each of its tests, and all that it printed."""
    folder.mkdir()
    results = folder / "results.xml"
    environment = os.environ | environment | {"PYTHONPATH": str(ROOT), "NO_NET": "1"}
    run = subprocess.run(
        [*words, "-p", "no:cacheprovider", f"--junitxml={results}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert results.exists(), run.stdout + run.stderr
    found = {}
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        ends = [end.tag for end in case if end.tag in ("failure", "error", "skipped")]
        found[f"{case.get('classname')}.{case.get('name')}"] = ends[0] if ends else "passed"
    return found, run.stdout + run.stderr


def suite(name: str) -> list[str]:
    """Return pytest's arguments for the tests of a library; skip where they are missing."""
    if name == "netCDF4":
        folder = os.environ.get("NETCDF4_TESTS", "")
        if not folder:
            pytest.skip("NETCDF4_TESTS names no folder")
        return [folder]
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    return ["--pyargs", name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["h5py", "tables", "netCDF4"])
def test_tests_of_a_library_end_as_without(name: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pytest", "-q", *suite(name)]
    plain, _ = outcomes(words, tmp_path / "plain")
    hidden, printed = outcomes([*HIDDEN, *words], tmp_path / "hidden", TAILRACE_IO_FILES="*")
    assert sum(end == "passed" for end in plain.values()) > 100
    assert hidden == plain
    files = int(printed.split(" files written by POSIX")[0].rsplit(maxsplit=1)[-1])
    assert files > 100, f"{files} files were hidden"
