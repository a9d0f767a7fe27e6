# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace archive`: what goes in comes out, copies count once compared, sources stay."""

import os
import random
import shutil
import sqlite3
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from archive_common import Archive, fill, tree


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    fill(tmp_path / "src")
    return tmp_path / "src"


@pytest.mark.parametrize("checksum", ["sha256", "blake3"])
def test_what_is_added_is_restored_by_us_and_by_tar(
    archive: Archive, source: Path, checksum: str
) -> None:
    if checksum == "blake3":
        pytest.importorskip("blake3")
    archive.config.write_text(f'checksum = "{checksum}"\n' + archive.config.read_text())
    (added,) = archive.json("add", source, "--copies", "2")
    assert added["files"] == 8 and not added["problems"] and len(added["bundles"]) > 1
    assert archive.json("add", source, "--copies", "2")[0]["bundles"] == []
    assert len(archive.bundles("one")) == len(archive.bundles("two")) == len(added["bundles"])
    archive.run("restore", source, "--to", archive.folder / "out")
    assert tree(archive.folder / "out" / "src") == tree(source)
    inode = (archive.folder / "out/src/f1").stat().st_ino
    assert (archive.folder / "out/src/d/hard").stat().st_ino == inode
    assert (archive.folder / "out/src/sparse").stat().st_blocks * 512 < 1_000_000
    again = archive.json("restore", source, "--to", archive.folder / "out")[0]
    assert again["files"] == 0 and again["kept"] == 9

    plain = archive.folder / "plain"
    plain.mkdir()
    for bundle in archive.bundles():
        subprocess.run(["tar", "xpf", bundle, "-C", plain], check=True)
    assert tree(plain / str(source).lstrip("/")) == tree(source)
    lists = list(plain.glob(".tailrace-bundle/*/*SUMS"))
    assert len(lists) == len(archive.bundles())
    for sums in lists if checksum == "sha256" else []:
        done = subprocess.run(["sha256sum", "-c", sums], cwd=plain, capture_output=True, check=True)
        assert done.stdout
    names = {"sha256": "SHA256SUMS", "blake3": "B3SUMS"}
    assert {sums.name for sums in lists} == {names[checksum]}
    for bundle in archive.bundles():
        with tarfile.open(bundle) as opened:
            assert opened.getmembers()


def test_hard_links_across_bundles(archive: Archive, tmp_path: Path) -> None:
    source = tmp_path / "links"
    source.mkdir()
    for i in range(4):
        (source / f"a{i}").write_bytes(os.urandom(1_500_000))
        for name in ("b", "c"):
            os.link(source / f"a{i}", source / f"{name}{i}")
    archive.run("add", source, "--move")
    assert len(archive.bundles()) > 2 and not source.exists()
    archive.run("restore", source)
    for i in range(4):
        content = (source / f"a{i}").read_bytes()
        assert len(content) == 1_500_000
        assert all((source / f"{name}{i}").read_bytes() == content for name in "bc")
    shutil.rmtree(source)
    archive.run("restore", source / "c2")
    assert (source / "c2").stat().st_size == 1_500_000


def test_restore_keeps_a_different_file(archive: Archive, source: Path) -> None:
    archive.run("add", source)
    (source / "f1").write_text("newer")
    assert "exists and is different" in archive.run("restore", source / "f1", status=1)
    assert (source / "f1").read_text() == "newer"
    archive.run("restore", source / "f1", "--force")
    assert (source / "f1").stat().st_size == 700_001


def test_versions(archive: Archive, source: Path) -> None:
    archive.run("add", source / "f1")
    old = (source / "f1").read_bytes()
    time.sleep(0.01)  # the date of the second bundle is later
    moment = time.time()
    (source / "f1").write_bytes(b"new")
    archive.run("add", source / "f1")
    assert len(archive.json("list", source / "f1")) == 1
    assert len(archive.json("list", source / "f1", "--versions")) == 2
    archive.run("restore", source / "f1", "--to", archive.folder / "new")
    assert (archive.folder / "new" / "f1").read_bytes() == b"new"
    date = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(moment)) + f"{moment % 1:.6f}"[1:]
    archive.run("restore", source / "f1", "--to", archive.folder / "old", "--as-of", date)
    assert (archive.folder / "old" / "f1").read_bytes() == old


