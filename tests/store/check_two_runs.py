# SPDX-License-Identifier: BSD-3-Clause
"""Two runs that write to the same name: one is refused, and nothing of the other is damaged.

Usage: check_two_runs.py FOLDER COMMAND... (the command that runs store_program)
"""

import pathlib
import shutil
import subprocess
import sys
import time

from check_kill import descendants, kill, wait_until_gone


def start(command: list[str], folder: pathlib.Path) -> subprocess.Popen:
    return subprocess.Popen(
        [*command, "loop", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def kill_job(job: subprocess.Popen) -> None:
    """SIGKILL for the launcher and every rank below it."""
    ranks = descendants(job.pid)
    kill([job.pid, *ranks])
    job.wait()
    wait_until_gone(ranks)


def check(command: list[str], folder: pathlib.Path) -> None:
    files = [str(path) for path in sorted(folder.glob("*.h5"))]
    assert files, "nothing was written"
    subprocess.run([*command, "check", *files], check=True)


def meet(command: list[str], folder: pathlib.Path, jobs: list[subprocess.Popen]) -> None:
    jobs += [start(command, folder), start(command, folder)]
    # Both write checkpoint.h5 without end; sooner or later they meet, and the later one stops.
    loser = None
    while loser is None:
        time.sleep(0.02)
        loser = next((job for job in jobs if job.poll() is not None), None)
    assert loser.stderr is not None
    text = loser.stderr.read().decode()
    assert loser.returncode != 0
    assert "it is being written by another run" in text, text
    winner = jobs[0] if loser is jobs[1] else jobs[1]
    assert winner.poll() is None, "the other run has ended too"
    kill_job(winner)
    check(command, folder)
    # What the killed run left does not keep a third one away.
    jobs.append(start(command, folder))
    assert jobs[2].stdout is not None
    assert jobs[2].stdout.readline().strip() == b"begun"
    kill_job(jobs[2])
    check(command, folder)


def main() -> int:
    folder, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    jobs: list[subprocess.Popen] = []
    try:
        meet(command, folder, jobs)
    finally:
        for job in jobs:
            if job.poll() is None:
                kill_job(job)
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
