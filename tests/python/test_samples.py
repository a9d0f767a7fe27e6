# SPDX-License-Identifier: BSD-3-Clause
"""What release 0.1 wrote (tests/samples/0.1) is read, restarted, reported and extended."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from tailrace.launch.launcher import find_launcher

SAMPLES = Path(__file__).parents[1] / "samples" / "0.1"
ROOT = SAMPLES.parents[2]
PROGRAM = Path(__file__).with_name("samples_program.py")
# Of each application: where it restarts, and the last fields of the run of 0.1.
RUNS = {
    "turbulence": ("checkpoint_000002.h5", "taylor_green_000004.h5"),
    "groundwater": ("checkpoint_000010.h5", "celia_000021.h5"),
    "helium": ("checkpoint_000020.h5", "photon_000027.h5"),
}
built = pytest.mark.skipif(
    "TAILRACE_BIN_DIR" not in os.environ, reason="TAILRACE_BIN_DIR names no build"
)


def tailrace(*words: object, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tailrace", *map(str, words)],
        capture_output=True,
        text=True,
        env=os.environ | {"TAILRACE_TUNE": "off", "PYTHONPATH": str(ROOT)} | variables,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """A copy that may be changed."""
    return Path(shutil.copytree(SAMPLES, tmp_path / "samples"))


@built
@pytest.mark.parametrize("ranks", [1, 3])
def test_files_are_read_and_verified(ranks: int, samples: Path) -> None:
    launch = find_launcher(ranks, 1)
    done = subprocess.run(
        [*launch.prefix, sys.executable, PROGRAM, samples / "files"],
        capture_output=True,
        text=True,
        env=os.environ | launch.environment | {"PYTHONPATH": str(ROOT)},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    files = [*samples.rglob("*.h5"), samples / "files" / "u.nc"]
    assert len(files) > len(RUNS)
    tailrace("verify", *files)


def test_zarr_is_read(samples: Path) -> None:
    zarr = pytest.importorskip("zarr")
    u = zarr.open(samples / "files" / "u.zarr", mode="r")["u"]
    rows, columns = np.ogrid[0:4, 0:6]
    assert (u[:] == 10.0 * rows + columns + 0.5).all()


def fields_of(path: Path) -> dict[str, np.ndarray]:
    fields = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, item: (
                fields.update({name: item[()]})
                if isinstance(item, h5py.Dataset) and item.dtype.kind == "f"
                else None
            )
        )
    return fields


@built
@pytest.mark.parametrize("application", RUNS)
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_run_is_restarted_and_reported(application: str, ranks: int, samples: Path) -> None:
    """The case file and a checkpoint of 0.1 lead to its last fields."""
    folder = samples / application
    checkpoint, last = RUNS[application]
    expected = fields_of(folder / "fields" / last)
    (folder / "fields" / last).unlink()
    for newer in sorted(folder.glob("checkpoint_*.h5"))[1:]:
        newer.unlink()
    restart = f"restart.file={folder / checkpoint}"
    tailrace("run", folder / "case.toml", "-n", ranks, "--run-dir", folder, "--set", restart)
    found = fields_of(folder / "fields" / last)
    assert expected.keys() <= found.keys()
    assert found.keys() - expected.keys() <= {"time"}  # which a series needs
    for name, values in expected.items():
        scale = np.abs(values).max(initial=1e-300)
        assert np.abs(found[name] - values).max(initial=0) <= 1e-9 * scale, name
    tailrace("report", folder, "--output", samples / "report.html")
    assert (
        "<svg" in (samples / "report.html").read_text()
        or "<img" in (samples / "report.html").read_text()
    )


@built
def test_the_memory_of_the_tuner_is_kept(samples: Path) -> None:
    """Programs add to the memory of 0.1, and lose nothing of it."""
    memory = samples / "tune.json"
    before = json.loads(memory.read_text())["entries"]
    shown = json.loads(tailrace("tune", "show", "--json", "--file", memory))
    assert len(json.dumps(shown)) > len(before)
    tailrace(
        "tune", "--problem", "allreduce:bytes=4096", "--budget", "0.05", "--file", memory,
        TAILRACE_TUNE="first_use",
    )  # fmt: skip
    after = json.loads(memory.read_text())["entries"]
    assert len(after) > len(before)
    assert [entry for entry in before if entry not in after] == []