def test_move_removes_only_what_has_all_copies(archive: Archive, source: Path) -> None:
    before = tree(source)
    (archive.folder / "two").write_text("no folder")
    text = archive.run("add", source, "--move", "--copies", "2", status=1)
    assert "target two" in text and tree(source) == before
    rows = {row["path"]: row["copies"] for row in archive.json("list")}
    assert set(rows.values()) == {1}
    (archive.folder / "two").unlink()
    done = archive.json("add", source, "--move", "--copies", "2")[0]
    assert done["bundles"] == [] and not source.exists()
    archive.run("restore", source)
    assert tree(source) == before


def test_a_file_that_changed_since_is_not_removed(archive: Archive, source: Path) -> None:
    archive.run("add", source)
    status = (source / "f2").stat()
    with (source / "f2").open("r+b") as file:
        file.write(b"changed")
    os.utime(source / "f2", ns=(status.st_atime_ns, status.st_mtime_ns))
    done = archive.json("add", source, "--move")[0]
    assert done["files"] == 1  # it was archived again before it was removed
    archive.run("restore", source / "f2", "--to", archive.folder / "out")
    assert (archive.folder / "out" / "f2").read_bytes().startswith(b"changed")


def test_files_that_cannot_be_read_are_reported(archive: Archive, source: Path) -> None:
    os.mkfifo(source / "pipe")
    done = archive.json("add", source, "--move", status=3)[0]
    assert done["left_out"] == [[str(source / "pipe"), "is not a file, folder or link"]]
    assert [path.name for path in source.iterdir()] == ["pipe"]


@pytest.mark.parametrize("size", [100_000, 10_000_000], ids=["shrinks", "grows"])
def test_a_file_that_changes_while_it_is_packed_is_taken_back(tmp_path: Path, size: int) -> None:
    from tailrace.archive.bundle import BundleWriter, Changed  # noqa: PLC0415
    from tailrace.archive.entry import FILE, Entry  # noqa: PLC0415
    from tailrace.archive.sources import set_status  # noqa: PLC0415

    path, bundle = tmp_path / "file", tmp_path / "made.tar"
    path.write_bytes(os.urandom(9_000_000))
    with BundleWriter("made.tar", bundle) as writer, path.open("r+b") as file:
        entries = [Entry(f"/file{i}", FILE) for i in range(3)]
        set_status(entries[0], os.fstat(file.fileno()))
        writer.add(entries[0], file.fileno())
        set_status(entries[1], os.fstat(file.fileno()))
        file.truncate(size)
        with pytest.raises(Changed):
            writer.add(entries[1], file.fileno())
        set_status(entries[2], os.fstat(file.fileno()))
        writer.add(entries[2], file.fileno())
        (tmp_path / "empty").touch()
        writer.finish(tmp_path / "empty", tmp_path / "empty")
    with tarfile.open(bundle) as opened:
        members = {member.name: member.size for member in opened if member.name[0] == "f"}
        assert members == {"file0": 9_000_000, "file2": size}
        last = opened.extractfile("file2")
        assert last is not None and last.read() == path.read_bytes()


