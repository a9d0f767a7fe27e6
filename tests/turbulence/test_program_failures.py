# SPDX-License-Identifier: BSD-3-Clause
"""Bad input and full disks: one clear message, a failure on all ranks, no hang."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import h5py
import pytest
from turbulence_program import CASES, TINY, needs_program, refused, start, succeed

pytestmark = needs_program


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("servers", ["hidden", "none"])
def test_full_disk_ends_the_run(small_disk: Path, servers: str, ranks: int) -> None:
    """One message with file, step and reason; only whole files have their final names."""
    run = small_disk / "run"
    case = CASES / "taylor_green.toml"
    done = start(ranks, case, run, *TINY, "output.every=1", f"output.servers={servers}")
    message = refused(done)
    assert "No space left on device" in message
    assert "taylor_green_0000" in message
    assert "step" in message
    for path in (run / "fields").glob("*.h5"):
        with h5py.File(path) as file:
            assert file["w"][:].shape == (16, 16, 16)
    assert not (run / "summary.json").exists()


def test_full_disk_ends_a_checkpoint(small_disk: Path) -> None:
    """The previous checkpoint stays."""
    run = small_disk / "run"
    settings = [*TINY, "output.every=0", "checkpoint.every=1", "grid.n=32"]
    message = refused(start(2, CASES / "taylor_green.toml", run, *settings))
    assert "No space left on device" in message
    assert "checkpoint_000002.h5" in message
    with h5py.File(run / "checkpoint_000001.h5") as file:
        assert file["u_re"][:].shape == (21, 21, 11)
    assert not (run / "checkpoint_000002.h5").exists()


@pytest.mark.parametrize("ranks", [1, 3])
def test_unwritable_folder(tmp_path: Path, ranks: int) -> None:
    """A folder that cannot be made."""
    (tmp_path / "file").write_text("")
    message = refused(start(ranks, CASES / "abc.toml", tmp_path / "file" / "run"))
    assert "cannot make folder" in message
    assert "Not a directory" in message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission(tmp_path: Path) -> None:
    """A folder of which the user may only read."""
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert "Permission denied" in refused(start(2, CASES / "abc.toml", locked))


@pytest.mark.parametrize("ranks", [1, 4])
def test_misspelt_key(run: Path, tmp_path: Path, ranks: int) -> None:
    """The message names the key, the line and the nearest right key."""
    case = tmp_path / "case.toml"
    case.write_text("[grid]\nn = 16\n[flow]\nviscosty = 0.1\n")
    message = refused(start(ranks, case, run))
    assert "unknown key `flow.viscosty`" in message
    assert "case.toml line 4: did you mean `flow.viscosity`?" in message
    assert not run.exists()


def test_grid_that_does_not_fit_the_ranks(run: Path) -> None:
    """A rank grid of another number of ranks, and a grid without points."""
    case = CASES / "abc.toml"
    assert "needs 4 ranks, but the run has 3" in refused(start(3, case, run, "grid.ranks=[2,2]"))
    assert "at least 4" in refused(start(2, case, run, "grid.nz=1"))


@pytest.mark.parametrize("damage", ["missing", "cut", "changed", "not hdf5"])
def test_bad_restart_file(tmp_path: Path, damage: str) -> None:
    """Each is refused with a message that names the file."""
    case = CASES / "abc.toml"
    settings = ["grid.n=16", "time.end=0.1"]
    succeed(2, case, tmp_path / "a", *settings, "checkpoint.at_end=true")
    file = tmp_path / "a/checkpoint_000005.h5"
    data = bytearray(file.read_bytes())
    if damage == "missing":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(data[: len(data) // 3])
    elif damage == "changed":
        data[len(data) // 2] ^= 0x40
        file.write_bytes(data)
    else:
        file.write_text("[grid]\n")
    done = start(3, case, tmp_path / "b", *settings, f"restart.file={file}", "time.end=0.2")
    assert "checkpoint_000005.h5" in refused(done)


def test_no_checkpoint_to_restart_from(run: Path) -> None:
    """`latest` in a folder without checkpoints."""
    message = refused(start(2, CASES / "abc.toml", run, "restart.file=latest"))
    assert "holds no checkpoint" in message


def test_flow_that_blows_up(run: Path) -> None:
    """A step that is far too large ends the run with advice."""
    settings = [
        "grid.n=16",
        "time.step=5",
        "time.end=500",
        "output.every=0",
        "flow.viscosity=1e-9",
    ]
    settings += ["flow.initial=random", "statistics.every=1"]
    assert "blew up" in refused(start(2, CASES / "taylor_green.toml", run, *settings))
