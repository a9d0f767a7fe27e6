# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace archive` keeps extended attributes of users and access control lists."""

import base64
import os
import shutil
import struct
import subprocess
import tarfile
from pathlib import Path

import pytest
from archive_common import Archive

from tailrace.archive.attributes import from_records, set_attributes, to_records

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
VALUES = {"user.note": b"made by r1", "user.bytes": b"\xff\x00line\n=\xe9", "user.empty": b""}


def control_list(*rows: tuple[int, int, int]) -> bytes:
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)


NOBODY = 0xFFFFFFFF
LIST = control_list(
    (1, 6, NOBODY), (2, 4, 1234), (2, 7, 1300), (4, 4, NOBODY), (8, 5, 77), (16, 7, NOBODY),
    (32, 0, NOBODY),
)  # fmt: skip


def attributes(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in sorted(os.listxattr(path))}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "src"
    (folder / "below").mkdir(parents=True)
    (folder / "file").write_text("content")
    (folder / "plain").write_text("plain")
    try:
        for path in (folder / "file", folder / "below"):
            for name, value in VALUES.items():
                os.setxattr(path, name, value)
        os.setxattr(folder / "file", ACCESS, LIST)
        os.setxattr(folder / "below", DEFAULT, LIST)
    except OSError as error:
        pytest.skip(f"no access control lists here: {error.strerror}")
    return folder


def require_same(first: Path, second: Path) -> None:
    for name in ("file", "below", "plain"):
        assert attributes(first / name) == attributes(second / name)
        assert (first / name).stat().st_mode == (second / name).stat().st_mode
    assert attributes(first / "plain") == {}
    assert {ACCESS, *VALUES} == set(attributes(first / "file"))


def test_they_are_restored_by_us_and_by_tar(source: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.run("add", source)
    archive.run("restore", source, "--to", tmp_path / "out")
    require_same(source, tmp_path / "out" / "src")
    (bundle,) = archive.bundles()
    (tmp_path / "plain").mkdir()
    words = ["tar", "--xattrs", "--acls", "-xpf", bundle, "-C", tmp_path / "plain"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    if "not supported" in done.stderr or "not compiled" in done.stderr:
        pytest.skip("tar is not installed with access control lists")
    require_same(source, tmp_path / "plain" / str(source).lstrip("/"))


@pytest.mark.parametrize("how", ["index", "headers"])
def test_they_are_found_by_rebuild_index(source: Path, tmp_path: Path, how: str) -> None:
    archive = Archive(tmp_path)
    archive.run("add", source)
    (bundle,) = archive.bundles()
    if how == "headers":
        raw = bytearray(bundle.read_bytes())
        raw[-1500] ^= 1
        bundle.write_bytes(raw)
    shutil.rmtree(tmp_path / "index")
    archive.run("rebuild-index", status=1)
    archive.run("restore", source, "--to", tmp_path / "out")
    require_same(source, tmp_path / "out" / "src")


def test_a_change_of_them_is_archived(source: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.run("add", source)
    assert archive.json("add", source)[0]["bundles"] == []
    os.setxattr(source / "plain", "user.new", b"1")
    assert archive.json("add", source)[0]["files"] == 1
    os.removexattr(source / "below", "user.note")
    assert len(archive.json("add", source)[0]["bundles"]) == 1
    archive.run("restore", source, "--to", tmp_path / "out")
    for name in ("file", "below", "plain"):
        assert attributes(source / name) == attributes(tmp_path / "out" / "src" / name)


def test_records() -> None:
    given = {name: base64.b64encode(value).decode() for name, value in VALUES.items()}
    given |= {ACCESS: base64.b64encode(LIST).decode()}
    records = to_records(given)
    text = "user::rw-,user:1234:r--,user:1300:rwx,group::r--,group:77:r-x,mask::rwx,other::---"
    assert records["SCHILY.acl.access"] == text
    info = tarfile.TarInfo("x")
    info.pax_headers = records
    raw = info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
    read = tarfile.TarInfo.frombuf(raw[-512:], "utf-8", "surrogateescape")
    assert read.name == "x" and from_records(records) == given
    assert (
        from_records({"SCHILY.acl.access": text.replace(",", "\n") + "\n"})[ACCESS] == given[ACCESS]
    )
    with pytest.raises(ValueError, match="is not an entry"):
        from_records({"SCHILY.acl.access": "owner::rwx"})


def test_what_programs_may_do_is_not_taken_from_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    descriptor = os.open(tmp_path / "file", os.O_RDWR)
    try:
        names = {"security.capability": "AAAA", "trusted.x": "AAAA"}
        assert len(set_attributes(descriptor, names)) == 2
    finally:
        os.close(descriptor)
    assert from_records({"SCHILY.xattr.security.capability": "x"}) == {}
    assert attributes(tmp_path / "file") == {}
