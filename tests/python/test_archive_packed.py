# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace archive` compresses members with zstd, and reads parts of them without the rest."""

import os
import random
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from archive_common import Archive, fill, tree

from tailrace.archive import packed

zstandard = pytest.importorskip("zstandard")


@pytest.fixture
def small_frames(monkeypatch: pytest.MonkeyPatch) -> int:
    from tailrace.archive import bundle  # noqa: PLC0415

    for module in (packed, bundle):
        monkeypatch.setattr(module, "FRAME_BYTES", 50_000)
    monkeypatch.setattr(bundle, "SPOOL_BYTES", 100_000)
    return 50_000


@pytest.fixture
def source(tmp_path: Path) -> Path:
    fill(tmp_path / "src")  # random bytes, which do not shrink
    folder = tmp_path / "src" / "run"
    folder.mkdir()
    chance = random.Random(2)
    for i, size in enumerate((4096, 49_999, 50_000, 50_001, 100_000, 2_300_000)):
        (folder / f"text{i}").write_bytes(bytes(chance.choices(b"abcd", k=size)))
    (folder / "small").write_bytes(b"a" * 4095)
    (folder / "text0.zst").write_bytes(b"b" * 10_000)  # the name that text0 would get
    with h5py.File(folder / "step.h5", "w") as file:
        file.attrs["time"] = 0.5
        file["u"] = np.arange(40 * 64 * 64.0).reshape(40, 64, 64) // 100
        file.create_dataset("v", data=np.arange(90_000), chunks=(9_000,), compression="gzip")
    return tmp_path / "src"


def require_same(first: Path, second: Path) -> None:
    """Name what differs, and not its content."""
    one, two = tree(first), tree(second)
    assert set(one) == set(two)
    assert [name for name in one if one[name] != two[name]] == []


def members(archive: Archive) -> dict[str, int]:
    sizes = {}
    for path in archive.bundles():
        with tarfile.open(path) as opened:
            sizes |= {Path(each.name).name: each.size for each in opened if each.isfile()}
    return sizes


@pytest.mark.usefixtures("small_frames")
@pytest.mark.parametrize("how", ["option", "target"])
def test_they_are_restored_by_us_and_by_others(source: Path, tmp_path: Path, how: str) -> None:
    archive = Archive(tmp_path, "1M..2M")
    if how == "target":
        text = archive.config.read_text().replace('path = "one"', 'path = "one"\ncompress = "zstd"')
        archive.config.write_text(text)
    archive.run(
        "add", source, "--copies", "2", *(["--compress", "zstd"] if how == "option" else [])
    )
    sizes = members(archive)
    assert {"text1.zst", "text5.zst", "step.h5.zst"} < set(sizes)
    assert {"text0", "text0.zst.zst", "small", "f10", "sparse"} < set(sizes)
    assert sizes["text5.zst"] < 0.35 * 2_300_000
    rows = {Path(row["path"]).name: row for row in archive.json("list")}
    assert rows["text5"]["size"] == 2_300_000
    archive.run("verify")
    archive.run("restore", source, "--to", tmp_path / "out")
    require_same(tmp_path / "out" / "src", source)
    again = archive.json("restore", source, "--to", tmp_path / "out")[0]
    assert again["files"] == 0
    assert archive.json("add", source, "--compress", "zstd")[0]["bundles"] == []

    (tmp_path / "plain").mkdir()
    for bundle in archive.bundles():
        subprocess.run(["tar", "xpf", bundle, "-C", tmp_path / "plain"], check=True)
    folder = tmp_path / "plain" / str(source).lstrip("/") / "run"
    for name in ("text1", "text5", "step.h5", "text0.zst"):
        with (folder / f"{name}.zst").open("rb") as file:
            reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            assert reader.read() == (source / "run" / name).read_bytes()
        if program := shutil.which("zstd"):
            words = [program, "-dcq", folder / f"{name}.zst"]
            done = subprocess.run(words, capture_output=True, check=True)
            assert done.stdout == (source / "run" / name).read_bytes()


