# SPDX-License-Identifier: BSD-3-Clause
"""Kills parts of a job that writes through a server process, at random moments.

What must hold after each: the job ends as documented, files that were reported as complete are
there, every file under a final name is whole, and neither processes nor shared memory stay behind.

look        nothing is killed: the process that serves is looked at
worker      the process that serves is killed again and again: the job ends well, with every file
supervisor  its supervisor is killed: the same
often       the process that serves is killed whenever it is there: the job ends with an error that
            says so
both        both are killed: the job ends with an error that says so (and nobody is left who
            could remove an unfinished file)
rank        a compute rank is killed: the job ends, and so do the servers
job         the launcher and all ranks are killed: the servers end
term        the launcher gets SIGTERM: the job ends, and so do the servers

Usage: check_process.py FOLDER ROUNDS SCENARIOS COMMAND... (COMMAND runs served_program)
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
from collections.abc import Callable

STEPS = 60
PAUSE_S = 0.02
END_LIMIT_S = 30.0  # for a job that was hurt; the program's watchdog_s is 20


def words_of(pid: int) -> list[str]:
    try:
        raw = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    return [word.decode(errors="replace") for word in raw.split(b"\0")]


def status_of(pid: int) -> tuple[int, str]:
    """Return parent and state of a process; (0, "Z") if there is none."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0, "Z"
    return int(fields[1]), fields[0]


def processes() -> list[int]:
    return [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]


def kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def wait_until(true: Callable[[], bool], limit_s: float) -> bool:
    end = time.monotonic() + limit_s
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