def test_one_lost_or_damaged_copy_is_replaced(archive: Archive, source: Path) -> None:
    archive.run("add", source, "--copies", "2")
    first, second, *_ = archive.bundles("two")
    first.unlink()
    raw = bytearray(second.read_bytes())
    raw[len(raw) // 2] ^= 1
    second.write_bytes(raw)
    rows = archive.json("verify", status=1)
    states = {(row["bundle"], row["target"]): row["state"] for row in rows}
    assert states[first.name, "two"] == "missing" and states[second.name, "two"] == "damaged"
    assert archive.json("status", status=1)[0]["short_of_copies"]
    archive.run("restore", source, "--to", archive.folder / "out")
    assert tree(archive.folder / "out" / "src") == tree(source)
    missing = sum((archive.folder / "one" / each.name).stat().st_size for each in (first, second))
    (plan,) = archive.json("copy", source, "--copies", "2", "--dry-run")
    assert (plan["copies"], plan["bytes"]) == (2, missing) and not first.exists()
    archive.run("copy", source, "--copies", "2")
    archive.run("verify")
    assert archive.json("copy", source, "--dry-run")[0]["copies"] == 0
    assert first.read_bytes() == (archive.folder / "one" / first.name).read_bytes()


def test_restore_takes_a_damaged_file_from_the_other_copy(archive: Archive, source: Path) -> None:
    archive.run("add", source, "--copies", "2")
    for bundle in archive.bundles("one"):
        raw = bytearray(bundle.read_bytes())
        for i in range(5000, len(raw), 300_000):
            raw[i] ^= 255
        bundle.write_bytes(raw)
    archive.run("restore", source, "--to", archive.folder / "out")
    assert tree(archive.folder / "out" / "src") == tree(source)
    for bundle in archive.bundles("two"):
        bundle.unlink()
    shutil.rmtree(archive.folder / "out")
    text = archive.run("restore", source, "--to", archive.folder / "out", status=1)
    assert "do not match their checksum" in text
    restored, original = tree(archive.folder / "out" / "src"), tree(source)
    assert all(restored[name] == original[name] for name in restored)
    assert len(restored) < len(original)


def test_every_flipped_bit_is_named(tmp_path: Path) -> None:
    archive = Archive(tmp_path, "1G..2G")
    source = tmp_path / "src"
    source.mkdir()
    for i in range(6):
        (source / f"file{i}").write_bytes(random.Random(i).randbytes(3000))
    archive.run("add", source)
    (bundle,) = archive.bundles()
    raw = bundle.read_bytes()
    rows = {row["path"]: row["offset"] for row in archive.json("list") if row["size"]}
    from tailrace.archive.compare import compare_copy  # noqa: PLC0415
    from tailrace.archive.config import load_config  # noqa: PLC0415
    from tailrace.archive.opened import reading  # noqa: PLC0415

    chance = random.Random(7)
    with reading(load_config(archive.config)) as opened:
        row, target = opened.index.bundles()[0], opened.target("one")
        assert compare_copy(opened.index, row, target) == []
        for _ in range(200):
            at, bit = chance.randrange(len(raw)), chance.randrange(8)
            wrong = bytearray(raw)
            wrong[at] ^= 1 << bit
            bundle.write_bytes(wrong)
            damages = compare_copy(opened.index, row, target)
            assert damages, (at, bit)
            inside = [path for path, start in rows.items() if start <= at < start + 3000]
            if inside:
                assert [damage.path for damage in damages] == inside
            else:
                assert all("header" in damage.part for damage in damages), damages


def test_verify_reads_the_copy_and_nothing_else(archive: Archive, source: Path) -> None:
    """Good copies that lie next to a damaged one, as after a recall, do not hide the damage."""
    archive.run("add", source, "--copies", "2")
    first, *others = archive.bundles("one")
    (archive.folder / "spool").mkdir(exist_ok=True)
    for place in (archive.folder / "spool" / first.name, first.with_name(f".{first.name}.partial")):
        place.write_bytes(first.read_bytes())
    raw = bytearray(first.read_bytes())
    raw[5000] ^= 4
    first.write_bytes(raw)
    rows = {(row["bundle"], row["target"]): row for row in archive.json("verify", status=1)}
    assert rows[first.name, "one"]["state"] == "damaged"
    assert rows[first.name, "two"]["state"] == "verified"
    assert all(rows[other.name, "one"]["state"] == "verified" for other in others)


def test_rebuild_index_from_the_bundles(archive: Archive, source: Path) -> None:
    archive.run("add", source, "--copies", "2")
    rows = archive.json("list")
    shutil.rmtree(archive.folder / "index")
    archive.run("rebuild-index")
    assert {row["copies"] for row in archive.json("list")} == {0}
    archive.run("verify")
    assert archive.json("list") == rows
    archive.run("restore", source, "--to", archive.folder / "out")
    assert tree(archive.folder / "out" / "src") == tree(source)


def test_rebuild_index_searches_behind_a_damaged_header(tmp_path: Path) -> None:
    archive = Archive(tmp_path, "1G..2G")
    source = tmp_path / "src"
    source.mkdir()
    for i in range(3):
        (source / f"file{i}").write_bytes(bytes([i + 1]) * 3000)
    archive.run("add", source)
    (bundle,) = archive.bundles()
    raw = bytearray(bundle.read_bytes())
    places = {row["path"]: row["offset"] for row in archive.json("list")}
    raw[places[f"{source}/file1"] - 512 + 10] ^= 1
    raw[-1500] ^= 1  # and the end, so that headers have to be read
    bundle.write_bytes(raw)
    shutil.rmtree(tmp_path / "index")
    text = archive.run("rebuild-index", status=1)
    assert "a member is lost" in text
    names = {Path(row["path"]).name for row in archive.json("list")}
    assert names >= {"file0", "file2"} and "file1" not in names
    archive.run("verify", status=1)
    archive.run("restore", source / "file2", "--to", tmp_path / "out")
    assert (tmp_path / "out" / "file2").read_bytes() == bytes([3]) * 3000


def test_names_in_a_bundle_cannot_leave_the_folder(archive: Archive, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (tmp_path / "one").mkdir()
    with tarfile.open(tmp_path / "one" / "crafted.tar", "w", format=tarfile.PAX_FORMAT) as made:
        for name, kind, link in (
            ("r/good", tarfile.REGTYPE, ""),
            ("r/d", tarfile.SYMTYPE, str(victim)),
            ("r/d/file", tarfile.REGTYPE, ""),
            ("r/../../up", tarfile.REGTYPE, ""),
            ("r/hard", tarfile.LNKTYPE, str(victim / "secret")),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, link
            made.addfile(info)
    (victim / "secret").write_text("s")
    archive.run("rebuild-index", status=1)
    (tmp_path / "out" / "r").mkdir(parents=True)
    (tmp_path / "out" / "r" / "d").symlink_to(victim)
    archive.run("restore", "/r", "--to", tmp_path / "out", status=1)
    assert [path.name for path in victim.iterdir()] == ["secret"]
    assert not (tmp_path / "up").exists() and (victim / "secret").stat().st_nlink == 1
    assert (tmp_path / "out" / "r" / "good").exists()


def test_remove_takes_only_what_is_named(archive: Archive, tmp_path: Path) -> None:
    for name in ("run1", "run10"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data").write_bytes(os.urandom(1_500_000))
        archive.run("add", tmp_path / name, "--copies", "2")
    assert "--force" in archive.run("remove", tmp_path / "run1", "--yes", status=1)
    archive.run("remove", tmp_path / "run1", "--target", "two", "--yes")
    assert len(archive.bundles("two")) == 1
    text = archive.run("remove", tmp_path / "run1", "--target", "one", "--yes", status=1)
    assert "last verified copy" in text and len(archive.bundles("one")) == 2
    archive.run("remove", tmp_path / "run1", "--force", "--yes")
    assert len(archive.bundles("one")) == 1
    archive.run("verify", tmp_path / "run10")
    assert {Path(row["path"]).parts[-2] for row in archive.json("list") if row["size"]} == {"run10"}


def test_a_target_that_is_not_mounted_gets_nothing(archive: Archive, source: Path) -> None:
    archive.run("add", source / "f1")
    (archive.folder / "one").rename(archive.folder / "elsewhere")
    (archive.folder / "one").mkdir()
    assert "mounted" in archive.run("add", source / "f2", "--move", status=1)
    assert (source / "f2").exists() and not any((archive.folder / "one").iterdir())
    (archive.folder / "one").rmdir()
    (archive.folder / "elsewhere").rename(archive.folder / "one")
    archive.run("verify")


def test_a_full_target_leaves_the_source(archive: Archive, source: Path) -> None:
    text = archive.config.read_text().replace('path = "one"', 'path = "one"\ncapacity = "1k"')
    archive.config.write_text(text)
    before = tree(source)
    assert "are free" in archive.run("add", source, "--move", "--copies", "2", status=1)
    assert tree(source) == before
    archive.config.write_text(text.replace("1k", "50M"))
    archive.run("add", source, "--move", "--copies", "2")
    assert not source.exists()
    archive.run("verify")


def test_another_target_is_taken_for_a_full_one(archive: Archive, source: Path) -> None:
    text = archive.config.read_text().replace('path = "one"', 'path = "one"\ncapacity = "1k"')
    archive.config.write_text(text)
    assert "target one" in archive.run("add", source, "--move", status=1)
    assert not source.exists() and {row["target"] for row in archive.json("verify")} == {"two"}
    assert not archive.bundles("one") and not list((archive.folder / "one").glob(".*.partial"))


def test_an_interrupted_remove_is_finished(archive: Archive, source: Path) -> None:
    archive.run("add", source / "f1")
    archive.run("add", source / "f2")
    base = sqlite3.connect(archive.folder / "index" / "index.sqlite", isolation_level=None)
    base.execute("UPDATE files SET removed = 1 WHERE bundle = 1")  # as if killed behind this
    base.close()
    archive.run("remove", source / "f2", "--force", "--yes")
    assert archive.bundles() == []


def test_a_damaged_index_is_reported(archive: Archive, source: Path) -> None:
    archive.run("add", source)
    path = archive.folder / "index" / "index.sqlite"
    raw = bytearray(path.read_bytes())
    raw[4096:8192] = os.urandom(4096)
    path.write_bytes(raw)
    assert "rebuild-index" in archive.run("add", source, status=1)
    path.unlink()
    assert "target two" in archive.run("rebuild-index", status=1)  # has no folder yet
    archive.run("verify")


def test_writers_wait_for_each_other(archive: Archive, source: Path) -> None:
    commands = [archive.start("add", source / name) for name in ("f1", "f2", "f10", "sparse")]
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    assert [process.wait(120) for process in started] == [0] * 4
    assert len({row["path"] for row in archive.json("list")}) == 4
    base = sqlite3.connect(archive.folder / "index" / "index.sqlite")
    assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert base.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_lost_lock_stops_the_writer(archive: Archive, source: Path) -> None:
    from tailrace.archive.add import Order, add  # noqa: PLC0415
    from tailrace.archive.config import load_config  # noqa: PLC0415
    from tailrace.archive.opened import lock_path, writing  # noqa: PLC0415
    from tailrace.errors import TailraceError  # noqa: PLC0415

    config = load_config(archive.config)
    with writing(config) as opened:
        lock_path(config).unlink()
        with pytest.raises(TailraceError, match="lock was removed"):
            add(opened, Order([str(source)], 1))
    assert archive.bundles() == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("copies = 3", "copies"),
        ("cpies = 1", "unknown key cpies"),
        ('[targets.x]\nkind = "tape"', "kind"),
        ('[targets.y]\nkind = "directory"\npath = "y"\nbundle = "5Q"', "is not a size"),
    ],
)
def test_mistakes_in_the_configuration(tmp_path: Path, line: str, said: str) -> None:
    archive = Archive(tmp_path)
    text = archive.config.read_text()
    archive.config.write_text(text + line if line.startswith("[") else f"{line}\n{text}")
    (tmp_path / "f").touch()
    copies = ["--copies", "3"] if "targets.x" in line else []
    done = subprocess.run(
        archive.start("add", tmp_path / "f", *copies), capture_output=True, text=True, check=False
    )
    assert done.returncode in (1, 2) and said in done.stderr
    assert "Traceback" not in done.stderr


def test_config_stands_before_or_behind_the_subcommand(archive: Archive, source: Path) -> None:
    from tailrace.cli import _run_command  # noqa: PLC0415

    def status(*words: str | Path) -> int:
        return _run_command(["archive", *map(str, words)])

    assert status("--config", archive.config, "add", source, "-q") == 0
    assert status("list", source, "--config", archive.config) == 0
    assert status("--config", archive.folder / "absent.toml", "list", source) == 2
    # The one behind the subcommand is closer to it, and of an earlier call nothing is left.
    assert status("--config", archive.folder / "no", "list", "--config", archive.config) == 0
    assert status("list", source) == 2


def test_a_timer_has_the_configuration(
    archive: Archive, capsys: pytest.CaptureFixture[str]
) -> None:
    from tailrace.cli import _run_command  # noqa: PLC0415

    words = ["archive", "--config", str(archive.config), "nightly", "--print-timer"]
    assert _run_command(words) == 0
    assert f"nightly --config {archive.config}" in capsys.readouterr().out


def test_bundles_keep_to_the_larger_size(tmp_path: Path) -> None:
    archive, source = Archive(tmp_path, "200k..400k"), tmp_path / "src"
    source.mkdir()
    for i in range(300):
        (source / f"{i}{'n' * (i % 90)}").write_bytes(os.urandom(i * 37))
    archive.run("add", source)
    sizes = [path.stat().st_size for path in archive.bundles()]
    # They are full but for the room for a member, and an index that was expected to be longer.
    assert max(sizes) <= 400_000 and all(size > 250_000 for size in sorted(sizes)[1:])
