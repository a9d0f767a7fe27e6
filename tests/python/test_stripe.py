# SPDX-License-Identifier: BSD-3-Clause
"""Stripes: advice, Lustre against recorded outputs of its tool, CephFS against a real one.

There is no Lustre here: a stand-in named ``lfs`` prints what the real tool once printed
(data/lfs/README.md names the sources) and notes how it was called.
"""

import json
import os
import shlex
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from stand_ins import built, write_script
from typer.testing import CliRunner, Result

from tailrace.cli import app
from tailrace.errors import TailraceError
from tailrace.striping import file_system, lustre
from tailrace.striping.advice import advise
from tailrace.striping.layout import ALL_TARGETS, parse_size, size_text

DATA = Path(__file__).parent / "data" / "lfs"
CEPHFS = os.environ.get("TAILRACE_CEPHFS", "")


def recorded(name: str) -> str:
    return (DATA / f"{name}.txt").read_text()


def stripe(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["stripe", *map(str, words)], env={"COLUMNS": "200"})


def error_of(*words: str | Path) -> str:
    result = stripe(*words)
    assert isinstance(result.exception, TailraceError), result.output
    return str(result.exception)


# Advice


@pytest.mark.parametrize(
    ("files", "writers", "gib", "targets", "count"),
    [
        (100, 1, 1, 16, 1),
        (17, 4, 1, 16, 1),
        (16, 4, 1, 16, 1),
        (8, 4, 1, 16, 2),
        (5, 4, 1, 16, 3),
        (2, 64, 1, 16, 8),
        (1, 64, 1, 16, 16),
        (1, 2, 1, 1, 1),
        (1, 1, 1, 16, 4),
        (1, 1, 1, 2, 2),
    ],
)
def test_files_share_the_targets(
    files: int, writers: int, gib: int, targets: int, count: int
) -> None:
    advice = advise(files, writers, gib << 30, targets)
    assert advice.count == count
    assert advice.count * files <= targets or advice.count == 1
    assert any("first target" in reason for reason in advice.reasons)


@pytest.mark.parametrize(
    ("writers", "size", "expected"),
    [(64, 64 << 20, 1 << 20), (4, 12_000_000, 2 << 20), (1, 1000, 1 << 20), (4, 1 << 40, 16 << 20)],
)
def test_stripe_size_is_the_share_of_a_writer(writers: int, size: int, expected: int) -> None:
    advice = advise(1, writers, size, 8)
    assert advice.size == expected
    assert advice.size % (64 << 10) == 0


def test_a_small_file_has_no_more_targets_than_stripes() -> None:
    advice = advise(1, 64, 3 << 20, 16)
    assert advice.count == 3
    assert any("only 3 stripes" in reason for reason in advice.reasons)


def test_sizes() -> None:
    assert [parse_size(text, "--size") for text in ("0", "64k", "1M", "2GiB", "10000")] == [
        0,
        65536,
        1 << 20,
        2 << 30,
        10000,
    ]
    assert size_text(64 << 10) == "64 KiB"
    for wrong in ("", "1MB", "-1", "1.5M", "M"):
        with pytest.raises(TailraceError, match="1MiB"):
            parse_size(wrong, "--size")


# Lustre, recorded


@pytest.mark.parametrize(
    ("name", "count", "size", "targets", "pool"),
    [
        ("getstripe_file", 4, 2 << 20, (28, 30, 1, 5), ""),
        ("getstripe_file_old", 4, 1 << 20, (10, 11, 12, 13), ""),
        ("getstripe_file_empty_pattern", 1, 4 << 20, (), ""),
        ("getstripe_folder", 1, 1 << 20, (), ""),
        ("getstripe_folder_old", 4, 1 << 20, (), ""),
        ("getstripe_folder_pool", 1, 1 << 20, (), "ddn_hdd"),
        ("getstripe_composite_compressed", 1, 4 << 20, (1,), ""),
    ],
)
def test_recorded_plain_layouts(
    name: str, count: int, size: int, targets: tuple[int, ...], pool: str
) -> None:
    (component,) = lustre.parse_getstripe(recorded(name))
    assert component.stripe_count == count
    assert component.stripe_bytes == size
    assert component.targets == targets
    assert component.pool == pool
    assert (component.start, component.end) == (0, None)


def test_recorded_composite_layouts() -> None:
    parts = lustre.parse_getstripe(recorded("getstripe_composite"))
    assert [(p.start, p.end) for p in parts] == [
        (0, 4 << 20),
        (4 << 20, 64 << 20),
        (64 << 20, None),
    ]
    assert [p.stripe_count for p in parts] == [1, 4, 8]
    assert parts[2].targets == (4, 5, 6, 7, 0, 1, 2, 3)
    folder = lustre.parse_getstripe(recorded("getstripe_composite_folder"))
    assert [(p.stripe_count, p.stripe_bytes) for p in folder] == [
        (1, 1 << 20),
        (4, 1 << 20),
        (ALL_TARGETS, 4 << 20),
    ]
    mirrors = lustre.parse_getstripe(recorded("getstripe_mirror"))
    assert [(p.stripe_count, p.pool) for p in mirrors] == [(2, "flash"), (6, "archive")]