class Job:
    """A job that writes files, and what it has said."""

    def __init__(self, command: list[str], folder: pathlib.Path) -> None:
        # What a killed MPI job leaves behind goes to the folder, too.
        scratch = folder / "scratch"
        shutil.rmtree(folder, ignore_errors=True)
        scratch.mkdir(parents=True)
        environment = {
            **os.environ,
            "TMPDIR": str(scratch),
            "OMPI_MCA_btl_vader_backing_directory": str(scratch),
            "OMPI_MCA_osc_sm_backing_directory": str(scratch),
        }
        self.folder = folder
        self.command = command
        self.log = (folder / "errors.txt").open("w+")
        self.process = subprocess.Popen(
            [*command, "run", str(folder), str(STEPS), str(PAUSE_S), "process"],
            stdout=subprocess.PIPE, stderr=self.log, text=True,
            start_new_session=True, env=environment,
        )  # fmt: skip
        self.done = 0
        self.ended = False
        self.begun = threading.Event()
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()
        if not self.begun.wait(timeout=60):
            kill([self.process.pid, *self.ranks()])
            raise AssertionError(f"no file after 60 s: {self.errors()}")

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            words = line.split()
            if len(words) == 2 and line.endswith("\n") and words[0] in ("done", "end"):
                self.done = int(words[1])
                self.ended = words[0] == "end"
                self.begun.set()

    def errors(self) -> str:
        return pathlib.Path(self.log.name).read_text()

    def ranks(self) -> list[int]:
        return [
            p for p in processes() if self.is_ours(p, "served_program") and p != self.process.pid
        ]

    def is_ours(self, pid: int, program: str) -> bool:
        words = words_of(pid)
        if not words or not words[0].endswith(program):
            return False
        return str(self.folder) in words if program == "served_program" else True

    def servers(self) -> tuple[list[int], list[int]]:
        """Return supervisors and workers of this job: they are named after its ranks' memory."""
        names = [f":{rank}:" for rank in self.rank_pids]
        ours = [
            pid
            for pid in processes()
            if self.is_ours(pid, "tailrace-server")
            and any(name in word for word in words_of(pid) for name in names)
            and status_of(pid)[1] != "Z"
        ]
        supervisors = [p for p in ours if self.name(p) == "tailrace-superv"]
        return supervisors, [p for p in ours if p not in supervisors]

    @staticmethod
    def name(pid: int) -> str:
        try:
            return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            return ""

    def remember_ranks(self) -> None:
        self.rank_pids = self.ranks()
        assert self.rank_pids, "no rank is running"

    def running(self) -> bool:
        return self.process.poll() is None

    def check_end(self, well: bool, clean: bool) -> None:
        """Wait for the end, and look at what is left."""
        limit = END_LIMIT_S + (60 if well else 0)
        over = wait_until(lambda: not self.running(), limit)
        gone = wait_until(lambda: self.servers() == ([], []), END_LIMIT_S)
        left = [p for p in processes() if self.is_ours(p, "served_program")]
        servers = self.servers()
        kill([self.process.pid, *left, *servers[0], *servers[1]])
        self.process.wait()
        self.reader.join()
        assert over, f"the job still ran after {limit} s: {self.errors()}"
        assert gone, f"servers were left: {servers}: {self.errors()}"
        if well:
            assert self.process.returncode == 0, f"{self.process.returncode}: {self.errors()}"
            assert self.ended and self.done == STEPS, (self.ended, self.done)
        else:
            assert not self.ended, "the job ended well"
            assert self.process.returncode != 0
        self.check_files(clean)
        names = ["tailrace", *map(str, self.rank_pids)]
        shared = [p.name for p in pathlib.Path("/dev/shm").iterdir()]
        left_shared = [name for name in shared if any(word in name for word in names)]
        assert not left_shared, f"shared memory was left: {left_shared}"

    def check_files(self, clean: bool) -> None:
        files = sorted(self.folder.glob("*.h5"))
        numbers = self.read(files)
        missing = set(range(1, self.done + 1)) - numbers
        assert not missing, f"{sorted(missing)} of {self.done} files reported as complete are lost"
        if not clean:
            return
        partial = sorted(p.name for p in self.folder.iterdir() if ".partial" in p.name)
        assert not partial, f"unfinished files were left: {partial}"

    def read(self, files: list[pathlib.Path]) -> set[int]:
        if not files:
            return set()
        done = subprocess.run(
            [self.command[-1], "check", *map(str, files)],
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        numbers = [int(line) for line in done.stdout.splitlines()]
        assert done.returncode == 0, f"{files[len(numbers) :]}: {done.stderr}"
        assert len(numbers) == len(files), done.stdout
        return set(numbers)


def look_at_worker(job: Job) -> int:
    """See that the process that serves knows nothing of MPI, and keeps in the background."""
    (pid,) = job.servers()[1]
    folder = pathlib.Path(f"/proc/{pid}")
    names = [word.split(b"=")[0] for word in (folder / "environ").read_bytes().split(b"\0")]
    assert not [name for name in names if name.startswith((b"OMPI_", b"PMIX_", b"PMI_"))], names
    assert b"PATH" in names, names
    opened = [str((folder / "fd" / fd).readlink()) for fd in ("0", "1", "2")]
    assert opened[0] == "/dev/null", opened
    assert opened[1] == opened[2] == str(job.folder / "errors.txt") or "pipe" in opened[2], opened
    assert os.getpriority(os.PRIO_PROCESS, pid) > os.getpriority(os.PRIO_PROCESS, 0)
    assert os.sched_getaffinity(pid) >= os.sched_getaffinity(job.process.pid)
    assert os.getsid(pid) not in [os.getsid(rank) for rank in job.rank_pids]
    return 0


def kill_often(job: Job) -> int:
    """Kill the process that serves whenever it is there, until nobody starts it again."""
    kills = 0
    while any(servers := job.servers()):
        kill(servers[1])
        kills += len(servers[1])
    return kills


def kill_worker(job: Job) -> int:
    """Kill the process that serves about every half second until the job has ended."""
    kills = 0
    while True:
        time.sleep(random.expovariate(1 / 0.4))
        if not job.running():
            return kills
        _, workers = job.servers()
        kill(workers)
        kills += len(workers)


def kill_supervisor(job: Job) -> int:
    supervisors, _ = job.servers()
    assert len(supervisors) == 1, supervisors
    kill(supervisors)
    return 1


def kill_both(job: Job) -> int:
    supervisors, workers = job.servers()
    assert len(supervisors) == 1
    assert len(workers) == 1
    kill(supervisors)
    time.sleep(random.choice((0, 0.1)))
    kill(workers)
    return 2


def kill_rank(job: Job) -> int:
    kill([random.choice(job.rank_pids)])
    return 1


def kill_job(job: Job) -> int:
    kill([job.process.pid, *job.rank_pids])
    return 1 + len(job.rank_pids)


def terminate(job: Job) -> int:
    job.process.send_signal(signal.SIGTERM)
    return 1


# What is done, whether the job ends well, and what it says otherwise.
SCENARIOS: dict[str, tuple[Callable[[Job], int], bool, str]] = {
    "look": (look_at_worker, True, ""),
    "worker": (kill_worker, True, ""),
    "supervisor": (kill_supervisor, True, ""),
    "often": (kill_often, False, "the output server process died 5 times within 10 s"),
    "both": (kill_both, False, "output server 0 has ended: its process"),
    "rank": (kill_rank, False, ""),
    "job": (kill_job, False, ""),
    "term": (terminate, False, ""),
}


def main() -> int:
    folder, rounds = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
    scenarios, command = sys.argv[3].split(","), sys.argv[4:]
    random.seed(int(os.environ.get("SEED", "1")))
    for number in range(rounds):
        for scenario in scenarios:
            hurt, well, says = SCENARIOS[scenario]
            job = Job(command, folder)
            job.remember_ranks()
            time.sleep(random.expovariate(1 / 0.2))
            start = time.monotonic()
            kills = hurt(job)
            try:
                job.check_end(well, clean=scenario != "both")
                assert says in job.errors(), job.errors()
            except AssertionError as error:
                raise AssertionError(f"{scenario}, round {number}: {error}") from error
            print(
                f"{scenario}: {kills} killed, {job.done} files reported and whole, "
                f"over after {time.monotonic() - start:.1f} s",
                flush=True,
            )
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
