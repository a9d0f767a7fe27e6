# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs that write by POSIX under ``tailrace exec --with hidden``.

``check_hidden_posix.py TASK FOLDER BIN_DIR PROGRAM`` with TASK ``random`` calls, C++'s
``streams``, ``failures``, ``ends``, ``threads``, ``killed``, ``memory``, ``python`` and
``killed_python`` (h5py and netCDF4), or ``ranks`` (the same with mpi4py). What a program prints,
and its files, must be those of a run without Tailrace.
"""

import importlib.util
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from check_hidden import BLOCK, environment_of, kill_in_folder

HERE = Path(__file__).resolve().parent
SKIPPED = 77


def prefix_of(ranks: int) -> list[str]:
    """Return the words before a program; without a number of ranks if there is one."""
    words = [sys.executable, "-m", "tailrace", "exec", "--with", "hidden"]
    return [*words, *(["-n", str(ranks)] if ranks > 1 else []), "--"]


def run(
    folder: Path, words: list[str], environment: dict[str, str] | None
) -> subprocess.CompletedProcess[str]:
    """Run a command in an empty folder; without an environment, as it is."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return subprocess.run(
        words, capture_output=True, text=True, env=environment, check=False, timeout=250
    )


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the content of all files; nothing of links that lead to none."""
    return {path.name: path.read_bytes() if path.exists() else b"" for path in folder.iterdir()}


def facts_of(text: str) -> tuple[int, int, int]:
    """Return the files written, the writes hidden, and those made at once, as the last line."""
    found = re.findall(
        r"^tailrace io: (\d+) files written by POSIX: (\d+) writes hidden .*, (\d+) written at",
        text,
        re.MULTILINE,
    )
    assert len(found) == 1, text
    files, hidden, at_once = found[0]
    return int(files), int(hidden), int(at_once)


def check_random(folder: Path, bin_dir: str, program: str) -> None:
    """Random calls return what they return without Tailrace, and leave the same files."""
    place = folder / "random"  # one name: programs print what commands say of it
    first = int(sys.argv[5]) if len(sys.argv) > 5 else random.randrange(1 << 20)
    print(f"seeds from {first}, the fifth argument", flush=True)
    total = 0
    for seed in range(first, first + 24):
        words = [program, "random", str(place), str(seed), "250"]
        alone = run(place, words, None)
        left = files_of(place)
        close = ("later", "wait")[seed % 2]
        more = ("", ",memory=1M", ",memory=1M,through", ",memory=300K")[seed // 2 % 4]
        settings = {
            "TAILRACE_IO": "hidden" + more,
            "TAILRACE_IO_CLOSE": close,
            "TAILRACE_IO_FILES": "*.h5",
        }
        done = run(place, [*prefix_of(1), *words], environment_of(bin_dir, seed % 3, **settings))
        said = (seed, settings, done.stderr)
        assert alone.returncode == 0 and done.returncode == 0, said
        assert alone.stdout == done.stdout, said
        assert left == files_of(place), (said, sorted(left), sorted(files_of(place)))
        assert f"tailrace: TAILRACE_IO_CLOSE={close}: " in done.stderr, said
        total += facts_of(done.stderr)[1]
    assert total > 300, total


def errors_of_equal_runs(folder: Path, bin_dir: str, words: list[str]) -> Iterator[str]:
    """Run a command alone and hidden, compare output and files; yield what hidden runs report."""
    alone = run(folder, words, None)
    assert alone.returncode == 0, alone.stderr
    left = files_of(folder)
    for slow_ms, close in ((0, "later"), (1, "later"), (1, "wait")):
        environment = environment_of(bin_dir, slow_ms, TAILRACE_IO_CLOSE=close)
        done = run(folder, [*prefix_of(1), *words], environment)
        assert (done.returncode, done.stdout) == (0, alone.stdout), done.stderr
        found = files_of(folder)
        assert sorted(found) == sorted(left), (sorted(found), sorted(left))
        assert [name for name in left if found[name] != left[name]] == [], done.stderr
        yield done.stderr


def check_streams(folder: Path, bin_dir: str, program: str) -> None:
    """C++'s streams see and write what they do without Tailrace."""
    place = folder / "files"
    for errors in errors_of_equal_runs(place, bin_dir, [program, str(place)]):
        _, hidden, _ = facts_of(errors)
        assert hidden > 60, errors
        assert "both.h5: written as without --with hidden: it is opened for app" in errors


def check_failures(folder: Path, bin_dir: str, program: str) -> None:
    """A write that fails is said once with name and place; the old file stays."""
    ways = (("call", 0), ("sync", 5), ("close", 5), ("open", 5), ("end", 5), ("left", 0))
    for when, slow_ms in ways:
        environment = environment_of(bin_dir, slow_ms)
        if when == "close":
            environment["TAILRACE_IO_CLOSE"] = "wait"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "file0.h5").write_text("old")
        done = subprocess.run(
            [*prefix_of(1), program, "full", str(folder), when],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
            timeout=100,
        )
        said = (when, done.returncode, done.stdout, done.stderr)
        lines = re.findall(
            r"file0[.]h5: hidden writes failed; .*File too large.* at byte (\d+)", done.stderr
        )
        assert lines == [str(BLOCK)], said
        assert f"failed {0 if when in ('end', 'left') else 1}" in done.stdout, said
        assert (done.returncode != 0) == (when in ("open", "end", "left")), said
        if when == "close":  # no temporary name
            assert len(files_of(folder)["file0.h5"]) < 2 * BLOCK, said
        else:
            assert files_of(folder) == {"file0.h5": b"old"}, said