def test_recorded_targets() -> None:
    assert lustre.parse_osts(recorded("osts")) == 3
    assert lustre.parse_osts(recorded("osts_old")) == 4


@pytest.mark.parametrize("text", ["", "nonsense", "stripe_count: 4"])
def test_other_texts_are_no_layout(text: str) -> None:
    with pytest.raises(TailraceError, match="no layout"):
        lustre.parse_getstripe(text)
    with pytest.raises(TailraceError, match="no targets"):
        lustre.parse_osts(text)


FAKE_LFS = """#!/bin/sh
# Prints what the real tool printed once, and notes how it was called.
echo "$*" >> "$LFS_CALLS"
for last; do :; done
case $1 in
  getstripe) if [ -d "$last" ]; then cat "$LFS_DATA/getstripe_folder.txt"
             else cat "$LFS_DATA/getstripe_file.txt"; fi ;;
  osts) cat "$LFS_DATA/osts_old.txt" ;;
  setstripe) [ -z "$LFS_REFUSES" ] || { cat "$LFS_DATA/setstripe_set_already.txt" >&2; exit 17; }
             [ -d "$last" ] || : > "$last" ;;
esac
"""


@pytest.fixture
def on_lustre(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that counts as Lustre, with the stand-in first on PATH."""
    tools = tmp_path / "tools"
    tools.mkdir()
    write_script(tools / "lfs", FAKE_LFS)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("LFS_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("LFS_DATA", str(DATA))
    monkeypatch.setenv("LFS_REFUSES", "")
    monkeypatch.setattr(file_system, "file_system_of", lambda _: "lustre")
    folder = tmp_path / "lustre"
    folder.mkdir()
    return folder


def calls(folder: Path) -> list[list[str]]:
    return [shlex.split(line) for line in (folder.parent / "calls").read_text().splitlines()]


def test_show_on_lustre(on_lustre: Path) -> None:
    file = on_lustre / "testfile1"
    file.write_text("data")
    output = stripe("show", file).output
    for part in ("lustre, this file", "stripe count  4", "2 MiB", "28 30 1 5"):
        assert part in output
    assert "new files of this folder" in stripe("show", on_lustre).output
    assert calls(on_lustre)[-1] == ["getstripe", "-d", str(on_lustre)]
    layout = json.loads(stripe("show", "--json", file).output)
    assert layout["components"][0]["targets"] == [28, 30, 1, 5]


def test_advise_on_lustre(on_lustre: Path) -> None:
    output = stripe("advise", on_lustre, "--files", 1, "--writers", 8, "--bytes", "1G").output
    assert "one file written by 8: all 4 targets" in output
    assert f"lfs setstripe --stripe-count 4 --stripe-size 16777216 {on_lustre}" in output
    assert "striping_factor=4:striping_unit=16M" in output
    assert calls(on_lustre) == [["osts", str(on_lustre)]]
    advice = json.loads(
        stripe("advise", on_lustre, "--files", 9, "--writers", 1, "--bytes", "1G", "--json").output
    )
    assert advice["count"] == 1


def test_set_on_lustre_never_names_a_first_target(on_lustre: Path) -> None:
    new = on_lustre / "new.h5"
    assert stripe("set", new, "--count", -1, "--size", "4M").exit_code == 0
    expected = ["setstripe", "--stripe-count", "-1", "--stripe-size", "4194304", str(new)]
    assert calls(on_lustre)[0] == expected
    assert stripe("set", on_lustre, "--count", 2).exit_code == 0
    assert ["setstripe", "--stripe-count", "2", str(on_lustre)] in calls(on_lustre)
    words = {word for call in calls(on_lustre) for word in call}
    assert not words & {"-i", "-o", "--stripe-index", "--index", "--offset", "--ost"}


def test_set_replaces_an_empty_file_that_has_its_stripes_already(on_lustre: Path) -> None:
    empty = on_lustre / "empty"
    empty.touch()
    empty.chmod(0o640)
    before = empty.stat().st_ino
    assert stripe("set", empty, "--count", 2).exit_code == 0
    assert empty.stat().st_ino != before
    assert stat.S_IMODE(empty.stat().st_mode) == 0o640
    assert [path.name for path in on_lustre.iterdir()] == ["empty"]


def test_set_on_lustre_says_why_lfs_refused(
    on_lustre: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LFS_REFUSES", "1")
    empty = on_lustre / "empty"
    empty.touch()
    for path in (on_lustre / "new", empty):
        assert "stripe already set" in error_of("set", path, "--count", 2)
    assert [path.name for path in on_lustre.iterdir()] == ["empty"]


def test_without_lfs(on_lustre: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(on_lustre))
    assert "lfs is not on PATH" in error_of("show", on_lustre)


# Any file system


def test_other_file_systems_say_so(tmp_path: Path) -> None:
    built("tailrace-stripe")
    result = stripe("show", tmp_path)
    assert result.exit_code == 0
    assert "has no stripes that can be read or set" in result.output
    assert "no stripes to set" in error_of("set", tmp_path, "--count", 2)
    words = ("advise", tmp_path, "--files", 1, "--writers", 2, "--bytes", "1G")
    assert "give --targets" in error_of(*words)
    output = stripe(*words, "--targets", 6).output
    assert "all 6 targets" in output
    assert "no stripes to set" in output


def test_wrong_input(tmp_path: Path) -> None:
    built("tailrace-stripe")
    full = tmp_path / "full"
    full.write_text("data")
    assert "no such file" in error_of("show", tmp_path / "absent")
    assert "no folder" in error_of("set", tmp_path / "absent" / "file", "--count", 2)
    assert "nothing to set" in error_of("set", tmp_path)
    assert "--count -2" in error_of("set", tmp_path, "--count", -2)
    assert "64 KiB" in error_of("set", tmp_path, "--size", "10000")
    assert "64 KiB" in error_of("set", tmp_path, "--size", "4G")
    assert "1MiB" in error_of("set", tmp_path, "--size", "1MB")
    assert "contains data" in error_of("set", full, "--count", 2)
    assert full.read_text() == "data"
    words = ("advise", tmp_path, "--files", 1, "--writers", 2, "--targets", 6, "--bytes")
    assert "--bytes 0" in error_of(*words, "0")


# CephFS, a real one


@pytest.fixture
def on_ceph() -> Iterator[Path]:
    """A folder on the CephFS that TAILRACE_CEPHFS names."""
    with tempfile.TemporaryDirectory(dir=CEPHFS, prefix="tailrace_stripe_") as name:
        yield Path(name)


needs_ceph = pytest.mark.skipif(not CEPHFS, reason="TAILRACE_CEPHFS names no mount of a CephFS")


@pytest.mark.cephfs
@needs_ceph
def test_show_and_set_on_cephfs(on_ceph: Path) -> None:
    assert "ceph, new files of this folder, from" in stripe("show", on_ceph).output
    assert "stripe size   4 MiB" in stripe("show", on_ceph).output
    file = on_ceph / "file"
    output = stripe("set", file, "--count", 4, "--size", "1M").output
    assert "stripe count  4" in output
    assert "stripe size   1 MiB" in output
    assert stripe("set", file, "--count", 2).exit_code == 0
    layout = os.getxattr(file, "ceph.file.layout").decode()
    assert "stripe_unit=1048576 stripe_count=2 object_size=4194304" in layout
    assert stripe("set", file, "--size", "8M").exit_code == 0
    layout = os.getxattr(file, "ceph.file.layout").decode()
    assert "stripe_unit=8388608 stripe_count=2 object_size=8388608" in layout


@pytest.mark.cephfs
@needs_ceph
def test_an_empty_file_that_held_data_is_replaced_on_cephfs(on_ceph: Path) -> None:
    file = on_ceph / "file"
    file.write_text("data")
    file.write_text("")
    file.chmod(0o640)
    assert stripe("set", file, "--count", 4, "--size", "1M").exit_code == 0
    assert b"stripe_count=4" in os.getxattr(file, "ceph.file.layout")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [path.name for path in on_ceph.iterdir()] == ["file"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_system, "SMALLEST_STRIPE", 1)  # so that the library refuses
        assert "cannot set the stripes" in error_of("set", file, "--size", "1000")
        assert "cannot set the stripes" in error_of("set", on_ceph / "new", "--size", "1000")
    assert [path.name for path in on_ceph.iterdir()] == ["file"]


@pytest.mark.cephfs
@needs_ceph
def test_a_folder_on_cephfs_passes_its_layout_on(on_ceph: Path) -> None:
    assert stripe("set", on_ceph, "--count", 3, "--size", "2M").exit_code == 0
    below = on_ceph / "below"
    below.mkdir()
    file = below / "file"
    file.write_text("data")
    for path in (on_ceph, below, file):
        layout = json.loads(stripe("show", "--json", path).output)
        component = layout["components"][0]
        assert (component["stripe_count"], component["stripe_bytes"]) == (3, 2 << 20)
    assert f"from folder {on_ceph}" in stripe("show", below).output
    assert "contains data" in error_of("set", file, "--count", 2)


@pytest.mark.cephfs
@needs_ceph
def test_the_advised_command_works_on_cephfs(on_ceph: Path) -> None:
    file = on_ceph / "new file"
    words = ("--files", 1, "--writers", 8, "--bytes", "64M", "--targets", 4, "--json")
    advice = json.loads(stripe("advise", file, *words).output)
    assert os.system(advice["command"]) == 0
    component = json.loads(stripe("show", "--json", file).output)["components"][0]
    assert (component["stripe_count"], component["stripe_bytes"]) == (4, 8 << 20)
