# SPDX-License-Identifier: BSD-3-Clause
"""The profile of an mpi4py script: its calls are shown at the lines of the script."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.errors import TailraceError
from tailrace.profile.job import family_of, find_library

pytest.importorskip("mpi4py")

SCRIPT = """\
from mpi4py import MPI
import numpy as np
from tailrace.profile.region import region

world = MPI.COMM_WORLD


def add():
    x, y = np.ones(4), np.empty(4)
    for _ in range(5):
        world.Allreduce(x, y)  # here
    return y


assert add()[0] == world.size
with region("talk"):
    world.bcast("text")
    with region("stop"):
        world.Barrier()
"""


# A Python whose mpi4py was built with MPICH, where there is one beside that of Open MPI.
MPICH_PYTHON = os.environ.get("TAILRACE_MPICH_PYTHON", "/none")


@pytest.mark.parametrize("python", [sys.executable, MPICH_PYTHON])
def test_calls_are_shown_at_lines_of_the_script(tmp_path: Path, python: str) -> None:
    if not Path(python).is_file():
        pytest.skip("TAILRACE_MPICH_PYTHON names no Python with mpi4py for MPICH")
    family = family_of(Path(python)) or "openmpi"
    assert family == "mpich" or python == sys.executable
    try:
        find_library(family)
    except TailraceError as error:
        pytest.skip(str(error))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    written = tmp_path / "profile.json"
    words = [sys.executable, "-m", "tailrace", "profile", "-n", "2", "--json", str(written), "--"]
    root = str(Path(__file__).resolve().parent.parent.parent)
    done = subprocess.run(
        [*words, python, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    profile = json.loads(written.read_text())
    # mpi4py takes the calls with large counts where MPI has them.
    calls = {call["name"].removesuffix("_c"): call for call in profile["calls"]}
    lines = SCRIPT.splitlines()
    line = lines.index("        world.Allreduce(x, y)  # here") + 1
    found = calls["MPI_Allreduce"]
    assert (found["where"], found["count"]) == (f"script.py:{line} add", 10)
    assert found["module"] == str(script)
    line = lines.index('    world.bcast("text")') + 1
    assert calls["MPI_Bcast"]["where"].startswith(f"script.py:{line} ")
    assert calls["MPI_Barrier"]["count"] == 2
    assert not [file["path"] for file in profile["io"] if file["path"].endswith(".pyc")]
    assert [(r["name"], r["count"]) for r in profile["regions"]] == [("talk", 2), ("talk/stop", 2)]
