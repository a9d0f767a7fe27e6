# SPDX-License-Identifier: BSD-3-Clause
"""The command line as a whole: Ctrl-C at any time, outputs that fail, misspelt words, help."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from tailrace.cli import COMMANDS, GROUPS, app
from tailrace.cli.json_option import with_values
from tailrace.cli.old_names import renew
from tailrace.programs import shipped_cases

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


def test_the_package_imports_little_before_the_command_heeds_ctrl_c() -> None:
    code = (
        "import sys; before = set(sys.modules); import tailrace; print(set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'tailrace'" in done.stdout
    assert not [name for name in ("typing", "enum", "functools") if f"'{name}'" in done.stdout]


def test_what_is_not_needed_is_not_loaded() -> None:
    code = "import sys; import tailrace.cli; print([m for m in ('numpy', 'matplotlib', 'h5py', "
    code += "'rich', 'tailrace.benchmarks', 'tailrace.planning') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["--version"], ["list"], ["bench"], []]
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_full_standard_output_is_one_line(
    stage: Path, arguments: list[str], unbuffered: str
) -> None:
    program = stage / "tools" / "tailrace-list"
    program.write_text("#!/bin/sh\necho '{\"tables\": []}'\n")
    program.chmod(0o755)
    with Path("/dev/full").open("w") as full:
        settings = {"PYTHONUNBUFFERED": unbuffered}
        done = tailrace(*arguments, out=full.fileno(), environment=settings)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"], ["bench"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_closed_standard_output_is_silent(arguments: list[str], unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = tailrace(*arguments, out=writer, environment={"PYTHONUNBUFFERED": unbuffered})
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
        (["bench", "scale", "--picture", "x.xyz"], "--picture x.xyz: expected a name that ends in"),
        (["bench", "scale", "--picture", "x"], "--picture x: expected a name that ends in"),
        (["bench", "fft", "--json", "/tmp"], "--json /tmp: is a folder"),
        (["run", "--", "./app", "-m"], "-m: give one case only; run your own program by"),
        (["run", "sh"], "tailrace exec --with waiting -- sh"),
        (["run", "/bin/sh", "-n", "2"], "/bin/sh: is a program, not a case"),
        (["plan", "--picture", "x.xyz"], "--picture x.xyz: expected a name that ends in"),
        (["demo", "--picture", "/tmp"], "--picture /tmp: expected a name that ends in"),
        (["tune", "show", "--file", "/tmp"], "/tmp is a folder"),
    ],
)
def test_a_wrong_command_line_is_one_line(arguments: list[str], message: str) -> None:
    done = tailrace(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["bench", "allreduce", "--json", "/proc/x.json"],
        ["bench", "io", "--folder", "/proc/x"],
        ["bench", "servers", "--folder", "/proc/x"],
        ["plan", "--picture", "/proc/x.png"],
        ["tune", "--file", "/proc/x/y"],
        ["demo", "--picture", "/proc/x.png"],
        ["profile", "--json", "/proc/x.json", "--", "true"],
    ],
    ids=" ".join,
)
def test_a_place_that_cannot_be_written_is_seen_before_hours_are_spent(words: list[str]) -> None:
    done = tailrace(*words)
    assert done.returncode == 1
    assert "no file can be created in /proc" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_no_arguments_say_what_to_do_first() -> None:
    done = tailrace()
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    first = next(line for line in lines if line.startswith("  tailrace"))
    assert first.split() == ["tailrace", "profile", "-n", "2", "--", "./app"]
    for words in ("tailrace demo", "tailrace new ", "tailrace run ", "Documents: "):
        assert words in done.stdout


def test_summaries_of_the_table_are_those_of_the_commands() -> None:
    group = get_command(app)
    for name, summary in COMMANDS.items():
        command = group.get_command(None, name)  # type: ignore[attr-defined]
        first = " ".join((command.help or "").split("\n\n")[0].split())
        assert first.startswith(summary.rstrip(".")), (name, first)


def test_help_lists_the_commands_by_group() -> None:
    lines = CliRunner().invoke(app, ["--help"], terminal_width=78).output.splitlines()
    for title, commands in GROUPS.items():
        at = lines.index(f"{title}:")
        assert [line.split()[0] for line in lines[at + 1 : at + 1 + len(commands)]] == [*commands]
    for old in ("check", "compare", "place", "price"):
        assert not [line for line in lines if line.split()[:1] == [old]]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("check -n 2 -- ./app", "advise -n 2 -- ./app", "check is now advise"),
        ("check --launch -n 2 -- ./app", "doctor -n 2 -- ./app", "check --launch is now doctor"),
        ("check -n 2 -- ./app --launch", "advise -n 2 -- ./app --launch", "check is now advise"),
        ("run --with io -- ./app", "exec --with io -- ./app", "run --with is now exec --with"),
        ("run --with=io ./app", "exec --with=io ./app", "run --with is now exec --with"),
        ("run taylor_green -- --with", "run taylor_green -- --with", ""),
        ("compare a b", "diff a b", "compare is now diff"),
        ("place check map.json -- mpirun", "map check map.json -- mpirun", "place is now map"),
        (
            "price --nodes 8 --n=64",
            "plan transposes --nodes 8 --points=64",
            "price is now plan transposes",
        ),
        ("diff a b", "diff a b", ""),
    ],
)
def test_old_names_mean_the_new_commands(old: str, new: str, line: str) -> None:
    assert renew(old.split()) == (new.split(), line)


def test_an_old_name_runs_and_says_the_new_one_on_standard_error(tmp_path: Path) -> None:
    profiles = [str(tmp_path / "absent"), str(tmp_path / "absent")]
    old, new = tailrace("compare", *profiles), tailrace("diff", *profiles)
    note = "tailrace: compare is now diff; the old name will be removed after 0.2\n"
    assert (old.returncode, old.stdout, old.stderr) == (
        new.returncode,
        new.stdout,
        note + new.stderr,
    )
    old, new = tailrace("price", "--help"), tailrace("plan", "transposes", "--help")
    assert (old.returncode, old.stdout) == (0, new.stdout)
    assert old.stderr.count("\n") == 1
    assert "check is now advise" in tailrace("check", "--help").stderr
    done = tailrace("run", "--with", "waiting", "--", "/nosuch/program")
    assert done.stderr.splitlines()[0].startswith("tailrace: run --with is now exec --with")
    assert "program /nosuch/program: was not found" in done.stderr


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ("list --json", "list --json=-"),
        ("list --json hints", "list --json=- hints"),
        ("list --json=f hints", "list --json=f hints"),
        ("verify --json a.h5", "verify --json=- a.h5"),
        ("diff --json a.json b.json", "diff --json=- a.json b.json"),
        ("map check --json map.json -- mpirun", "map check --json=- map.json -- mpirun"),
        ("map --grid 4x4 --json m.json", "map --grid 4x4 --json=m.json"),
        ("map --grid 4x4 --json -o map", "map --grid 4x4 --json=- -o map"),
        ("plan --json transposes", "plan --json=- transposes"),
        ("bench fft --json f", "bench fft --json=f"),
        ("bench fft --json -", "bench fft --json=-"),
        ("profile --json f -- ./app", "profile --json=f -- ./app"),
        ("profile --read records --json f.json", "profile --read records --json=f.json"),
        ("profile --json -- ./app --json", "profile --json=- -- ./app --json"),
        ("doctor --json ./app input", "doctor --json=- ./app input"),
        ("tune show --json --file f", "tune show --json=- --file f"),
    ],
)
def test_json_takes_a_file_where_no_argument_could_be_meant(words: str, read: str) -> None:
    name, *_ = words.split()
    command = get_command(app).get_command(None, name)  # type: ignore[attr-defined]
    assert with_values(command, words.split()) == read.split()


def test_json_is_printed_or_written(tmp_path: Path) -> None:
    words = ["plan", "--ranks", "64", "--bytes", "1M", "--step-s", "1"]
    words += ["--writer", "1G", "--file-system", "9G"]
    text = tailrace(*words)
    printed = tailrace(*words, "--json")
    path = tmp_path / "plan.json"
    written = tailrace(*words, "--json", str(path))
    assert (text.returncode, printed.returncode, written.returncode) == (0, 0, 0), written.stderr
    assert path.read_text() == printed.stdout
    assert json.loads(printed.stdout)
    assert written.stdout == text.stdout
    path.write_text("plain text")
    done = tailrace(*words, "--json", str(path))
    assert (done.returncode, path.read_text()) == (2, "plain text")


def test_shell_completion_knows_commands_and_options() -> None:
    for words, expected in (("tailrace ver", "verify"), ("tailrace bench ff", "fft")):
        environment = {
            "_TAILRACE_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        done = tailrace(environment=environment)
        assert done.stdout.split() == [expected], done.stderr


def test_new_copies_a_case_and_keeps_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    assert tailrace("new", "decaying", str(path)).returncode == 0
    assert path.read_text() == shipped_cases()["decaying"].read_text()
    path.write_text("mine")
    done = tailrace("new", "decaying", str(path))
    assert (done.returncode, path.read_text()) == (1, "mine")
    assert done.stderr == f"tailrace: {path}: exists already; give a new file\n"
    done = tailrace("new", "decayin", str(path))
    assert "did you mean decaying?" in done.stderr


def _plain(text: str) -> str:
    return re.sub(r"[^\w\[\]]", "", text.replace("\\[", "["))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_keeps_what_stands_in_brackets(name: str) -> None:
    """rich takes "[s]" for a style; every word of every help text is printed."""
    group = get_command(app)
    command = group.get_command(None, name)  # type: ignore[attr-defined]
    subcommands = getattr(command, "commands", {})
    for words, one in [([name], command), *(([name, k], c) for k, c in subcommands.items())]:
        has_rare = any("--help-all" in parameter.opts for parameter in one.params)
        option = "--help-all" if has_rare else "--help"
        done = CliRunner().invoke(app, [*words, option], env={"COLUMNS": "300"})
        assert done.exit_code == 0
        printed = _plain(done.stdout)
        for parameter in one.params:
            if getattr(parameter, "help", None):
                assert _plain(parameter.help) in printed, parameter.name
