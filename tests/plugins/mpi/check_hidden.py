# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program under ``tailrace exec --with hidden``.

``check_hidden.py TASK FOLDER BIN_DIR PROGRAM`` with TASK ``promises`` (of MPI), ``ends`` (without
closing), ``failures``, ``killed``, or ``hdf5`` and ``killed_hdf5`` of a program of parallel HDF5. A
slow disk lies under the program, so that its data wait.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BLOCK = 64 << 10


def environment_of(bin_dir: str, slow_ms: int, **more: str) -> dict[str, str]:
    """Return the environment of a run on a slow disk."""
    disk = Path(bin_dir).parents[1] / "tests" / "plugins" / "mpi" / "libprofile_slow_disk.so"
    assert disk.exists(), disk
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TAILRACE_BIN_DIR": bin_dir,
        "LD_PRELOAD": str(disk),
        "TAILRACE_TEST_SLOW_MS": str(slow_ms),
        # Open MPI's own method reads back other bytes than it wrote in some programs.
        "OMPI_MCA_io": "^ompio",
        "OMPI_MCA_mpi_yield_when_idle": "1",  # ranks may share cores
        **more,
    }


def command_of(ranks: int, program: str, *arguments: str) -> list[str]:
    """Return the words of a run."""
    command = [sys.executable, "-m", "tailrace", "exec", "--with", "hidden", "-n", str(ranks)]
    return [*command, "--", program, *arguments]


