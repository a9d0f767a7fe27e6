# SPDX-License-Identifier: BSD-3-Clause
"""A node is ten times as slow as the others: output completes, and the profile names its ranks."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from cluster import BUILD, ROOT, Cluster, ImpossibleError, Options, wait
from runs import CASE, check_whole, fields_of, log_of, submit

WORK = """
#include <mpi.h>
#include <time.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double sum = 0, own = 1;
  for (int i = 0; i < 20; ++i) {
    for (clock_t until = clock() + CLOCKS_PER_SEC / 50; clock() < until;) {}
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  return MPI_Finalize();
}
"""
# Data is on its way for longer than the watchdog waits for a silent rank.
WATCHED = """
import sys, time
import numpy as np
from mpi4py import MPI
import tailrace

transport, watchdog_s = sys.argv[1], float(sys.argv[2])
session = tailrace.Session(MPI.COMM_WORLD, "1", transport=transport, watchdog_s=watchdog_s)
if not session.computes:
    sys.exit(session.serve())
comm = session.compute
fields = session.open("fields")
layout = tailrace.slabs((comm.size, 1 << 18), 0, comm.size)
end_s, step, more = time.monotonic() + 2 * watchdog_s, 0, True
while more:
    u = np.full(layout.shape(comm.rank), step + comm.rank, "float64")
    fields.write(f"watched_{transport}/u_{step}.h5", {"u": u}, layout)
    fields.progress()
    step += 1
    more = comm.bcast(time.monotonic() < end_s)
fields.finish()
session.close()
if comm.rank == 0:
    print("steps", step)
"""


PYTHONPATH = f"{ROOT}:{BUILD}/bindings/python"


@pytest.fixture(scope="module")
def uneven() -> Iterator[Cluster]:
    """A cluster of two nodes with slow links."""
    try:
        made = Cluster.start(Options(nodes=2, rate="50mbit"))
    except ImpossibleError as error:
        pytest.skip(f"no cluster of namespaces here: {error}")
    yield made
    made.close()


@contextlib.contextmanager
def slow(slurm: Cluster, node: str, pattern: str, run_s: float, stop_s: float) -> Iterator[None]:
    """Slow processes of a node down; fails if there were none, unless the body fails."""
    end = slurm.shared / "end_of_slowness"
    program = str(Path(__file__).with_name("slow_down.py"))
    words = [sys.executable, program, pattern, str(run_s), str(stop_s), str(end)]
    with subprocess.Popen(slurm.words_on(node, *words), stdout=subprocess.PIPE) as process:
        try:
            yield
        finally:
            slurm.outside(end).touch()
            said, _ = process.communicate(timeout=60)
            slurm.outside(end).unlink()
        assert int(said) > 0, "no process was slowed down"


@pytest.mark.parametrize("servers", ["none", "hidden", "thread", "1 per node"])
def test_output_of_a_slow_node_completes(uneven: Cluster, servers: str) -> None:
    run = f"slow_{servers.replace(' ', '_')}"
    command = f"{CASE} --set time.end=0.08 -o {run} --servers '{servers}'"
    with slow(uneven, "n2", "tailrace-turbulence", 0.02, 0.18):
        job = submit(uneven, command, f"--ntasks-per-node={2 if servers[0] == '1' else 1}")
        found = uneven.wait_for_job(job)
        assert found["JobState"] == "COMPLETED", log_of(uneven, job)
    assert len(fields_of(uneven, run)) == 5
    assert check_whole(uneven, run) >= 5


@pytest.mark.parametrize(("transport", "node"), [("push_any", "n1"), ("credit", "n2")])
def test_a_watchdog_does_not_take_a_slow_rank_for_dead(
    uneven: Cluster, transport: str, node: str
) -> None:
    """The ranks of a node stop for a second again and again, while packets are on their way."""
    script = uneven.script("watched.py", WATCHED)
    folder = uneven.outside(uneven.shared / f"watched_{transport}")
    folder.mkdir(exist_ok=True)
    words = [sys.executable, script, transport, "10"]
    with slow(uneven, node, "watched.py", 0.3, 1):
        done = uneven.srun({"n1": 2, "n2": 2}, *words, PYTHONPATH=PYTHONPATH)
        assert done.returncode == 0, done.stdout + done.stderr
    steps = int(done.stdout.split("steps")[1])
    for step in range(steps):
        path_of_step = folder / f"u_{step}.h5"
        with h5py.File(path_of_step) as file:
            assert np.array_equal(file["u"][:, 0], step + np.arange(3.0))
            assert (file["u"][()] == file["u"][:, :1]).all()
        path_of_step.unlink()


def test_a_watchdog_takes_ranks_that_stand_still_for_dead(uneven: Cluster) -> None:
    """The job ends although nobody continues the ranks that were stopped."""
    script = uneven.script("watched.py", WATCHED)
    folder = uneven.outside(uneven.shared / "watched_push_any")
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    start = uneven.script("job.sh", f"#!/bin/bash\nsrun {sys.executable} {script} push_any 3\n")
    job = uneven.sbatch("--nodes=2", "--ntasks-per-node=2", start, PYTHONPATH=PYTHONPATH)
    wait(lambda: any(folder.glob("*.h5")), 200, lambda: log_of(uneven, job))
    uneven.on("n2", "pkill", "-STOP", "-f", "watched.py push_any", check=True)
    found = uneven.wait_for_job(job, timeout=200)
    assert found["JobState"] == "FAILED", found
    said = log_of(uneven, job)
    assert "(watchdog_s) for rank" in said or "no message from" in said, said
    wait(lambda: not uneven.left_over("n2"), 60, lambda: str(uneven.left_over("n2")))


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_the_profile_names_the_ranks_of_a_slow_node(uneven: Cluster, node: str) -> None:
    """Ranks use the same processor time; those of the slow node come late to each call."""
    source, program = uneven.script("work.c", WORK), uneven.shared / "work"
    uneven.on("head", "mpicc", "-O2", source, "-o", program, check=True)
    with slow(uneven, node, "shared/work", 0.02, 0.18):
        job = submit(uneven, f"tailrace profile --json=slow.json -- {program}")
        found = uneven.wait_for_job(job)
        said = log_of(uneven, job)
        assert found["JobState"] == "COMPLETED", said
    profile = json.loads(uneven.outside(uneven.shared / "slow.json").read_text())
    rank = 0 if node == "n1" else 1
    assert max(profile["late"], key=lambda late: late["caused_s"])["rank"] == rank
    assert f"Others waited for ranks {rank} (" in said
