# SPDX-License-Identifier: BSD-3-Clause
"""Files that the command replaces: mode, group, ACL and links stay, devices and pipes are refused.

Every function of `tailrace` that gives a new file the name of an old one is a member of WRITERS.
(`ctest -R paths` walks those of the library.)
"""

import os
import re
import stat
import struct
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest

import tailrace
from tailrace.apps.groundwater import pflotran_file
from tailrace.errors import TailraceError
from tailrace.files import replaced, require_place, require_writable, write_whole
from tailrace.profile import loadable
from tailrace.runs.folder import Run
from tailrace.striping import file_system, lustre

Patch = pytest.MonkeyPatch


def text_of_command(path: Path, patch: Patch) -> None:
    write_whole(path, "new")


def gathered(path: Path, patch: Patch) -> None:
    source = path.parent / "source.h5"
    with h5py.File(source, "w") as file:
        file["a"] = 1
    name = path.name.removesuffix("_pflotran.h5")
    case = {"case": {"name": name}, "output": {"layout": "pflotran"}}
    patch.setattr(pflotran_file, "load_run", lambda folder: Run(folder, case, fields=[source]))
    assert pflotran_file.gather(path.parent) == path
    with h5py.File(path) as file:
        assert "a" in file


def striped_on_lustre(path: Path, patch: Patch) -> None:
    patch.setattr(file_system, "file_system_of", lambda path: "lustre")
    patch.setattr(lustre, "_run", lambda *words: Path(words[-1]).touch(exist_ok=False))
    file_system.set_layout(path, 2, 0)


def striped_on_ceph(path: Path, patch: Patch) -> None:
    patch.setattr(file_system, "file_system_of", lambda path: "ceph")
    patch.setattr(file_system, "_whole_of_ceph", lambda path, count, size: (count, size))
    patch.setattr(file_system, "_set_on_ceph", lambda path, *_: path.touch(exist_ok=False))
    file_system.set_layout(path, 2, 0)


WRITERS = [text_of_command, gathered, striped_on_lustre, striped_on_ceph]
Writer = Callable[[Path, Patch], None]


def test_all_members_are_here() -> None:
    """No file of the package renames a file over another but by `tailrace.files.replaced`."""
    package = Path(tailrace.__file__).parent
    renames = re.compile(r"os\.(replace|rename)\(|\.rename\(|shutil\.move|\.replace\(\w+\)")
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if renames.search(path.read_text())
    }
    # Files that the archive restores, beneath a folder that is open, and objects of a target.
    archive = {"archive/beneath.py", "archive/targets/hsm.py"}
    assert found == {"files.py", "profile/loadable.py"} | archive
    uses = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"with replaced\(", path.read_text())
    }
    assert uses == {
        "files.py",
        "apps/groundwater/pflotran_file.py",
        "series.py",
        "striping/file_system.py",
    }


@pytest.mark.parametrize("writer", WRITERS)
def test_mode_and_group_stay(writer: Writer, tmp_path: Path, monkeypatch: Patch) -> None:
    path = tmp_path / "x_pflotran.h5"
    for mode in (0o600, 0o660, 0o444):
        path.unlink(missing_ok=True)
        path.touch()
        if os.geteuid() == 0:
            os.chown(path, 1234, 4321)
        path.chmod(mode)
        before = path.stat()
        writer(path, monkeypatch)
        after = path.stat()
        assert after.st_ino != before.st_ino
        assert stat.S_IMODE(after.st_mode) == mode
        assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
        left = {entry.name for entry in tmp_path.iterdir()} - {"source.h5"}
        assert left == {path.name}


@pytest.mark.parametrize("writer", WRITERS)
def test_access_lists_stay(writer: Writer, tmp_path: Path, monkeypatch: Patch) -> None:
    path = tmp_path / "x_pflotran.h5"
    path.touch()
    # Version 2; tag, permissions, id: user rw, user 1234 r, group -, mask r, others -.
    entries = [(1, 6, -1), (2, 4, 1234), (4, 0, -1), (16, 4, -1), (32, 0, -1)]
    value = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", value)
    except OSError as error:
        pytest.skip(f"no access control lists here: {error.strerror}")
    mode = path.stat().st_mode
    writer(path, monkeypatch)
    assert os.getxattr(path, "system.posix_acl_access") == value
    assert path.stat().st_mode == mode


@pytest.mark.parametrize("writer", WRITERS)
def test_links_are_followed(writer: Writer, tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "x_pflotran.h5"
    target = tmp_path / "elsewhere" / "target"
    target.touch(0o600)
    before = target.stat().st_ino
    path.symlink_to("elsewhere/target")
    writer(path, monkeypatch)
    assert path.is_symlink()
    assert target.stat().st_ino != before
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [entry.name for entry in target.parent.iterdir()] == ["target"]


@pytest.mark.parametrize("writer", [text_of_command, gathered])
def test_a_link_to_nothing_leads_to_the_new_file(
    writer: Writer, tmp_path: Path, monkeypatch: Patch
) -> None:
    path = tmp_path / "x_pflotran.h5"
    path.symlink_to("target")
    writer(path, monkeypatch)
    assert path.is_symlink()
    assert (tmp_path / "target").is_file()


def make_device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("no device can be made")


@pytest.mark.parametrize("make", [os.mkfifo, make_device])
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("writer", WRITERS)
def test_devices_and_pipes_are_refused(
    writer: Writer, linked: bool, make: Callable[[Path], None], tmp_path: Path, monkeypatch: Patch
) -> None:
    special = tmp_path / "special"
    make(special)
    before = special.stat()
    path = tmp_path / "x_pflotran.h5"
    path.symlink_to(special) if linked else special.rename(path)
    with pytest.raises((OSError, TailraceError), match="a device or a pipe"):
        writer(path, monkeypatch)
    after = path.stat()
    assert (after.st_ino, after.st_mode, after.st_rdev) == (
        before.st_ino,
        before.st_mode,
        before.st_rdev,
    )
    for require in (require_place, require_writable):
        with pytest.raises(TailraceError, match="a device or a pipe"):
            require(path, "--output")


def test_nobody_else_reads_a_private_file_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.touch(0o600)
    (tmp_path / "private.partial").touch(0o666)  # of a run that was killed
    with replaced(path) as fresh:
        assert stat.S_IMODE(fresh.stat().st_mode) == 0o600


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(ValueError, match="stop"), replaced(path) as fresh:
        fresh.write_text("half")
        raise ValueError("stop")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("make", [Path.touch, os.mkfifo, make_device, Path.mkdir])
def test_the_link_to_a_folder_of_libraries_replaces_links_only(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    link = tmp_path / "lib-0"
    make(link)
    before = link.stat()
    with pytest.raises(FileExistsError, match="not a link of Tailrace"):
        loadable._make_link(link, tmp_path)
    assert (link.stat().st_ino, link.stat().st_mode) == (before.st_ino, before.st_mode)
    assert [entry.name for entry in tmp_path.iterdir()] == ["lib-0"]
