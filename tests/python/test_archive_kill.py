# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace archive` is killed at random moments: no file is lost, no copy counts wrongly."""

import os
import random
import subprocess
import time
from pathlib import Path

import pytest
from archive_common import Archive, tree

NIGHTLY = """
[[nightly]]
folder = "ARCH"
copies = 2
quiet = "0s"
"""


def put_files(folder: Path, chance: random.Random, number: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(6):
        (folder / f"file{number}_{i}").write_bytes(chance.randbytes(chance.randrange(400_000)))


def kill_after(command: list[str], delay_s: float) -> int:
    """Start a command, and kill it if it has not ended by then; returns its status."""
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return started.wait(delay_s)
    except subprocess.TimeoutExpired:
        started.kill()
        return started.wait()


def time_of(command: list[str]) -> float:
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def require_nothing_lost(archive: Archive, folder: Path, expected: dict[bytes, object]) -> None:
    """Every file lies in the folder, or has the stated number of copies that verify."""
    left = tree(folder) if folder.exists() else {}
    if not (archive.folder / "index" / "index.sqlite").exists():
        assert left == expected
        return
    rows = {}
    for row in archive.json("list", folder, status=0) if archive.bundles() else []:
        rows[os.fsencode(os.path.relpath(row["path"], folder))] = row
    for name, what in expected.items():
        if name in left:
            assert left[name] == what
        else:
            row = rows[name]
            assert row["copies"] == 2
            for target in row["targets"]:
                path = archive.folder / target / row["bundle"]
                with path.open("rb") as file:
                    file.seek(row["offset"])
                    assert file.read(row["size"]) == what[3]  # type: ignore[index]


def kill_nightly(folder: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    archive = Archive(folder, "300k..1M", NIGHTLY)
    source = folder / "ARCH"
    put_files(source, chance, 0)
    archive.run("add", source)  # makes the folders
    whole_s = time_of(archive.start("nightly"))
    expected = {}
    for number in range(kills):
        put_files(source, chance, number + 1)
        expected |= {name: what for name, what in tree(source).items() if what[0] == "file"}
        kill_after(archive.start("nightly"), chance.uniform(0.2, 1.2) * whole_s)
        require_nothing_lost(archive, source, expected)
    archive.run("nightly")
    assert not [path for path in source.rglob("*") if path.is_file()]
    require_nothing_lost(archive, source, expected)
    archive.run("verify")
    for name in ("one", "two"):
        assert not list((folder / name).glob(".*.partial"))
        assert len(archive.bundles(name)) == len(archive.json("verify", "--target", name))


def kill_restore(folder: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    archive = Archive(folder)
    source, to = folder / "src", folder / "out"
    put_files(source, chance, 0)
    put_files(source / "below", chance, 1)
    expected = tree(source)
    archive.run("add", source)
    whole_s = time_of(archive.start("restore", source, "--to", folder / "first"))
    for _ in range(kills):
        kill_after(archive.start("restore", source, "--to", to), chance.uniform(0.2, 1) * whole_s)
        for name, what in (tree(to / "src") if (to / "src").exists() else {}).items():
            if what[0] == "file" and b".tailrace-partial-" not in name:
                assert what == expected[name]
    archive.run("restore", source, "--to", to)
    assert tree(to / "src") == expected


def test_killed_nightly(tmp_path: Path) -> None:
    kill_nightly(tmp_path, 6, seed=1)


def test_killed_restore(tmp_path: Path) -> None:
    kill_restore(tmp_path, 3, seed=2)


@pytest.mark.slow
def test_killed_a_hundred_times(tmp_path: Path) -> None:
    for seed in range(4):
        kill_nightly(tmp_path / f"n{seed}", 20, seed)
        kill_restore(tmp_path / f"r{seed}", 5, seed)