def run(
    folder: Path, environment: dict[str, str], ranks: int, program: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run the program in an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return subprocess.run(
        command_of(ranks, program, *arguments),
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=250,
    )


def line_of(text: str) -> str:
    """Return the line of what was done."""
    lines = [line for line in text.splitlines() if line.startswith("tailrace io: rank 0: ")]
    assert len(lines) == 1, text
    return lines[0]


def descendants(process: int) -> list[int]:
    """Return the processes that a process has started, and theirs; the last ones first."""
    found = []
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        for child in children.read_text().split():
            found += [*descendants(int(child)), int(child)]
    return found


def kill_in_folder(folder: Path, words: list[str], environment: dict[str, str], lines: int) -> int:
    """Run a command in an empty folder, and kill it with all that it started.

    That happens when it has printed some lines, and a little later; return how many it printed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    process = subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    printed = 0
    while printed < lines and process.stdout.readline():
        printed += 1
    time.sleep(random.random() * 0.01)  # any moment will do
    for one in [*descendants(process.pid), process.pid]:
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.stdout.close()
    process.wait()
    return printed


def kill_after(folder: Path, bin_dir: str, program: str, lines: int, *arguments: str) -> int:
    """Kill a run of two ranks when it has printed some lines; return how many it printed.

    Little memory makes the program wait for its writer, so that some files are whole by then.
    """
    task = ["steps"] if "hdf5" not in program else []
    words = command_of(2, program, *task, str(folder), *arguments)
    return kill_in_folder(
        folder, words, environment_of(bin_dir, 1, TAILRACE_IO="hidden,memory=1M"), lines
    )


def check_promises(folder: Path, bin_dir: str, program: str) -> None:
    """Check MPI's promises, with both ways of closing and of a full memory."""
    for ranks, close, words in (
        (1, "later", "hidden,memory=1M"),
        (2, "later", "hidden,memory=1M,through"),
        (3, "wait", "hidden,memory=1M"),
        (4, "later", "hidden,memory=1M,fsync"),
    ):
        more = {"TAILRACE_IO": words, "TAILRACE_IO_CLOSE": close}
        environment = environment_of(bin_dir, 2, **more)
        done = run(folder, environment, ranks, program, "all", str(folder))
        said = (ranks, more, done.stdout, done.stderr)
        assert done.returncode == 0 and "WRONG 0" in done.stdout, said
        assert f"tailrace: TAILRACE_IO_CLOSE={close}: " in done.stderr, said
        assert not list(folder.glob(".*")), (said, list(folder.iterdir()))
        line = line_of(done.stderr)
        hidden = re.search(r"(\d+) writes hidden behind the computation \(([\d.]+) MB", line)
        assert hidden and int(hidden[1]) > 30 and float(hidden[2]) > 2, said
        flushes = re.search(r"at (\d+) reads of data not yet written", line)
        assert flushes and int(flushes[1]) > 0, said
        assert ("closed before they were complete" in line) == (close == "later"), said
        assert "reads of hidden files" in line and "atomic mode" in line, said
        assert " written at once (" in line, said  # the piece that exceeds the memory


def check_ends(folder: Path, bin_dir: str, program: str) -> None:
    """A file that is never closed is whole after MPI's end, and whole or not there without it."""
    for ranks in (1, 3):
        environment = environment_of(bin_dir, 20)
        done = run(folder, environment, ranks, program, "unclosed", str(folder))
        assert done.returncode == 0, (done.stdout, done.stderr)
        assert (folder / "unclosed.dat").stat().st_size == ranks * BLOCK
        assert len(list(folder.iterdir())) == 1, list(folder.iterdir())
        run(folder, environment, ranks, program, "abandoned", str(folder))
        file = folder / "unclosed.dat"
        assert ranks > 1 or file.exists()
        assert not file.exists() or file.stat().st_size == ranks * BLOCK


def check_failures(folder: Path, bin_dir: str, program: str) -> None:
    """A write that fails is said on all ranks, with file and place, and the file has no name."""
    for ranks, when in ((3, "call"), (3, "open"), (3, "end"), (1, "end")):
        # A rank alone starts beyond the limit only in its second block.
        environment = environment_of(bin_dir, 2 if when == "call" else 300)
        done = run(folder, environment, ranks, program, "full", str(folder), when)
        said = (ranks, when, done.stdout, done.stderr)
        fails = ranks > 1
        lines = re.findall(
            r"full[.]dat: hidden writes failed; .*File too large.*at byte (\d+)", done.stderr
        )
        assert len(lines) >= (ranks if fails else 0), said
        assert all(int(place) >= BLOCK for place in lines), said
        assert (done.returncode != 0) == (fails and when != "call"), said
        assert done.stdout.count("told") == ranks, said
        assert (folder / "full.dat").exists() == (not fails), said


def run_alone(folder: Path, bin_dir: str, ranks: int, program: str, *arguments: str) -> list[Path]:
    """Run the program with all calls left to MPI; return its files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = ["io" if one == "hidden" else one for one in command_of(ranks, program, str(folder))]
    subprocess.run(
        [*words, *arguments],
        check=True,
        env=environment_of(bin_dir, 0, TAILRACE_IO="mpi"),
        capture_output=True,
        timeout=250,
    )
    return sorted(folder.iterdir())


def check_hdf5(folder: Path, bin_dir: str, program: str) -> None:
    """Files of parallel HDF5 equal those of the program alone."""
    for ranks, seed, close in ((1, 1, "later"), (2, 2, "later"), (3, 3, "wait"), (4, 4, "later")):
        arguments = [str(seed), "3", "changed"]
        alone = run_alone(folder / "alone", bin_dir, ranks, program, *arguments)
        hidden = folder / "hidden"
        environment = environment_of(bin_dir, 1, TAILRACE_IO_CLOSE=close)
        done = run(hidden, environment, ranks, program, str(hidden), *arguments)
        said = (ranks, seed, close, done.stdout, done.stderr)
        assert done.returncode == 0, said
        assert [path.name for path in alone] == sorted(path.name for path in hidden.iterdir()), said
        for path in alone:
            assert path.read_bytes() == (hidden / path.name).read_bytes(), (path, said)
        line = line_of(done.stderr)
        found = re.search(r"(\d+) writes hidden behind the computation", line)
        assert found and int(found[1]) > 20, said
        assert ("closed before they were complete" in line) == (close == "later"), said


def check_killed_hdf5(folder: Path, bin_dir: str, program: str) -> None:
    """After kill -9 each file is the old one or the new one."""
    dice = random.Random(6)
    num_old = num_new = 0
    for seed in ("1", "2"):
        old = run_alone(folder / "old", bin_dir, 2, program, seed, "3", "once")
        new = run_alone(folder / "new", bin_dir, 2, program, seed, "3", "twice")
        for _ in range(2):
            place = folder / "killed"
            lines = dice.randrange(4, 6)  # of the second round
            assert lines == kill_after(place, bin_dir, program, lines, seed, "3", "twice")
            for first, second in zip(old, new, strict=True):
                found = (place / first.name).read_bytes()
                assert found in (first.read_bytes(), second.read_bytes()), (seed, first)
                num_old += found == first.read_bytes()
                num_new += found == second.read_bytes()
    assert num_old > 0 and num_new > 0, (num_old, num_new)


def check_killed(folder: Path, bin_dir: str, program: str) -> None:
    """After kill -9 at any moment each file under its own name is whole."""
    dice = random.Random(5)
    seen = 0
    for _ in range(8):
        kill_after(folder, bin_dir, program, dice.randrange(1, 40), "1000")
        for file in folder.glob("step*.dat"):
            seen += 1
            assert file.stat().st_size == 8 * BLOCK, file
    assert seen > 0


TASKS = {
    "promises": check_promises,
    "ends": check_ends,
    "failures": check_failures,
    "killed": check_killed,
    "hdf5": check_hdf5,
    "killed_hdf5": check_killed_hdf5,
}

if __name__ == "__main__":
    place = Path(sys.argv[2])
    TASKS[sys.argv[1]](place, sys.argv[3], sys.argv[4])
    print(f"{sys.argv[1]}: ok")
