# SPDX-License-Identifier: BSD-3-Clause
"""Kills a job that writes files, again and again: every file under a final name must be whole.

Usage: check_kill.py FOLDER ROUNDS COMMAND... (the command that runs store_program)
"""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time


def kill_job(job: subprocess.Popen, program: str) -> None:
    """SIGKILL for the launcher and every rank below it, found by their parents in /proc."""
    children: dict[int, list[int]] = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.name))
    doomed, found = [job.pid], 0
    while found < len(doomed):
        doomed += children.get(doomed[found], [])
        found += 1
    assert found > 1, f"no rank of {program} found"
    for pid in doomed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    job.wait()


def main() -> int:
    folder, rounds, command = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    random.seed(1)
    checked = 0
    for _ in range(rounds):
        job = subprocess.Popen(
            [*command, "loop", str(folder)], stdout=subprocess.PIPE, start_new_session=True
        )
        assert job.stdout is not None
        assert job.stdout.readline().strip() == b"begun"
        time.sleep(random.uniform(0.0, 0.5))
        kill_job(job, command[-1])
        files = [str(path) for path in sorted(folder.glob("*.h5"))]
        assert files, "nothing had been written"
        subprocess.run([*command, "check", *files], check=True)
        checked += len(files)
    print(f"{rounds} jobs killed, {checked} files whole")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
