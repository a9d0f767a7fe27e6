# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace run` with a stand-in launcher and program: arguments, output, errors, signals."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "tailrace", "run"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def write_case(stage: Path, text: str) -> str:
    (stage / "small.toml").write_text(text)
    return "small.toml"


def test_passes_settings_and_threads_to_each_rank(stage: Path) -> None:
    case = write_case(stage, "# plain")
    done = run(case, "-n", "2", "--set", "grid.n=8", "--threads", "3", "--run-dir", "out")
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        arguments = json.loads((stage / "out" / f"arguments-{rank}.json").read_text())
        assert arguments[0] == case
        assert arguments[1:3] == ["--run-dir", "out"]
        assert "--progress" in arguments
        settings = [arguments[i + 1] for i, word in enumerate(arguments) if word == "--set"]
        assert settings == ["grid.n=8", "fft.threads=3"]


def test_servers_are_a_setting_of_the_case(stage: Path) -> None:
    case = write_case(stage, "# plain")
    done = run(case, "--set", "grid.n=8", "--servers", "1 per node", "--run-dir", "out")
    assert done.returncode == 0, done.stderr
    arguments = json.loads((stage / "out" / "arguments-0.json").read_text())
    settings = [arguments[i + 1] for i, word in enumerate(arguments) if word == "--set"]
    assert settings == ["grid.n=8", "output.servers=1 per node"]


def test_plain_lines_when_not_in_a_terminal(stage: Path) -> None:
    done = run(write_case(stage, "# plain"), "--run-dir", "out")
    assert "step 1/2  t 0.5/1  energy 0.125" in done.stdout
    assert "output hidden 0.2 s" in done.stdout
    assert "a line that is no progress\n" in done.stdout
    assert "{" not in done.stdout


def test_default_run_dir_is_named_after_the_case(stage: Path) -> None:
    done = run(write_case(stage, "# plain"))
    assert done.returncode == 0, done.stderr
    folders = list((stage / "runs").glob("small-*"))
    assert len(folders) == 1
    assert f"tailrace report {folders[0].relative_to(stage)}" in done.stdout


def test_error_text_and_status_of_the_program_are_kept(stage: Path) -> None:
    done = run(write_case(stage, "# do: fail"), "-n", "3", "--run-dir", "out")
    assert done.returncode == 3
    assert done.stderr == "tailrace-turbulence: [grid] n = 7: not so\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_reaches_every_rank_and_not_the_launcher(stage: Path, number: int) -> None:
    case = write_case(stage, "# do: wait")
    process = subprocess.Popen(
        [*COMMAND, case, "-n", "2", "--run-dir", "out"], stderr=subprocess.PIPE, text=True
    )
    ready = [stage / "out" / f"ready-{rank}" for rank in range(2)]
    limit = time.monotonic() + 30
    while not all(path.exists() for path in ready) and time.monotonic() < limit:
        time.sleep(0.02)
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "launcher killed" not in errors
    assert all((stage / "out" / f"checkpoint-{rank}").exists() for rank in range(2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["taylor_gren"], "neither a file nor a shipped case"),
        (["small.toml", "--set", "grid=8"], "--set grid=8: expected section.key=value"),
        (["small.toml", "-n", "0"], "-n 0: at least one rank is needed"),
    ],
)
def test_bad_input_is_one_line(stage: Path, arguments: list[str], message: str) -> None:
    write_case(stage, "# plain")
    done = run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_missing_program_says_what_to_do(stage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_BIN_DIR", str(stage))
    done = run(write_case(stage, "# plain"))
    assert done.returncode == 1
    assert "make build" in done.stderr