def test_a_renamed_file_is_known(source: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.run("add", source, "--compress", "zstd")
    path = source / "run" / "text5"
    status = path.stat()
    shutil.copyfile(path, tmp_path / "copy")
    path.unlink()
    (tmp_path / "copy").rename(path)
    path.chmod(status.st_mode & 0o777)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert archive.json("add", path)[0]["known"] == 1


@pytest.mark.usefixtures("small_frames")
def test_a_part_costs_its_frames(source: Path, tmp_path: Path) -> None:
    archive, file = Archive(tmp_path), source / "run" / "step.h5"
    archive.run("add", file, "--compress", "zstd")
    stored = members(archive)["step.h5.zst"]
    words = ["restore", file, "--variable"]
    (part,) = archive.json(*words, "u", "--box", "z=20:22", "--to", tmp_path / "box")
    assert 0 < part["bytes_read"] < 0.4 * stored
    archive.run(*words, "u", "--variable", "v", "--to", tmp_path / "whole")
    with h5py.File(file) as old, h5py.File(tmp_path / "whole" / "step.h5") as new:
        for name in ("u", "v"):
            np.testing.assert_array_equal(new[name][()], old[name][()])
        with h5py.File(tmp_path / "box" / "step.h5") as box:
            np.testing.assert_array_equal(box["u"][()], old["u"][20:22])


@pytest.mark.parametrize("how", ["index", "headers"])
def test_rebuild_index(source: Path, tmp_path: Path, how: str) -> None:
    archive = Archive(tmp_path, "30M..40M")
    archive.run("add", source / "run", "--compress", "zstd")
    rows = {row["path"]: row["size"] for row in archive.json("list")}
    (bundle,) = archive.bundles()
    if how == "headers":
        raw = bytearray(bundle.read_bytes())
        raw[-1500] ^= 1
        bundle.write_bytes(raw)
    shutil.rmtree(tmp_path / "index")
    archive.run("rebuild-index", status=1)
    assert {row["path"]: row["size"] for row in archive.json("list")} == rows
    archive.run("restore", source / "run", "--to", tmp_path / "out")
    require_same(tmp_path / "out" / "run", source / "run")


@pytest.mark.usefixtures("small_frames")
def test_damage_is_named_and_not_restored(source: Path, tmp_path: Path) -> None:
    archive, file = Archive(tmp_path), source / "run" / "step.h5"
    archive.run("add", source / "run", "--compress", "zstd")
    (row,) = archive.json("list", file)
    stored = members(archive)["step.h5.zst"]
    path = archive.folder / "one" / row["bundle"]
    good = path.read_bytes()
    for at in (0, 1, 10, stored // 3, stored // 2, stored - 1, stored - 30):
        raw = bytearray(good)
        raw[row["offset"] + at] ^= 8
        path.write_bytes(raw)
        (found,) = archive.json("verify", status=1)
        problems = found["problems"]
        assert problems and all(problem.startswith(f"{file}: ") for problem in problems)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        text = archive.run("restore", file, "--to", tmp_path / "out", status=1)
        assert "do not match" in text and not list((tmp_path / "out").rglob("*.h5"))


def test_choices(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = Archive(tmp_path)
    assert "give zstd or none" in archive.run("add", source, "--compress", "gzip", status=2)
    archive.run("add", source / "run", "--compress", "zstd")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert "needs the module" in archive.run("add", source, "--compress", "zstd", status=2)
    text = archive.run("restore", source / "run", "--to", tmp_path / "out", status=1)
    assert "zstd, which is not installed" in text


def test_zarr_stores(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    archive, store = Archive(tmp_path), tmp_path / "s.zarr"
    group = zarr.open_group(str(store), mode="w")
    data = np.arange(256 * 256.0).reshape(256, 256) // 1000
    for name in ("u", "v"):
        array = group.create_array(
            name, shape=data.shape, chunks=(64, 64), dtype="f8", compressors=None,
            attributes={"note": "n" * 5000},
        )  # fmt: skip
        array[:] = data
    archive.run("add", store, "--compress", "zstd")
    assert "zarr.json.zst" in members(archive)  # which says where the chunks are
    words = ["restore", store, "--variable", "u", "--box", "y=0:70", "--to", tmp_path / "out"]
    archive.run(*words)
    new = zarr.open_group(str(tmp_path / "out" / "s.zarr"), mode="r")
    np.testing.assert_array_equal(new["u"][0:70], data[0:70])
    assert set(new) == {"u"} and not np.any(new["u"][128:])
