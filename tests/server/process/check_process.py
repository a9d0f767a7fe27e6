# SPDX-License-Identifier: BSD-3-Clause
"""Kills parts of a job that writes through a server process, at random moments.

What must hold after each: the job ends as documented, files that were reported as complete are
there, every file under a final name is whole, and no process stays behind.

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

import os
import pathlib
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable

from served_job import Job, kill

STEPS = 60
MOST_KILLS = 2  # without a new file: at the fifth death without one the supervisor gives up


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
    lowest = 19
    own = os.getpriority(os.PRIO_PROCESS, 0)  # the tests may be nice themselves
    assert os.getpriority(os.PRIO_PROCESS, pid) > own or own == lowest
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
    job.go_on()
    kills = in_vain = done = 0
    while True:
        time.sleep(random.expovariate(1 / 0.4))
        if job.done > done:
            done, in_vain = job.done, 0
        if not job.running():
            return kills
        if in_vain < MOST_KILLS:
            _, workers = job.servers()
            kill(workers)
            kills += len(workers)
            in_vain += len(workers)


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
            shutil.rmtree(folder, ignore_errors=True)
            # Jobs that are to end badly must not end before that.
            job = Job(
                command, folder, STEPS if well else 50 * STEPS, ("servers=process", "pause_s=0.02")
            )
            job.remember_ranks()
            time.sleep(random.expovariate(1 / 0.2))
            start = time.monotonic()
            kills = hurt(job)
            job.go_on()
            try:
                job.check_end(well, clean=scenario not in ("both", "often"))
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
