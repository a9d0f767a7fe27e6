# SPDX-License-Identifier: BSD-3-Clause
"""`kill -9` at random points of add, nightly, copy and restore: nothing is lost or stated in vain.

A command runs in a child that kills itself at a random call of the archive's code, so that a seed
repeats a failure. Half of the kills of the slow test come from outside after a random time.
"""

import contextlib
import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from archive_common import Archive
from archive_servers import TapeLibrary, TieredArchive

from tailrace.archive.compare import compare_copy
from tailrace.archive.config import load_config
from tailrace.archive.copies import wait_staged
from tailrace.archive.opened import reading
from tailrace.cli import _run_command

COMMANDS = ("add", "nightly", "copy", "restore")


@dataclass
class Ended:
    """How a child ended: its exit code, and how long it took."""

    code: int
    calls: int
    seconds: float


def run_child(archive: Archive, words: list[Any], calls: int = -1, seconds: float = -1) -> Ended:
    """Run a subcommand in a child, to be killed at a call or after a time if one is given."""
    line, counted = archive.start(*words)[3:], archive.folder / "calls"
    start_s = time.monotonic()
    child = os.fork()
    if child == 0:
        done = 0

        def count(frame: Any, event: str, _argument: object) -> None:
            nonlocal done
            if event in ("call", "c_call") and "/tailrace/archive/" in frame.f_code.co_filename:
                done += 1
                if done == calls:
                    os.kill(os.getpid(), signal.SIGKILL)

        status = 70
        with contextlib.suppress(BaseException):
            silent = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(silent, stream)
            sys.setprofile(count)
            status = _run_command(line)
            sys.setprofile(None)
            counted.write_text(str(done))
        os._exit(status)
    if seconds >= 0:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Ended(code, int(counted.read_text()) if code == 0 else 0, time.monotonic() - start_s)


class Story:
    """Files that come, are archived by commands that are killed, and must all exist."""

    def __init__(self, archive: Archive, seed: int) -> None:
        self.archive, self.chance = archive, random.Random(seed)
        self.source = archive.folder / "src"
        self.source.mkdir()
        self.expected: dict[Path, bytes] = {}
        self.whole: dict[str, Ended] = {}
        self.rounds = self.kills = 0

    def new_files(self) -> None:
        """Add a folder with some files."""
        folder = self.source / f"r{self.rounds}"
        folder.mkdir(parents=True)
        for number in range(3):
            data = self.chance.randbytes(self.chance.randrange(1, 90_000))
            (folder / f"f{number}").write_bytes(data)
            self.expected[folder / f"f{number}"] = data

    def round(self, command: str, by_time: bool) -> None:
        """Run a command: to its end the first time, later it is killed on the way."""
        self.rounds += 1
        self.new_files()
        out = self.archive.folder / f"out{self.rounds}"
        words = {
            "add": ["add", self.source, "--move"],
            "nightly": ["nightly"],
            "copy": ["copy", self.source, "--copies", "2"],
            "restore": ["restore", self.source, "--to", out],
        }[command]
        if command == "copy":
            self.archive.run("add", self.source, "--copies", "1")
        if command == "restore":
            self.archive.run("nightly")
        if command not in self.whole:
            self.whole[command] = run_child(self.archive, words)
            assert self.whole[command].code == 0
            return
        if by_time:
            seconds = self.chance.uniform(0, self.whole[command].seconds)
            ended = run_child(self.archive, words, seconds=seconds)
        else:
            calls = self.chance.randrange(1, self.whole[command].calls)
            ended = run_child(self.archive, words, calls=calls)
        assert ended.code in (0, -signal.SIGKILL), (command, ended)
        self.kills += ended.code == -signal.SIGKILL
        for path in out.rglob("*"):
            if path.is_file() and not path.name.startswith("."):
                assert (
                    path.read_bytes() == self.expected[self.source.parent / path.relative_to(out)]
                )
        self.check()

    def check(self) -> None:
        """Compare what the archive states with what exists."""
        self.archive.run("list")
        with reading(load_config(self.archive.config)) as opened:
            verified = {}
            for bundle in opened.index.bundles():
                verified[bundle.id] = len(bundle.verified)
                for name in bundle.verified:
                    wait_staged(opened.target(name), [bundle.key])
                    assert compare_copy(opened.index, bundle, opened.target(name)) == []
            for path, data in self.expected.items():
                if path.exists():
                    assert path.read_bytes() == data
                else:
                    found = opened.index.newest(str(path))
                    assert found is not None and verified[found.bundle] == 2, path

    def end(self) -> None:
        """Let the next night end all work, and restore everything."""
        self.archive.run("nightly")
        assert not [path for path in self.source.rglob("*") if path.is_file()]
        self.archive.run("verify")
        self.archive.run("restore", self.source, "--to", self.archive.folder / "end")
        end = self.archive.folder / "end"
        found = {path.relative_to(end): path for path in end.rglob("*") if path.is_file()}
        assert {name: path.read_bytes() for name, path in found.items()} == {
            path.relative_to(self.source.parent): data for path, data in self.expected.items()
        }


