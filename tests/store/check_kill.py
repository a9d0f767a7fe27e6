# SPDX-License-Identifier: BSD-3-Clause
"""Kills a job that writes files, again and again, at random moments.

After each kill every file under a final name must be whole, and the newest must not be older than
the last one that the job said was complete. The next job, which writes in another way, starts in
the same folder among what the killed one left.

Usage: check_kill.py FOLDER ROUNDS COMMAND... (the command that runs kill_program)
"""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

WAYS = (
    "mode=hidden",
    "mode=synchronous",
    "mode=hidden writers=1 method=alltoallv",
    "mode=synchronous writers=2 stripe=4096",
    "mode=hidden strategy=shared_independent",
    "mode=synchronous strategy=file_per_rank",
    "mode=hidden strategy=file_per_rank",
    "mode=hidden strategy=grouped",
    "mode=synchronous strategy=spokesperson",
    "mode=hidden stripe=65536",
    "mode=hidden writers=3 stripe=0 method=pairwise",
    "mode=hidden compress=deflate:1",
    "mode=synchronous writers=2 compress=deflate:1",
)


def descendants(root: int) -> list[int]:
    """Return the processes below `root`, found by their parents in /proc."""
    children: dict[int, list[int]] = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = list(children.get(root, []))
    for pid in found:
        found += children.get(pid, [])
    return found


def kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def is_gone(pid: int) -> bool:
    """Also true of one that has ended and is not waited for yet."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def wait_until_gone(pids: list[int]) -> None:
    """Wait for the end of killed processes: until then they go on with the call they are in."""
    end = time.monotonic() + 60
    while not all(map(is_gone, pids)):
        assert time.monotonic() < end, f"killed processes of {pids} are still there"
        time.sleep(0.005)


class Job:
    """A job that writes files, and what it has said."""

    def __init__(self, command: list[str], folder: pathlib.Path, way: str) -> None:
        # What a killed MPI job leaves behind goes to the folder, too.
        scratch = str(folder / "scratch")
        environment = {
            **os.environ,
            "TMPDIR": scratch,
            "OMPI_MCA_btl_vader_backing_directory": scratch,
            "OMPI_MCA_osc_sm_backing_directory": scratch,
        }
        self.process = subprocess.Popen(
            [*command, "loop", str(folder), *way.split()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, env=environment,
        )  # fmt: skip
        self.done = 0
        self.begun = threading.Event()
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            words = line.split()
            if len(words) == 2 and words[0] == "done" and line.endswith("\n"):
                self.done = int(words[1])
                self.begun.set()

    def end(self, whole_job: bool) -> None:
        """Kill the launcher and all ranks at once, or one rank and then what is left."""
        ranks = [pid for pid in descendants(self.process.pid) if self.is_rank(pid)]
        assert ranks, "no rank is running"
        if whole_job:
            kill([self.process.pid, *descendants(self.process.pid)])
        else:
            kill([random.choice(ranks)])
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=20)
            kill([self.process.pid, *ranks])
        self.process.wait()
        wait_until_gone(ranks)
        self.reader.join()

    def is_rank(self, pid: int) -> bool:
        try:
            return (
                b"kill_program" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
            )
        except OSError:
            return False


def newest(command: list[str], files: list[pathlib.Path]) -> int:
    """Return the number of the newest file, after reading them all."""
    done = subprocess.run(
        [command[-1], "check", *map(str, files)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    numbers = [int(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"{files[len(numbers) :]}: {done.stderr}"
    assert len(numbers) == len(files), done.stdout
    return max(numbers)


def main() -> int:
    folder, rounds, command = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    random.seed(1)
    shutil.rmtree(folder, ignore_errors=True)
    counts = {"left": 0, "read": 0, "done": 0}
    for number in range(rounds):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder / "scratch", ignore_errors=True)
        (folder / "scratch").mkdir()
        for old in folder.glob("*.h5"):  # their numbers begin anew; what was left stays
            old.unlink()
        way = WAYS[number % len(WAYS)]
        job = Job(command, folder, way)
        if not job.begun.wait(timeout=60):
            kill([job.process.pid, *descendants(job.process.pid)])
            raise AssertionError(f"{way}: no file after 60 s: {job.process.communicate()[1]}")
        time.sleep(random.expovariate(1 / 0.08))
        job.end(whole_job=random.random() < 0.6)
        files = sorted(folder.glob("*.h5"))
        found = newest(command, files)
        assert found >= job.done, f"{way}: file {found} is the newest, {job.done} was reported"
        counts["left"] += len(list(folder.glob("*.partial")))
        counts["read"] += len(files)
        counts["done"] += job.done
    print(
        f"{rounds} jobs killed after {counts['done']} files: {counts['read']} read and whole, "
        f"{counts['left']} unfinished ones left"
    )
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
