# SPDX-License-Identifier: BSD-3-Clause
"""One writer at a time: on file systems without locks, and with writers that are killed."""

import errno
import fcntl
import os
import random
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from archive_common import Archive, tree

from tailrace.archive.lock import Lock
from tailrace.errors import TailraceError


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that does not know fcntl's locks."""

    def refuse(*_arguments: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", refuse)


def dead_process() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


@pytest.mark.usefixtures("no_locks")
def test_without_locks_a_file_is_made(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite.lock"
    held = tmp_path / "index.sqlite.lock.held"
    with Lock(path, 0) as lock:
        assert held.read_text() == f"{socket.gethostname()} {os.getpid()}\n"
        lock.require()
        with pytest.raises(TailraceError, match=f"in use by process {os.getpid()} on "):
            Lock(path, 0).__enter__()
        held.unlink()
        with pytest.raises(TailraceError, match="the lock was removed"):
            lock.require()
    assert not held.exists()


@pytest.mark.usefixtures("no_locks")
def test_the_lock_of_a_dead_process(tmp_path: Path) -> None:
    path, held = tmp_path / "lock", tmp_path / "lock.held"
    held.write_text(f"{socket.gethostname()} {dead_process()}\n")
    with Lock(path, 5):
        assert held.read_text().split()[1] == str(os.getpid())
    # Nobody here knows what runs on another node.
    held.write_text(f"elsewhere {dead_process()}\n")
    with pytest.raises(TailraceError, match="on elsewhere"):
        Lock(path, 0).__enter__()
    assert held.exists()


@pytest.mark.usefixtures("no_locks")
def test_the_archive_works_without_locks(tmp_path: Path) -> None:
    archive, source = Archive(tmp_path), tmp_path / "file"
    source.write_bytes(b"x" * 5000)
    archive.run("add", source, "--move")
    archive.run("restore", source)
    assert source.read_bytes() == b"x" * 5000
    assert not list((tmp_path / "index").glob("*.held"))


def test_two_writers_and_kills(tmp_path: Path) -> None:
    """Two processes add at a time, and some are killed: the index stays whole and complete."""
    archive, chance = Archive(tmp_path, "100k..300k"), random.Random(3)
    folders = [tmp_path / "a", tmp_path / "b"]
    for number in range(4):
        for folder in folders:
            folder.mkdir(exist_ok=True)
            (folder / f"f{number}").write_bytes(chance.randbytes(120_000))
        started = [
            subprocess.Popen(
                archive.start("add", folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            for folder in folders
        ]
        if number % 2:
            try:
                started[0].wait(chance.uniform(0.3, 2))
            except subprocess.TimeoutExpired:
                started[0].kill()
        codes = [each.wait() for each in started]
        assert codes[1] == 0 and codes[0] in (0, -9)
    archive.run("add", *folders)
    with sqlite3.connect(tmp_path / "index" / "index.sqlite") as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    archive.run("verify", "--target", "one")
    for folder in folders:
        archive.run("restore", folder, "--to", tmp_path / "out")
        assert tree(tmp_path / "out" / folder.name) == tree(folder)
    assert not list((tmp_path / "one").glob(".*.partial"))
