# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace archive`: rare orders of events, in which nothing may be lost, mixed up or replaced."""

import os
import shutil
import sqlite3
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


def test_a_description_of_the_user_is_no_rest(archive: Archive, source: Path) -> None:
    for run in ("own", "made"):
        (source / run).mkdir()
        (source / run / "case.toml").write_text("[grid]\nn = 8\n")
    (source / "own" / "ro-crate-metadata.json").write_text("{}")
    archive.run("add", source / "own")
    archive.run("add", source / "made")
    archive.run("remove", source / "made" / "case.toml", "--force", "--yes")
    assert len(archive.bundles()) == 1, "what `add` made itself keeps no bundle"
    archive.run("remove", source / "own" / "case.toml", "--force", "--yes")
    archive.run("restore", source / "own" / "ro-crate-metadata.json", "--to", source / "out")
    assert (source / "out" / "ro-crate-metadata.json").read_text() == "{}"


def test_rebuild_index_takes_the_copy_whose_end_is_sound(archive: Archive, source: Path) -> None:
    (source / "a").write_bytes(os.urandom(30_000))
    archive.run("add", source, "--copies", "2")
    rows = archive.json("list")
    (copy,) = archive.bundles("one")
    os.truncate(copy, 9000)
    shutil.rmtree(archive.folder / "index")
    assert "its end is damaged" in archive.run("rebuild-index", status=1)
    states = {row["target"]: row["state"] for row in archive.json("verify", status=1)}
    assert states == {"one": "damaged", "two": "verified"}
    expected = [{**row, "copies": 1, "targets": ["two"]} for row in rows]
    assert archive.json("list") == expected


def test_rebuild_index_keeps_the_order_of_versions(
    archive: Archive, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = archive.config.read_text()
    names = iter(("0" * 12, "f" * 12))  # of bundles that are begun in one second
    monkeypatch.setattr("secrets.token_hex", lambda _bytes: next(names))
    # The older one is on the target that is read last.
    archive.config.write_text(text.replace('path = "one"', 'path = "one"\ncapacity = "1"'))
    (source / "a").write_text("old")
    archive.run("add", source / "a", status=1)
    archive.config.write_text(text)
    (source / "a").write_text("new")
    archive.run("add", source / "a")
    assert len(archive.bundles("one")) == len(archive.bundles("two")) == 1
    shutil.rmtree(archive.folder / "index")
    archive.run("rebuild-index")
    archive.run("restore", source / "a", "--to", source / "out")
    assert (source / "out" / "a").read_text() == "new"


def test_a_killed_rebuild_index_is_done_again(archive: Archive, source: Path) -> None:
    (source / "a").write_text("x")
    archive.run("add", source)
    index = archive.folder / "index" / "index.sqlite"
    base = sqlite3.connect(index, isolation_level=None)
    base.execute("UPDATE bundles SET state = 'open', built = ''")
    base.close()
    assert "target two" in archive.run("rebuild-index", status=1)  # has no folder yet
    archive.run("restore", source / "a", "--to", source / "out")


def test_a_damaged_copy_is_replaced_only_by_a_sound_one(archive: Archive, source: Path) -> None:
    contents = {name: os.urandom(2000) for name in "ab"}
    for name, content in contents.items():
        (source / name).write_bytes(content)
    archive.run("add", source, "--copies", "2")
    places = {Path(row["path"]).name: row["offset"] for row in archive.json("list")}
    for target, name in (("one", "a"), ("two", "b")):
        (copy,) = archive.bundles(target)
        raw = bytearray(copy.read_bytes())
        raw[places[name] + 1000] ^= 1
        copy.write_bytes(raw)
    archive.run("verify", "--target", "one", status=1)
    text = archive.run("copy", source, "--copies", "2", status=1)
    assert "no other one is sound" in text
    archive.run("restore", source, "--to", source / "out")
    for name, content in contents.items():
        assert (source / "out" / "src" / name).read_bytes() == content


def test_nothing_is_deleted_where_a_target_is_not_mounted(archive: Archive, source: Path) -> None:
    (source / "a").write_text("x")
    archive.run("add", source, "--copies", "2")
    (archive.folder / "one").rename(archive.folder / "elsewhere")
    (archive.folder / "one").mkdir()
    text = archive.run("remove", source, "--target", "one", "--yes", status=1)
    assert "mounted" in text
    text = archive.run("rebuild-index", status=1)
    assert "mounted" in text
    (archive.folder / "one").rmdir()
    (archive.folder / "elsewhere").rename(archive.folder / "one")
    assert {row["target"] for row in archive.json("verify")} == {"one", "two"}
