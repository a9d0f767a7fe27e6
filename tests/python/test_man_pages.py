# SPDX-License-Identifier: BSD-3-Clause
"""Each command has a manual page that says what its help says."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.main import get_command

from tailrace.cli import app

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "man"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("man_pages", ROOT / "tools" / "man_pages.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


man_pages = load_script()
COMMANDS = dict(man_pages.walk(get_command(app), ("tailrace",)))


def test_each_command_has_one_page_and_each_page_a_command() -> None:
    names = {path.name for path in FOLDER.glob("*")}
    assert names == {"-".join(path) + ".1" for path in COMMANDS}
    assert len(names) > 30


def test_pages_are_those_of_the_help_texts() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "man_pages.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_page_names_each_option(path: tuple[str, ...]) -> None:
    text = (FOLDER / ("-".join(path) + ".1")).read_text().replace("\\-", "-")
    for parameter in COMMANDS[path].params:
        if parameter.name in man_pages.LEFT_OUT or man_pages.hidden_flag(parameter):
            continue
        argument = parameter.param_type_name == "argument"
        for name in [parameter.metavar or parameter.name] if argument else parameter.opts:
            assert name in text, f"{parameter.name} is not in the page"
    for title in ("NAME", "SYNOPSIS", "DESCRIPTION"):
        assert f"\n.SH {title}\n" in text
    for below in getattr(COMMANDS[path], "commands", {}):
        assert f"{'-'.join(path)}-{below}(1)" in text
    if len(path) > 1:
        assert f"\\fB{'-'.join(path[:-1])}\\fR(1)" in text


def test_text_that_roff_would_read_as_its_own_is_kept() -> None:
    assert man_pages.roff(".so /etc/passwd") == "\\&.so /etc/passwd"
    assert man_pages.roff("'a' \\S+ --b") == "\\&'a' \\eS+ \\-\\-b"


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff")
def test_groff_has_nothing_to_complain_about() -> None:
    pages = sorted(FOLDER.glob("*.1"))
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tascii", *pages], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr == ""
    shown = re.sub(r"\x1b\[[0-9]*m|.\x08", "", done.stdout)
    assert "--with NAME" in shown and "tailrace exec --with waiting -n 16 -- ./app" in shown


def test_the_wheel_takes_the_pages() -> None:
    text = (ROOT / "cmake" / "wheel.cmake").read_text()
    assert re.search(r"docs/man/.*share/man/man1", text, flags=re.DOTALL)