def two_folders(folder: Path) -> TieredArchive:
    targets = {name: {"kind": "directory", "path": str(folder / name)} for name in ("one", "two")}
    return TieredArchive(folder, "100k..200k", targets)


def disk_and_tape(folder: Path) -> TieredArchive:
    library = TapeLibrary(folder / "library")
    library.set(stays=False, tape_bytes=400_000)
    disk = {"kind": "directory", "path": str(folder / "disk")}
    return TieredArchive(folder, "100k..200k", {"disk": disk, "tape": library.settings()})


def tell(story: Story, rounds: int, commands: tuple[str, ...], by_time: bool = False) -> None:
    """Run each command once to its end, then kill them in so many rounds."""
    for number in range(len(commands) + rounds):
        story.round(commands[number % len(commands)], by_time and number % 8 >= 4)
    story.end()


def test_kills_with_two_folders(tmp_path: Path) -> None:
    story = Story(two_folders(tmp_path), seed=5)
    tell(story, 12, COMMANDS)
    assert story.kills == 12


def test_kills_with_disk_and_tape(tmp_path: Path) -> None:
    story = Story(disk_and_tape(tmp_path), seed=6)
    tell(story, 2, ("nightly",))
    assert story.kills == 2


@pytest.mark.slow
@pytest.mark.parametrize("made", [two_folders, disk_and_tape])
def test_a_hundred_kills(tmp_path: Path, made: Any) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed = {seed}")
    story = Story(made(tmp_path), seed)
    tell(story, 100, COMMANDS, by_time=True)
    assert story.kills >= 50


@pytest.mark.parametrize("command", ["put", "read", "delete"])
def test_kills_while_the_tape_library_works(tmp_path: Path, command: str) -> None:
    """The program is killed right after the library did what it was asked for."""
    library = TapeLibrary(tmp_path / "library")
    library.set(stays=False)
    disk = {"kind": "directory", "path": str(tmp_path / "disk")}
    archive = TieredArchive(tmp_path, "100k..200k", {"disk": disk, "tape": library.settings()})
    story = Story(archive, seed=7)
    story.new_files()
    archive.run("add", story.source)
    story.rounds += 1
    story.new_files()
    words = ["add", story.source, "--move"]
    if command == "delete":
        words = ["remove", story.source / "r0", "--yes", "--force"]
        for path in [path for path in story.expected if path.parent.name == "r0"]:
            story.expected.pop(path)
            path.unlink()
    library.set(kill_parent_in=command)
    assert run_child(archive, words).code == -signal.SIGKILL
    library.set(kill_parent_in="")
    story.check()
    if command == "delete":
        # The second call ends what the first one began, and finds no more files to remove.
        assert "is not in the archive" in archive.run(*words, status=1)
    story.end()
