# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in device memory, as other packages show theirs, are written and read in place."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from stand_ins import built
from test_face import MPI_ENV, MPIRUN

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("ranks", [1, 2])
def test_arrays_of_a_device(ranks: int, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    built("tailrace-turbulence")
    builds = Path(os.environ.get("TAILRACE_BIN_DIR", ROOT / "build" / "release"))
    library = builds / "tests" / "device" / "libcuda.so.1"
    if not library.exists() and "TAILRACE_BIN_DIR" not in os.environ:
        pytest.skip("tests/device is not built")
    program = ROOT / "tests" / "python" / "device_program.py"
    done = subprocess.run(
        [MPIRUN, "-n", str(ranks), sys.executable, program, tmp_path, library],
        env=os.environ | MPI_ENV, check=False,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
