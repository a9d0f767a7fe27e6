# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace advise` compares the files of a program if a setting changes how they are written."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailrace.advice import written_files
from tailrace.advice.experiment import NONE, RunFailedError
from tailrace.advice.runner import make_runner
from tailrace.advice.setting import Setting, settings_text
from tailrace.advice.written_files import WrittenFiles
from tailrace.cli import app

HIDDEN = Setting("hidden", {"TAILRACE_IO": "hidden"})
WRITES = "echo same > a; mkdir -p b; echo $RANKS > b/c; "
NEW_EACH_TIME = "cat /proc/sys/kernel/random/uuid > log; "


def wrong_of(script: str, folder: Path) -> tuple[str, WrittenFiles]:
    """Run a program thrice, the last time with a setting; return what is wrong with its files."""
    runner = make_runner(2, ["sh", "-c", script])
    runner.files = WrittenFiles(folder)
    runner(NONE)
    try:
        runner(HIDDEN)
    except RunFailedError as error:
        return str(error), runner.files
    return "", runner.files


@pytest.mark.parametrize(
    ("script", "wrong", "text"),
    [
        (WRITES, "", "2 files (7e-06 MB) compared after 1 run: equal."),
        (
            WRITES + NEW_EACH_TIME,
            "",
            "2 files (7e-06 MB) compared after 1 run: equal; not compared, as equal runs differ: "
            "log.",
        ),
        ("true", "", "Files were not compared: the program writes none in this folder."),
        (WRITES + "[ -z $TAILRACE_IO ] || echo sane > a", "writes other bytes to a", ""),
        (WRITES + "[ -z $TAILRACE_IO ] || cp a b/c", "writes other bytes to b/c", ""),
        (WRITES + "[ -z $TAILRACE_IO ] || rm a", "does not write a", ""),
        (WRITES + "[ -z $TAILRACE_IO ] || echo > .a.tmp", "writes another file, .a.tmp", ""),
        # What is no regular file is left alone: reading a FIFO would wait for ever.
        (WRITES + "rm -f f l; mkfifo f; ln -s nowhere l", "", "2 files (7e-06 MB) compared"),
        # Where equal runs write files of different names, so may a run with the setting.
        (WRITES + "echo > log.$$", "", "2 files (7e-06 MB) compared after 1 run: equal; "),
    ],
)
def test_files_are_compared(plain_launcher: Path, script: str, wrong: str, text: str) -> None:
    found, files = wrong_of(script, plain_launcher)
    assert found == (f"with the setting it {wrong}" if wrong else "")
    assert files.text.startswith(text) and bool(text) == bool(files.text)


def test_a_file_that_the_run_leaves_as_it_is_is_not_compared(plain_launcher: Path) -> None:
    (plain_launcher / "input").write_text("x")
    _, files = wrong_of("cat input > output", plain_launcher)
    assert files.equal == {"output"}


def test_too_many_files_are_not_searched(
    plain_launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written_files, "MOST_ENTRIES", 3)
    for i in range(4):
        (plain_launcher / str(i)).touch()
    found, files = wrong_of(WRITES, plain_launcher)
    assert not found
    assert files.text == "Files were not compared: there are too many in this folder."


def test_apply_says_what_was_compared_and_refuses_other_files(plain_launcher: Path) -> None:
    file = plain_launcher / "s.toml"
    file.write_text(settings_text(HIDDEN, "", {}))
    words = ["advise", "--apply", str(file), "--rounds", "8", "--", "sh", "-c", WRITES]
    done = CliRunner().invoke(app, words)
    assert done.stdout.splitlines()[-1] == "2 files (7e-06 MB) compared after 8 runs: equal."
    found = json.loads(CliRunner().invoke(app, [*words[:1], "--json", *words[1:]]).stdout)
    assert found["files"] == {"compared": ["a", "b/c"], "bytes": 7, "runs": 8, "varying": []}
    words[-1] += "[ -z $TAILRACE_IO ] || rm a"
    done = CliRunner().invoke(app, words)
    assert "with the setting it does not write a" in str(done.exception)
