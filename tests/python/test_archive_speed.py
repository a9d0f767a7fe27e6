# SPDX-License-Identifier: BSD-3-Clause
"""What makes `tailrace archive` fast keeps its promises: read-back while writing, checksums."""

import errno
import fcntl
import gzip
import json
import mmap
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from archive_common import Archive, fill, tree

from tailrace.archive import bundle, read_back
from tailrace.archive.entry import FILE, Entry
from tailrace.archive.sources import set_status
from tailrace.archive.targets import directory
from tailrace.archive.targets.directory import Directory


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members lie across many blocks and batches."""
    monkeypatch.setattr(bundle, "BLOCK_BYTES", 50_000)
    monkeypatch.setattr(bundle, "PART_BYTES", 7_000)
    monkeypatch.setattr(read_back, "BATCH_BYTES", 60_000)


def put_files(folder: Path, count: int = 30) -> Path:
    chance = random.Random(5)
    folder.mkdir()
    for i in range(count):
        (folder / f"file{i}").write_bytes(
            chance.randbytes(chance.choice((0, 1, 900, 40_000, 150_000)))
        )
    return folder


@pytest.mark.usefixtures("small_blocks")
def test_blocks_and_batches_of_any_size(tmp_path: Path) -> None:
    archive, source = Archive(tmp_path, "3M..30M"), put_files(tmp_path / "src")
    fill(source / "more")
    archive.run("add", source)
    archive.run("verify", "--target", "one")
    archive.run("restore", source, "--to", tmp_path / "out")
    assert tree(tmp_path / "out" / "src") == tree(source)
    (made,) = archive.bundles()
    with tarfile.open(made) as opened:
        for i in range(30):
            member = opened.extractfile(f"{str(source).lstrip('/')}/file{i}")
            assert member is not None and member.read() == (source / f"file{i}").read_bytes()


@pytest.mark.parametrize("direct", ["as it is", "refused when opened", "refused at a write"])
def test_writes_and_reads_that_bypass_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct: str
) -> None:
    """With blocks of the usual size, and where the file system has no such writes and reads."""
    chance, source = random.Random(6), tmp_path / "src"
    source.mkdir()
    for i, size in enumerate((5_000_000, 9_000_001, 700, 0, 8_388_608, 3_333_333, 2_097_152)):
        (source / f"file{i}").write_bytes(chance.randbytes(size))
    fill(source / "more")
    if direct == "refused when opened":
        monkeypatch.setattr(bundle, "_open_direct", lambda _path: -1)
    if direct != "as it is":
        refuse(monkeypatch, bundle, "write_at")
        monkeypatch.setattr(directory, "_fill", refusing(directory._fill))
    archive = Archive(tmp_path, "30M..90M")
    archive.run("add", source)
    archive.run("verify", "--target", "one")
    monkeypatch.setattr(directory, "_is_in_cache", lambda _file, _offset: False)
    archive.run("restore", source, "--to", tmp_path / "out")
    assert tree(tmp_path / "out" / "src") == tree(source)
    (made,) = archive.bundles()
    assert made.stat().st_size % 512 == 0
    with tarfile.open(made) as opened:
        member = opened.extractfile(f"{str(source).lstrip('/')}/file1")
        assert member is not None and member.read() == (source / "file1").read_bytes()


def refuse(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    """Let a function fail where it gets a descriptor of direct writes."""
    plain = getattr(module, name)

    def refusing_writes(descriptor: int, block: memoryview, offset: int) -> None:
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_DIRECT:
            raise OSError(errno.EINVAL, "no direct writes")
        plain(descriptor, block, offset)

    monkeypatch.setattr(module, name, refusing_writes)


def refusing(plain: Any) -> Any:
    """Return `_fill` of a file system without direct reads."""

    def fill_block(file: Any, flags: int, *rest: Any, **more: Any) -> int:
        if flags:
            raise directory._NotAligned
        done: int = plain(file, flags, *rest, **more)
        return done

    return fill_block


@pytest.mark.usefixtures("small_blocks")
def test_a_member_that_is_taken_back(tmp_path: Path) -> None:
    """What was written of a file that became shorter goes, down to the byte."""
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_bytes(b"g" * 60_001)
    bad.write_bytes(b"b" * 120_000)
    with bundle.BundleWriter("k.tar", tmp_path / "k.tar", follow=True) as writer:
        for path, size in ((good, 60_001), (bad, 120_001), (good, 60_001)):
            entry = Entry(f"/{path.name}", FILE)
            descriptor = os.open(path, os.O_RDONLY)
            set_status(entry, os.fstat(descriptor))
            entry.size = size
            at = writer.at
            if path == bad:
                with pytest.raises(bundle.Changed, match="shorter"):
                    writer.add(entry, descriptor)
                assert writer.at == at
            else:
                writer.add(entry, descriptor)
                for offset, length in ((0, 60_001), (0, 5), (3, 50_000), (49_000, 11_001)):
                    assert writer.read(entry.data + offset, length) == b"g" * length
            os.close(descriptor)
        for name in ("sums", "index"):
            (tmp_path / name).write_bytes(b"")
        size, _, trailer = writer.finish(tmp_path / "sums", tmp_path / "index")
        assert writer.compared is not None and writer.compared.sound
        assert writer.compared.at == trailer and (tmp_path / "k.tar").stat().st_size == size
    with tarfile.open(tmp_path / "k.tar") as opened:
        members = [each for each in opened if each.name == "good"]
        read = [opened.extractfile(each) for each in members]
        assert [each.read() if each else b"" for each in read] == [good.read_bytes()] * 2


@pytest.mark.usefixtures("small_blocks")
def test_only_the_end_is_left_to_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive, source = Archive(tmp_path, "3M..30M"), put_files(tmp_path / "src")
    read: list[int] = []
    plain = Directory.read_into

    def counted(
        self: Directory, key: str, offset: int, block: memoryview, cached: bool = True
    ) -> int:
        assert not cached
        read.append(len(block))
        return plain(self, key, offset, block, cached)

    monkeypatch.setattr(Directory, "read_into", counted)
    archive.run("add", source)
    (made,) = archive.bundles()
    with tarfile.open(made) as opened:
        trailer = next(each.offset for each in opened if each.name.startswith(".tailrace-bundle"))
    size = made.stat().st_size
    assert size - trailer <= sum(read) <= size - trailer + 2 * mmap.PAGESIZE
    read.clear()
    archive.run("verify", "--target", "one")
    assert size <= sum(read) <= size + mmap.PAGESIZE


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("part", [0.01, 0.5, 0.99])
def test_a_disk_that_changes_a_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: float
) -> None:
    archive, source = Archive(tmp_path, "3M..30M"), put_files(tmp_path / "src")
    plain, wrong = (
        bundle.write_at,
        int(part * sum(path.stat().st_size for path in source.iterdir())),
    )

    def lying(descriptor: int, block: memoryview, offset: int) -> None:
        plain(descriptor, block, offset)
        if offset <= wrong < offset + len(block):
            cached = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY)
            os.pwrite(cached, bytes([block[wrong - offset] ^ 16]), wrong)
            os.close(cached)

    monkeypatch.setattr(bundle, "write_at", lying)
    before = tree(source)
    text = archive.run("add", source, "--move", status=1)
    assert "the stored copy is damaged" in text and f"{source}/file" in text
    assert tree(source) == before
    assert {row["copies"] for row in archive.json("list")} == {0}


@pytest.mark.slow
def test_a_run_of_ten_thousand_files(tmp_path: Path) -> None:
    """Memory stays below 300 MB, and little more is written than the files have."""
    archive, source, chance = Archive(tmp_path, "100M..1G"), tmp_path / "run", random.Random(9)
    for step in range(100):
        (source / f"step_{step}").mkdir(parents=True)
        for i in range(100):
            size = 1_000_000 if i == 0 else 15_000 + i
            (source / f"step_{step}" / f"part_{i}").write_bytes(chance.randbytes(size))
    words = [("add", source), ("verify", source, "--target", "one")]
    words.append(("restore", source, "--to", tmp_path / "out"))
    for each in words:
        done = subprocess.Popen(archive.start(*each), stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(done.pid, 0)
        assert status == 0 and used.ru_maxrss < 300_000, each
    total = sum(path.stat().st_size for path in source.rglob("part_*"))
    (bundle_file,) = archive.bundles()
    assert total < bundle_file.stat().st_size < total + 10_000 * 2_500
    assert tree(tmp_path / "out" / "run") == tree(source)
    assert len(archive.json("list", source)) == 10_101
    (plan,) = archive.json("restore", source / "step_7", "--to", tmp_path / "part", "--dry-run")
    assert plan["bundles"] == 1 and plan["bytes_read"] < 100 * (16_000 + 2_000) + 1_000_000


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a bundle's own index."""
    with tarfile.open(path) as opened:
        name = next(each for each in opened if each.name.endswith("/index.jsonl.gz"))
        raw = opened.extractfile(name)
        assert raw is not None
        return [json.loads(line) for line in gzip.decompress(raw.read()).splitlines()]


