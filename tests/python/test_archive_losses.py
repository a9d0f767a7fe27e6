# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace archive`: rare orders of events, in which nothing may be lost, mixed up or replaced."""

import os
import shutil
import sqlite3
from pathlib import Path

import h5py
import numpy as np
import pytest
from archive_common import Archive

from tailrace.archive.add import Order, add, move
from tailrace.archive.beneath import Beneath, set_status
from tailrace.archive.config import load_config
from tailrace.archive.entry import FILE, Entry
from tailrace.archive.opened import writing
from tailrace.errors import TailraceError


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


def test_the_system_may_write_a_part(
    archive: Archive, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (source / "holes").open("wb") as file:
        file.truncate(1 << 20)
        file.seek(1 << 19)
        file.write(os.urandom(20_000))
    with h5py.File(source / "u.h5", "w") as file:
        file["u"] = np.arange(20_000.0)
    archive.run("add", source)
    whole = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: whole(file, data[:1000], at))
    archive.run("restore", source / "holes", "--to", source / "out")
    archive.run("restore", source / "u.h5", "--variable", "u", "--to", source / "out")
    assert (source / "out" / "holes").read_bytes() == (source / "holes").read_bytes()
    with h5py.File(source / "out" / "u.h5") as file:
        assert np.array_equal(file["u"], np.arange(20_000.0))


def test_two_restores_of_a_file_at_once(tmp_path: Path) -> None:
    with Beneath(tmp_path) as one, Beneath(tmp_path) as two:
        descriptor = one.create("file", ".part")
        with pytest.raises(TailraceError, match="by another process"):
            two.create("file", ".part")
        os.write(descriptor, b"whole")
        one.publish("file", ".part", False)
        os.close(descriptor)
        assert (tmp_path / "file").read_bytes() == b"whole"
        (tmp_path / ".part").write_text("a killed restore has left this")
        os.close(two.create("other", ".part"))
        assert (tmp_path / ".part").read_bytes() == b""


@pytest.mark.parametrize(("may", "mode"), [(True, 0o2640), (False, 0o600)])
def test_another_group_does_not_get_the_rights_of_the_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, may: bool, mode: int
) -> None:
    asked = []

    def change(_descriptor: int, user: int, group: int) -> None:
        asked.append((user, group))
        if not may:
            raise PermissionError

    monkeypatch.setattr(os, "fchown", change)
    monkeypatch.setattr(os, "geteuid", lambda: 77)
    group = tmp_path.stat().st_gid + 1
    with (tmp_path / "file").open("w") as file:
        entry = Entry("/file", FILE, mode=0o2640, uid=77, gid=group)
        set_status(file.fileno(), entry)
        assert os.fstat(file.fileno()).st_mode & 0o7777 == mode
    assert asked == [(-1, group)]


def add_and_change(archive: Archive, paths: list[Path], at: Path, time: int, path: Path) -> None:
    """Archive paths; before `at` is packed for the `time`th time, rewrite `path` in place."""
    times = [0]

    def change(line: str) -> None:
        times[0] += line == str(at)
        if times[0] == time and line == str(at):
            with path.open("r+b") as file:
                file.write(b"newer")

    with writing(load_config(archive.config)) as opened:
        add(opened, Order([str(each) for each in paths], 1), change)


@pytest.mark.parametrize("twice", [False, True])
def test_a_file_that_changes_between_its_names(archive: Archive, source: Path, twice: bool) -> None:
    (source / "a").write_bytes(b"older")
    os.link(source / "a", source / "b")
    if twice:
        add_and_change(archive, [source, source], source / "a", 2, source / "a")
    else:
        add_and_change(archive, [source], source / "b", 1, source / "a")
    archive.run("restore", source, "--to", archive.folder / "out")
    assert (archive.folder / "out" / "src" / "b").read_bytes() == b"newer"


def test_times_that_a_client_of_nfs_remembers(
    archive: Archive, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, look = source / "a", os.lstat
    path.write_text("archived")
    seen = look(path)

    def remembered(of: Path | str, **more: int) -> os.stat_result:
        return seen if str(of) == str(path) else look(of, **more)

    monkeypatch.setattr(os, "lstat", remembered)
    with writing(load_config(archive.config)) as opened:
        order = Order([str(source)], 1)
        done = add(opened, order)
        path.write_text("written")  # by another client
        move(opened, order, done)
    assert path.read_text() == "written"


def test_what_no_index_can_hold_stops_nothing(archive: Archive, source: Path) -> None:
    space = h5py.h5s.create_simple((3,))
    with h5py.File(source / "u.h5", "w") as file:
        file["u"] = np.arange(3.0)
        file["u"].attrs["exact"] = np.longdouble(1) / 3
        for name, kind in ((b"bad\xff", h5py.h5t.NATIVE_INT32), (b"date", h5py.h5t.UNIX_D32LE)):
            h5py.h5d.create(file.id, name, kind, space)
        h5py.h5a.create(file.id, b"bad\xff", h5py.h5t.NATIVE_INT32, space)
    archive.run("add", source)
    (row,) = archive.json("list", source / "u.h5", "--variables")
    assert [each["name"] for each in row["variables"]] == ["u"]


def test_a_disk_without_room_for_the_index(archive: Archive, source: Path) -> None:
    (source / "a").write_text("x")
    archive.run("add", source)
    for i in range(2000):
        (source / f"b{i}").touch()
    with writing(load_config(archive.config)) as opened:
        pages = opened.index.run("PRAGMA page_count").fetchone()[0]
        opened.index.run(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(TailraceError, match="full") as failed:
            add(opened, Order([str(source)], 1))
        assert "move it away" not in str(failed.value)
        assert [each.state for each in opened.index.bundles()] == ["sealed"]
    assert archive.json("add", source)[0]["files"] == 2000


def test_copies_on_a_target_that_is_no_longer_configured(archive: Archive, source: Path) -> None:
    (source / "a").write_text("x")
    archive.run("add", source)
    text = archive.config.read_text()
    archive.config.write_text(text.replace("[targets.one]", "[targets.other]").replace("two", "x"))
    renamed = archive.config.read_text()
    archive.config.write_text(renamed.replace('"one"', '"other"'))
    (archive.folder / "other").mkdir()
    archive.run("add", source, "--move", status=1)
    assert (source / "a").exists()
    archive.config.write_text(renamed)  # the same folder by another name
    archive.run("add", source, "--move")
    assert not source.exists()
    assert "no target 'one'" in archive.run("remove", source, "--force", "--yes", status=1)
