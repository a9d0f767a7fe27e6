# SPDX-License-Identifier: BSD-3-Clause
"""The command line as a whole: Ctrl-C at any time, outputs that fail, misspelt words, help."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from tailrace.cli import COMMANDS, app

TAILRACE = [sys.executable, "-m", "tailrace"]

# The command, interrupted when the named module is about to be imported.
INTERRUPTED = """
import os, signal, sys
module = sys.argv.pop(1)
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from tailrace.__main__ import main
main()
"""


def tailrace(
    *arguments: str, out: int = subprocess.PIPE, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TAILRACE, *arguments],
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **(environment or {})},
    )


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("tailrace.cli", ["list"]),
        ("typer", ["list"]),
        ("tailrace.cli.run", ["run", "x"]),
        ("rich.progress", ["run", "x"]),
        ("numpy", ["report", "x"]),
        ("matplotlib", ["report", "x"]),
        ("h5py", ["demo"]),
    ],
)
def test_ctrl_c_during_imports_is_silent(module: str, arguments: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert done.stderr == ""
    assert done.stdout == ""
    assert done.returncode in (-signal.SIGINT, 130)


def test_ctrl_c_in_a_command_is_silent(stage: Path) -> None:
    """In a command that runs something and has handlers of its own for nothing."""
    slow = stage / "tools" / "tailrace-list"
    slow.write_text("#!/bin/sh\ntouch started\nsleep 30\n")
    slow.chmod(0o755)
    process = subprocess.Popen([*TAILRACE, "list"], stderr=subprocess.PIPE, text=True)
    while not (stage / "started").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert errors == ""
    assert process.returncode == 130


def test_what_is_not_needed_is_not_loaded() -> None:
    code = "import sys; import tailrace.cli; print([m for m in ('numpy', 'matplotlib', 'h5py', "
    code += "'tailrace.benchmarks', 'tailrace.planning') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"], ["list"]])
def test_full_standard_output_is_one_line(stage: Path, arguments: list[str]) -> None:
    program = stage / "tools" / "tailrace-list"
    program.write_text("#!/bin/sh\necho '{\"tables\": []}'\n")
    program.chmod(0o755)
    with Path("/dev/full").open("w") as full:
        done = tailrace(*arguments, out=full.fileno())
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]])
def test_closed_standard_output_is_silent(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = tailrace(*arguments, out=writer)
    os.close(writer)
    assert done.stderr == ""
    command = " ".join([*TAILRACE, *arguments])
    done = subprocess.run(
        ["sh", "-c", f"{command} >&-"], stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    assert done.stderr == ""


def test_letters_that_the_terminal_lacks_are_replaced(stage: Path) -> None:
    (stage / "case·.toml").write_text("# plain")
    done = tailrace("run", "case·.toml", environment={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rnu"], "No such command 'rnu'. Did you mean 'run'? (see tailrace --help)"),
        (["run"], "Missing argument 'case' (see tailrace run --help)"),
        (["run", "x", "--grid", "4"], "No such option: --grid (see tailrace run --help)"),
        (["stripe", "shw"], "Did you mean 'show'? (see tailrace stripe --help)"),
        (["run", "x", "-n", "two"], "Invalid value for '-n' / '--ranks'"),
        (["run", "x", "--threads", "0"], "Invalid value for '--threads'"),
        (["bench", "fft", "--picture", "x.xyz"], "--picture x.xyz: expected a name that ends in"),
        (["bench", "fft", "--picture", "x"], "--picture x: expected a name that ends in"),
        (["bench", "fft", "--json", "/tmp"], "--json /tmp: is a folder"),
        (["plan", "--picture", "x.xyz"], "--picture x.xyz: expected a name that ends in"),
        (["demo", "--picture", "/tmp"], "--picture /tmp: expected a name that ends in"),
        (["tune", "show", "--file", "/tmp"], "/tmp: is a folder"),
    ],
)
def test_a_wrong_command_line_is_one_line(arguments: list[str], message: str) -> None:
    done = tailrace(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def _plain(text: str) -> str:
    return re.sub(r"[^\w\[\]]", "", text.replace("\\[", "["))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_keeps_what_stands_in_brackets(name: str) -> None:
    """rich takes "[s]" for a style; every word of every help text is printed."""
    group = get_command(app)
    command = group.get_command(None, name)  # type: ignore[attr-defined]
    subcommands = getattr(command, "commands", {})
    for words, one in [([name], command), *(([name, k], c) for k, c in subcommands.items())]:
        done = tailrace(*words, "--help", environment={"COLUMNS": "300"})
        assert done.returncode == 0
        printed = _plain(done.stdout)
        for parameter in one.params:
            if getattr(parameter, "help", None):
                assert _plain(parameter.help) in printed, parameter.name
