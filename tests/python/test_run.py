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
from stand_ins import FAKE_SLURM, write_script

from tailrace.launch.launcher import Launch
from tailrace.launch.process import Running
from tailrace.progress import Plain

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


def test_threads_are_refused_where_ranks_have_one(stage: Path) -> None:
    done = run(
        write_case(stage, "# do: one thread"), "-n", "2", "--threads", "3", "--run-dir", "out"
    )
    assert done.returncode == 2
    words = " ".join(done.stderr.split())
    assert "stand-in computes with one thread per rank" in words
    assert "give -n 6 without --threads" in words
    assert not (stage / "out").exists()


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
    assert "step 2/2  t 1/1\ndone: step 2\n" in done.stdout  # in the order of the program


def test_default_run_dir_is_named_after_the_case(stage: Path) -> None:
    done = run(write_case(stage, "# plain"))
    assert done.returncode == 0, done.stderr
    folders = list((stage / "runs").glob("small-*"))
    assert len(folders) == 1
    assert f"tailrace report {folders[0].relative_to(stage)}" in done.stdout
    assert done.stdout.count(folders[0].name) == 1


def test_error_text_and_status_of_the_program_are_kept(stage: Path) -> None:
    done = run(write_case(stage, "# do: fail"), "-n", "3", "--run-dir", "out")
    assert done.returncode == 3
    assert done.stderr == "tailrace-turbulence: [grid] n = 7: not so\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_reaches_every_rank_and_not_the_launcher(stage: Path, number: int) -> None:
    case = write_case(stage, "# do: wait")
    process = subprocess.Popen(
        [*COMMAND, case, "-n", "2", "--run-dir", "out"], stderr=subprocess.PIPE, text=True
    )
    ready = [stage / "out" / f"ready-{rank}" for rank in range(2)]
    limit = time.monotonic() + 60
    while not all(path.exists() for path in ready):
        assert time.monotonic() < limit, "the ranks have not begun"
        time.sleep(0.02)
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "launcher killed" not in errors
    for rank in range(2):
        received = (stage / "out" / f"checkpoint-{rank}").read_text()
        assert received == ("SIGINT" if number == signal.SIGINT else "SIGTERM")


