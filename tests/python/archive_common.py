# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of `tailrace archive` share: a configuration, sources, and the command."""

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.cli import _run_command

CONFIG = """\
index = "index/index.sqlite"
spool = "spool"
[targets.one]
kind = "directory"
path = "one"
bundle = "{window}"
[targets.two]
kind = "directory"
path = "two"
bundle = "{window}"
"""


class Archive:
    """An archive in a folder with two directory targets."""

    def __init__(self, folder: Path, window: str = "1M..4M", more: str = "") -> None:
        self.folder = folder
        self.config = folder / "archive.toml"
        folder.mkdir(exist_ok=True)
        self.config.write_text(CONFIG.format(window=window) + more)

    def start(self, *words: str | Path) -> list[str]:
        """Return a command line."""
        name, *rest = map(str, words)
        command = [sys.executable, "-m", "tailrace", "archive", name, *rest]
        return [*command, "--config", str(self.config)]

    def run(self, *words: str | Path, status: int = 0) -> str:
        """Run a subcommand; returns what it prints on both streams."""
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            done = _run_command(self.start(*words)[3:])
        assert done == status, (words, done, text.getvalue())
        return text.getvalue()

    def json(self, *words: str | Path, status: int = 0) -> list[dict[str, Any]]:
        """Run a subcommand with --json; returns its objects."""
        text = self.run(*words, "--json", status=status)
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def bundles(self, name: str = "one") -> list[Path]:
        """Return the bundles of a target."""
        return sorted((self.folder / name).glob("*.tar"))


def fill(folder: Path, seed: int = 1) -> None:
    """Make a folder with files of all kinds."""
    random = np.random.default_rng(seed)
    (folder / "d" / "empty").mkdir(parents=True)
    for i in (1, 2, 10):
        (folder / f"f{i}").write_bytes(random.bytes(700_000 + i))
    (folder / "zero").touch()
    (folder / "f2").chmod(0o640)
    os.link(folder / "f1", folder / "d" / "hard")
    (folder / "d" / "link").symlink_to("../f1")
    (folder / "d" / "outside").symlink_to("/nowhere")
    (folder / "long" / ("n" * 200)).mkdir(parents=True)
    (folder / "long" / ("n" * 200) / ("m" * 120)).write_text("long")
    (folder / "a name\nwith a line ü").write_text("x")
    Path(os.fsdecode(os.fsencode(folder) + b"/latin\xe9")).write_text("no UTF-8")
    with (folder / "sparse").open("wb") as file:
        file.truncate(3_000_000)
        file.seek(1_000_000)
        file.write(b"middle")
    os.utime(folder / "f2", ns=(10**18 + 1, 10**18 + 7))
    os.utime(folder / "zero", ns=(0, -1_500_000_000))


def tree(folder: Path) -> dict[bytes, tuple[Any, ...]]:
    """Return kind, mode, time and content of all below a folder."""
    found: dict[bytes, tuple[Any, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        name = os.fsencode(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        elif path.is_dir():
            found[name] = ("folder", status.st_mode)
        else:
            found[name] = ("file", status.st_mode, status.st_mtime_ns, path.read_bytes())
    return found