def check_ends(folder: Path, bin_dir: str, program: str) -> None:
    """A program that ends with its file open leaves it complete; none hangs."""
    for how in ("_exit", "quick", "exec", "thread", "loop", "range", "high"):
        environment = environment_of(bin_dir, 5)
        done = run(folder, [*prefix_of(1), program, "abandoned", str(folder), how], environment)
        assert done.returncode == 0, (how, done.stderr)
        assert files_of(folder) == {"file0.h5": b"y" * (8 * BLOCK)}, (how, done.stderr)
    environment = environment_of(bin_dir, 5, TAILRACE_IO="hidden,memory=256K")
    for _ in range(5):
        done = run(folder, [*prefix_of(1), program, "signal", str(folder)], environment)
        assert done.returncode == 3, (done.returncode, done.stderr)


def check_threads(folder: Path, bin_dir: str, program: str) -> None:
    """Threads of one process may open and write their files at the same time."""
    for i in range(12):
        environment = environment_of(bin_dir, i % 2)
        done = run(folder, [*prefix_of(1), program, "threads", str(folder)], environment)
        assert (done.returncode, done.stdout) == (0, "failed 0\n"), (done.stdout, done.stderr)
        assert len(files_of(folder)) == 40, sorted(files_of(folder))


def check_killed(folder: Path, bin_dir: str, program: str) -> None:
    """After kill -9 each file is the old one or the new one, or is not there."""
    dice = random.Random()
    seen = {b"a": 0, b"b": 0}
    for _ in range(20):
        kill_in_folder(
            folder,
            [*prefix_of(1), program, "files", str(folder), "0", "20"],
            environment_of(bin_dir, 1, TAILRACE_IO="hidden,memory=1M"),
            dice.randrange(5, 38),
        )
        for path in folder.glob("step*.h5"):
            content = path.read_bytes()
            assert content in (b"a" * (8 * BLOCK), b"b" * (8 * BLOCK)), path
            seen[content[:1]] += 1
    assert all(seen.values()), seen


def check_memory(folder: Path, bin_dir: str, program: str) -> None:
    """The copies take no more than they may, whatever the program writes."""
    memory = []
    for words in ("hidden,memory=8M", "hidden,memory=64M"):
        environment = environment_of(bin_dir, 1, TAILRACE_IO=words)
        done = run(folder, [*prefix_of(1), program, "big", str(folder), "100"], environment)
        assert done.returncode == 0, done.stderr
        assert (folder / "file0.h5").stat().st_size == 100 << 20
        found = re.search(r"memory (\d+) KiB", done.stdout)
        assert found, done.stdout
        memory.append(int(found[1]) / 1024)
    assert memory[0] + 30 < memory[1] < memory[0] + 80, memory


def has_modules(*names: str) -> bool:
    """Tell whether Python has them."""
    return all(importlib.util.find_spec(name) for name in names)


def check_python(folder: Path, bin_dir: str, _program: str) -> None:
    """Files of h5py and netCDF4 equal those of the script alone."""
    if not has_modules("h5py", "netCDF4"):
        sys.exit(SKIPPED)
    place = folder / "files"
    words = [sys.executable, str(HERE / "serial_files.py"), str(place)]
    for errors in errors_of_equal_runs(place, bin_dir, words):
        files, hidden, at_once = facts_of(errors)
        assert files >= 16 and hidden > 300 and at_once == 0, errors


def check_killed_python(folder: Path, bin_dir: str, _program: str) -> None:
    """After kill -9 each file of h5py and netCDF4 is the old one or the new one."""
    if not has_modules("h5py", "netCDF4"):
        sys.exit(SKIPPED)
    place = folder / "files"
    words = [sys.executable, str(HERE / "serial_files.py"), str(place)]
    contents = []
    for rounds in ("1", "2"):
        alone = run(place, [*words, rounds], None)
        assert alone.returncode == 0, alone.stderr
        contents.append(files_of(place))
    seen = [0, 0]
    for _ in range(12):
        kill_in_folder(
            place,
            [*prefix_of(1), *words, "2"],
            environment_of(bin_dir, 1, TAILRACE_IO="hidden,memory=256K"),
            random.randrange(2, 12),
        )
        for path in place.glob("[hn]*.*"):
            content = path.read_bytes()
            assert content in (contents[0][path.name], contents[1][path.name]), path
            seen[content == contents[1][path.name]] += 1
    assert all(seen), seen


def check_ranks(folder: Path, bin_dir: str, _program: str) -> None:
    """Ranks read what another one wrote and closed before a barrier."""
    if not has_modules("h5py", "netCDF4", "mpi4py"):
        sys.exit(SKIPPED)
    words = [sys.executable, str(HERE / "serial_files.py"), str(folder / "files"), "mpi"]
    for ranks in (2, 3):
        done = run(folder / "files", [*prefix_of(ranks), *words], environment_of(bin_dir, 2))
        assert done.returncode == 0, done.stderr
        assert len(files_of(folder / "files")) == 12 + 6 * ranks, sorted(files_of(folder / "files"))
        assert facts_of(done.stderr)[1] > 20, done.stderr


TASKS = {
    "random": check_random,
    "streams": check_streams,
    "failures": check_failures,
    "ends": check_ends,
    "threads": check_threads,
    "killed": check_killed,
    "memory": check_memory,
    "python": check_python,
    "killed_python": check_killed_python,
    "ranks": check_ranks,
}

if __name__ == "__main__":
    TASKS[sys.argv[1]](Path(sys.argv[2]), sys.argv[3], sys.argv[4])
    print(f"{sys.argv[1]}: ok")