@pytest.fixture
def slurm(stage: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stage inside a job of a stand-in for Slurm; the folder of its files."""
    files = stage / "slurm"
    files.mkdir()
    for name, text in FAKE_SLURM.items():
        write_script(stage / "tools" / name, text)
    monkeypatch.setenv("SLURM_FILES", str(files))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    return files


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("with_case", [True, False])
def test_signal_reaches_the_ranks_of_a_step(
    stage: Path, slurm: Path, number: int, with_case: bool
) -> None:
    case = write_case(stage, "# do: wait")
    program = str(stage / "tools" / "tailrace-turbulence")
    (stage / "one.toml").write_text('[environment]\nONE = "1"\n')
    words = ["--with", "one.toml", "--", program, case] if not with_case else [case]
    start = COMMAND if with_case else [*COMMAND[:-1], "exec"]
    process = subprocess.Popen(
        [*start, "-n", "2", *words, "--run-dir", "out"], stderr=subprocess.PIPE, text=True
    )
    ready = [stage / "out" / f"ready-{rank}" for rank in range(2)]
    limit = time.monotonic() + 60
    while not all(path.exists() for path in ready):
        assert time.monotonic() < limit, "the ranks have not begun"
        time.sleep(0.02)
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=60)
    assert "launcher killed" not in errors
    softly = "INT" if number == signal.SIGINT else "TERM"
    if number == signal.SIGHUP and not with_case:
        softly = "HUP"  # as it came: any program may have a handler for it
    else:
        for rank in range(2):
            assert (stage / "out" / f"checkpoint-{rank}").read_text() == f"SIG{softly}"
    assert (slurm / "scancel").read_text() == f"--signal={softly} 7.5\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["taylor_gren"], "neither a file nor a shipped case"),
        (["small.toml", "--set", "grid=8"], "--set grid=8: expected section.key=value"),
        (["small.toml", "-n", "0"], "-n 0: at least one rank is needed"),
        (["tools"], "case tools is a folder"),
        (["small.toml", "--run-dir", "small.toml"], "--run-dir small.toml: is a file"),
        (["small.toml", "--run-dir", "new", "--set", "restart.file=latest"], "no checkpoint_"),
        (["small.toml", "--set", "restart.file=absent.h5"], "restart.file=absent.h5: no such file"),
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


def test_the_case_is_checked_before_ranks_are_started(stage: Path) -> None:
    done = run(write_case(stage, "# do: refuse"), "-n", "2", "--run-dir", "out")
    assert done.returncode == 2
    assert done.stderr == "tailrace: unknown key `grid.m`: did you mean `grid.n`?\n"
    assert not (stage / "out").exists()


def test_a_used_run_folder_is_refused(stage: Path) -> None:
    case = write_case(stage, "# plain")
    assert run(case, "--run-dir", "out").returncode == 0
    (stage / "out" / "arguments-0.json").unlink()
    done = run(case, "--run-dir", "out")
    assert done.returncode == 2
    assert "--run-dir out holds the results of a run (trace.json)" in done.stderr
    assert "--overwrite" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (stage / "out" / "arguments-0.json").exists()  # no rank was started
    assert run(case, "--run-dir", "out", "--overwrite").returncode == 0
    assert "--overwrite" in json.loads((stage / "out" / "arguments-0.json").read_text())


def test_a_case_file_alone_is_no_run(stage: Path) -> None:
    (stage / "out").mkdir()
    (stage / "out" / "case.toml").write_text("# plain")
    assert run("out/case.toml", "--run-dir", "out").returncode == 0


def test_latest_or_fresh_does_not_mix_runs(stage: Path) -> None:
    case = write_case(stage, "# plain")
    chain = ("--set", "restart.file=latest_or_fresh", "--run-dir", "out")
    assert run(case, *chain).returncode == 0
    assert "holds the results of a run" in run(case, *chain).stderr
    (stage / "out" / "checkpoint_000001.h5").touch()
    assert run(case, *chain).returncode == 0


@pytest.mark.parametrize("restart", ["latest", "out/checkpoint_000001.h5"])
def test_a_restart_goes_on_in_its_folder(stage: Path, restart: str) -> None:
    case = write_case(stage, "# plain")
    assert run(case, "--run-dir", "out").returncode == 0
    (stage / "out" / "checkpoint_000001.h5").touch()
    done = run(case, "--run-dir", "out", "--set", f"restart.file={restart}")
    assert done.returncode == 0, done.stderr


def test_a_run_goes_on_when_nobody_reads_its_output(stage: Path) -> None:
    case = write_case(stage, "# plain")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, case, "-n", "2", "--run-dir", "out"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.stderr.startswith(
        "tailrace: standard output: No space left on device; the run continues\n"
    )
    assert "Traceback" not in done.stderr
    assert (stage / "out" / "arguments-1.json").exists()


def test_a_signal_before_the_ranks_started_starts_none(stage: Path) -> None:
    running = Running(Launch("none", []), stage / "tools" / "tailrace-turbulence")
    running.receive(signal.SIGINT)
    running.start(["absent.toml"])
    assert running.follow(Plain(sys.stdout)) == 130
    assert not list(stage.glob("*/arguments-0.json"))


@pytest.mark.parametrize(
    ("launcher", "message"),
    [
        ('srun "-n', 'TAILRACE_LAUNCHER=srun "-n: No closing quotation'),
        ("absent -n {ranks}", "absent: No such file or directory"),
        ("./small.toml", "./small.toml: Permission denied"),
    ],
)
def test_a_launcher_that_is_none(
    stage: Path, monkeypatch: pytest.MonkeyPatch, launcher: str, message: str
) -> None:
    monkeypatch.setenv("TAILRACE_LAUNCHER", launcher)
    done = run(write_case(stage, "# plain"))
    assert done.returncode in (1, 2)
    assert done.stderr == f"tailrace: {message}\n"