def test_an_index_of_version_1_is_used_further(tmp_path: Path) -> None:
    archive, source = Archive(tmp_path), put_files(tmp_path / "src")
    config = archive.config.read_text()
    archive.config.write_text('checksum = "sha256"\n' + config)
    archive.run("add", source)
    rows = archive.json("list")
    # The bundle's own index is that of version 1, too.
    assert all("sha256" in row for row in lines_of(archive.bundles()[0]) if row.get("kind") == "f")
    with sqlite3.connect(tmp_path / "index" / "index.sqlite") as base:
        base.execute("ALTER TABLE files RENAME COLUMN checksum TO sha256")
        base.execute("ALTER TABLE files DROP COLUMN more")
        base.execute("PRAGMA user_version = 1")
    archive.config.write_text(config)
    assert archive.json("list") == rows
    (source / "another").write_bytes(b"another")
    archive.run("add", source, "--copies", "2")
    archive.run("verify")
    archive.run("restore", source, "--to", tmp_path / "out")
    assert tree(tmp_path / "out" / "src") == tree(source)


def test_each_member_keeps_its_algorithm(tmp_path: Path) -> None:
    blake3 = pytest.importorskip("blake3").blake3
    archive, source = Archive(tmp_path), tmp_path / "src"
    source.mkdir()
    config = archive.config.read_text()
    for name in ("sha256", "blake3"):
        (source / name).write_bytes(name.encode() * 1000)
        archive.config.write_text(f'checksum = "{name}"\n' + config)
        archive.run("add", source)
    rows = {Path(row["path"]).name: row for row in archive.json("list")}
    assert rows["blake3"]["blake3"] == blake3(b"blake3" * 1000).hexdigest()
    assert "sha256" in rows["sha256"] and "blake3" not in rows["sha256"]
    shutil.rmtree(tmp_path / "index")
    archive.run("rebuild-index", status=1)  # the second target was never used
    archive.run("verify")
    assert {Path(row["path"]).name: row for row in archive.json("list")} == rows
    os.utime(source / "blake3", ns=(10**18, (source / "blake3").stat().st_mtime_ns))
    assert archive.json("add", source)[0]["bundles"] == []  # compared by its bytes
    archive.run("restore", source, "--to", tmp_path / "out")
    assert tree(tmp_path / "out" / "src") == tree(source)


def test_without_blake3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("blake3")
    archive, source = Archive(tmp_path), put_files(tmp_path / "src")
    archive.run("add", source)
    monkeypatch.setitem(sys.modules, "blake3", None)
    text = archive.run("restore", source, "--to", tmp_path / "out", status=1)
    assert "BLAKE3, which is not installed" in text and "tailrace[archive]" in text
    archive.config.write_text('checksum = "md5"\n' + archive.config.read_text())
    assert "give sha256 or blake3" in archive.run("list", status=2)
