# SPDX-License-Identifier: BSD-3-Clause
"""The profile of an mpi4py script: its calls are shown at the lines of the script."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.errors import TailraceError
from tailrace.profile.job import find_library

pytest.importorskip("mpi4py")

SCRIPT = """\
from mpi4py import MPI
import numpy as np

world = MPI.COMM_WORLD


def add():
    x, y = np.ones(4), np.empty(4)
    for _ in range(5):
        world.Allreduce(x, y)  # here
    return y


assert add()[0] == world.size
world.bcast("text")
"""


def test_calls_are_shown_at_lines_of_the_script(tmp_path: Path) -> None:
    try:
        find_library("openmpi")
    except TailraceError as error:
        pytest.skip(str(error))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    written = tmp_path / "profile.json"
    words = [sys.executable, "-m", "tailrace", "profile", "-n", "2", "--json", str(written), "--"]
    done = subprocess.run(
        [*words, sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    calls = {call["name"]: call for call in json.loads(written.read_text())["calls"]}
    line = SCRIPT.splitlines().index("        world.Allreduce(x, y)  # here") + 1
    found = calls["MPI_Allreduce"]
    assert (found["where"], found["count"]) == (f"script.py:{line} add", 10)
    assert found["module"] == str(script)
    assert calls["MPI_Bcast"]["where"].startswith(f"script.py:{len(SCRIPT.splitlines())} ")
