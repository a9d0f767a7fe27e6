# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace archive`: rare orders of events, in which nothing may be lost, mixed up or replaced."""

import os
import shutil
from pathlib import Path

import pytest
from archive_common import Archive


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "src" / "d").mkdir(parents=True)
    return tmp_path / "src"


@pytest.mark.parametrize("restored", ["", "d"])
def test_a_hard_link_is_not_made_to_another_file(
    archive: Archive, source: Path, restored: str
) -> None:
    (source / "a").write_bytes(b"archived")
    os.link(source / "a", source / "d" / "b")
    archive.run("add", source)
    (source / "d" / "b").unlink()
    (source / "a").unlink()
    (source / "a").write_bytes(b"a newer file")
    text = archive.run("restore", source / restored, status=1 if restored == "" else 0)
    assert ("exists and is different" in text) == (restored == "")
    assert (source / "d" / "b").read_bytes() == b"archived"
    assert (source / "a").read_bytes() == b"a newer file"
    assert (source / "a").stat().st_nlink == 1


def test_a_file_in_the_place_of_a_folder(archive: Archive, source: Path) -> None:
    (source / "d" / "inside").write_text("x")
    (source / "e").mkdir(mode=0o750)
    archive.run("add", source)
    shutil.rmtree(source)
    source.mkdir()
    (source / "d").write_text("in the way")
    (done,) = archive.json("restore", source, status=1)
    assert len(done["problems"]) == 2 and all("/d" in each for each in done["problems"])
    assert (source / "d").read_text() == "in the way"
    assert (source / "e").stat().st_mode & 0o777 == 0o750
