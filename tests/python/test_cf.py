# SPDX-License-Identifier: BSD-3-Clause
"""The field files of each application follow the CF conventions (docs/files.md)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CASES = {
    "turbulence": ("taylor_green", ("grid.n=12", "time.end=0.1", "scalars.schmidt=[1]")),
    "groundwater": ("celia", ("time.end=600",)),
    "helium": ("photon", ("grid.points=36", "grid.step=0.3", "pulse.cycles=[1]", "time.step=0.2")),
}
ENVIRONMENT = {
    **os.environ,
    "TAILRACE_TUNE": "off",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def require_programs() -> None:
    pytest.importorskip("compliance_checker")
    build = Path(os.environ.get("TAILRACE_BIN_DIR", ROOT / "build/release"))
    for name in CASES:
        program = build / f"apps/{name}/tailrace-{name}"
        if not program.exists():
            pytest.skip(f"{program} is not built")


@pytest.mark.parametrize("application", CASES)
def test_field_files_follow_cf(application: str, tmp_path: Path) -> None:
    require_programs()
    case, settings = CASES[application]
    line = [sys.executable, "-m", "tailrace", "run", case, "-n", "2", "--run-dir", "run"]
    for setting in (*settings, "output.every=1"):
        line += ["--set", setting]
    environment = ENVIRONMENT | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True,
                          timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = sorted((tmp_path / "run").glob("*/*_0*.h5"))
    assert found, done.stdout
    file = tmp_path / "fields.nc"
    shutil.copy(found[-1], file)
    checker = Path(sys.executable).with_name("compliance-checker")
    report = subprocess.run([checker, "--test=cf:1.11", file], capture_output=True, text=True,
                            timeout=120, check=False)  # fmt: skip
    assert "All tests passed!" in report.stdout, report.stdout + report.stderr
