# SPDX-License-Identifier: BSD-3-Clause
"""Processes and nodes are killed at random: each job ends, and what it reported stays.

TAILRACE_SEED repeats a run, TAILRACE_KILLS sets the number of kills.
"""

import os
import random
import time
from collections.abc import Iterator

import pytest
from cluster import Cluster, ImpossibleError, Options, wait
from runs import LONG, check_whole, fields_of, log_of, wait_for_fields

# Slurm gives up a node after SlurmdTimeout and ranks after KillWait, 10 s each on this cluster, and
# Tailrace waits 10 s for steps that were handed over. The rest is for a busy machine.
LIMIT_S = 120
SERVERS = ["none", "hidden", "thread", "1 per node", "1"]
# What is killed, as pgrep finds it; "" is the whole node.
VICTIMS = {
    "rank": "^/[^ ]*tailrace-turbulence",
    "command": "bin/tailrace run",
    "launcher": "^[^ ]*srun ",
    "step daemon": "^slurmstepd: ",
    "node daemon": "slurmd$",
    "node": "",
}


@pytest.fixture
def mortal() -> Iterator[Cluster]:
    try:
        made = Cluster.start(Options(nodes=2))
    except ImpossibleError as error:
        pytest.skip(f"no cluster of namespaces here: {error}")
    yield made
    made.close()


def start(slurm: Cluster, run: str, servers: str, ranks: int) -> str:
    command = f"{LONG} -o {run} --servers '{servers}'"
    path = slurm.script("job.sh", f"#!/bin/bash\nexec {command}\n")
    return slurm.sbatch("--nodes=2", f"--ntasks-per-node={ranks}", "--no-requeue", path)


def wait_for_checkpoint(slurm: Cluster, job: str, run: str) -> None:
    """Wait for the first one: without it the next job is refused, as it would remove results."""
    folder = slurm.outside(slurm.shared / run)
    wait(lambda: any(folder.glob("checkpoint_*.h5")), 200, lambda: log_of(slurm, job))


def kill(slurm: Cluster, victim: str, node: str, pick: random.Random) -> None:
    """Kill a node, or one process on it."""
    if victim == "node":
        slurm.power_off(node)
        return
    found = slurm.on(node, "pgrep", "-f", VICTIMS[victim]).stdout.split()
    assert found, slurm.on(node, "ps", "-e", "-o", "args=").stdout
    # The second process of srun only cleans up after the first one.
    pid = found[0] if victim == "launcher" else pick.choice(found)
    slurm.on(node, "kill", "-KILL", pid, check=True)


def steps_of(slurm: Cluster, run: str) -> list[int]:
    lines = slurm.outside(slurm.shared / run / "statistics.csv").read_text().splitlines()[1:]
    return [int(line.split(",")[0]) for line in lines]


def wait_for_end(slurm: Cluster, job: str, run: str, victim: str, reported: int) -> str:
    """Wait until a job has ended; return its state.

    Slurm 22.05 does not notice that the daemon of a step is dead. Its ranks may do without it. If
    they end, too, the ranks of other nodes wait for them and say so.
    """
    state = ""

    def is_over() -> bool:
        nonlocal state
        state = slurm.job(job)["JobState"]
        if state not in ("RUNNING", "COMPLETING"):
            return True
        if victim != "step daemon":
            return False
        return len(fields_of(slurm, run)) >= reported + 4 or "has waited" in log_of(slurm, job)

    wait(is_over, LIMIT_S, lambda: f"job {job} ends: {slurm.job(job)}")
    if state in ("RUNNING", "COMPLETING"):
        slurm.on("head", "scancel", job, check=True)
        state = slurm.wait_for_job(job, timeout=LIMIT_S)["JobState"]
    return state


def repair(slurm: Cluster, victim: str, node: str) -> None:
    if victim == "node":
        slurm.power_on(node)
    elif victim == "node daemon":
        slurm.on(node, "slurmd", check=True)
    elif victim == "step daemon":  # which removes the shared memory of Open MPI
        slurm.on(node, "sh", "-c", "rm -f /dev/shm/vader_segment.*", check=True)
    for name in ("n1", "n2"):
        wait(lambda n=name: not slurm.left_over(n), 60, lambda n=name: str(slurm.left_over(n)))
    slurm.wait_until_ready(["n1", "n2"])


@pytest.mark.slow
def test_random_kills(mortal: Cluster) -> None:
    """Each job that loses a process or a node ends in time; the next one continues its run."""
    seed = int(os.environ.get("TAILRACE_SEED") or random.SystemRandom().randrange(2**31))
    kills = int(os.environ.get("TAILRACE_KILLS") or 50)
    pick = random.Random(seed)
    made = number = left = 0
    run = ""
    while made < kills:
        if left == 0:  # a new folder, which some jobs continue
            number += 1
            run, left = f"run{number}", pick.randint(2, 4)
        left -= 1
        servers = pick.choice(SERVERS)
        ranks = 2 if servers.startswith("1") else pick.randint(1, 2)
        victim, node = pick.choice(list(VICTIMS)), pick.choice(["n1", "n2"])
        node = "n1" if victim in ("command", "launcher") else node
        more, pause_s = pick.randint(1, 4), pick.uniform(0, 1)
        case = f"TAILRACE_SEED={seed}, kill {made + 1}: {victim} on {node}, {servers}, {run}"
        job = ""
        try:
            job = start(mortal, run, servers, ranks)
            wait_for_fields(mortal, job, run, len(fields_of(mortal, run)) + more)
            wait_for_checkpoint(mortal, job, run)
            time.sleep(pause_s)  # the moment of the kill
            reported = {path.name for path in fields_of(mortal, run)}
            began_s = time.monotonic()
            kill(mortal, victim, node, pick)
            state = wait_for_end(mortal, job, run, victim, len(reported))
            assert state != "COMPLETED"
            repair(mortal, victim, node)
            assert reported <= {path.name for path in fields_of(mortal, run)}
            check_whole(mortal, run)
        except Exception as error:
            raise AssertionError(f"{case}: {error}; {log_of(mortal, job)}") from error
        made += 1
        took_s = time.monotonic() - began_s
        print(f"{case}: {len(reported)} files, {state} in {took_s:.0f} s", flush=True)
        if left == 0:
            job = start(mortal, run, servers, ranks)
            wait_for_fields(mortal, job, run, len(fields_of(mortal, run)) + 2)
            mortal.on("head", "scancel", "--signal=TERM", job, check=True)
            assert mortal.wait_for_job(job, timeout=LIMIT_S)["JobState"] == "COMPLETED", case
            steps = steps_of(mortal, run)
            assert steps == list(range(len(steps))), case
