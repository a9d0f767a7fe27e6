# SPDX-License-Identifier: BSD-3-Clause
"""The clock of a node is a minute ahead or behind: no program compares it with another clock."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import BUILD, Cluster, ImpossibleError, Options
from runs import CASE, check_whole, fields_of

from tailrace.profile.record import read_records

PROGRAM = """
#include <mpi.h>
#include <string.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double sum = 0, own = 1;
  for (int i = 0; i < 20; ++i) MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 50; ++i) {
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Sendrecv(&own, 1, MPI_DOUBLE, to, 0, &sum, 1, MPI_DOUBLE, from, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  if (argc > 1 && !strcmp(argv[1], "abort") && rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
"""
READ_SERIES = "import h5py, json; print(json.dumps(list(h5py.File('{}')['time'][()])))"


@pytest.fixture(scope="module", params=[60, -60], ids=["ahead", "behind"])
def skewed(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster whose second node has another time of day."""
    try:
        made = Cluster.start(Options(nodes=2, clock_s={"n2": request.param}))
    except ImpossibleError as error:
        pytest.skip(f"no cluster of namespaces here: {error}")
    yield made
    made.close()


@pytest.fixture(scope="module")
def program(skewed: Cluster) -> Path:
    source, built = skewed.script("program.c", PROGRAM), skewed.shared / "program"
    skewed.on("head", "mpicc", "-O3", source, "-o", built, check=True)
    return built


def allocate(slurm: Cluster, node: str, command: str, ranks: int = 1) -> str:
    """Run a command on a node, in an allocation of both nodes; return what it prints."""
    done = slurm.on(node, "salloc", "-N2", f"--ntasks-per-node={ranks}", "bash", "-c", command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_ranks_read_different_clocks(skewed: Cluster) -> None:
    """The fault itself: times of day differ by a minute, and monotonic clocks by days."""
    read = "import time, os; print(os.environ['SLURMD_NODENAME'], time.time(), time.monotonic())"
    done = skewed.srun({"n1": 1, "n2": 1}, "python3", "-c", read)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    (day, up), (other_day, other_up) = (map(float, lines[n].split()) for n in ("n1", "n2"))
    assert abs(abs(other_day - day) - 60) < 30
    assert abs(other_up - up - 1e6) < 1e5


@pytest.mark.parametrize("servers", ["none", "hidden", "thread", "1 per node", "1"])
def test_output_and_restart(skewed: Cluster, servers: str) -> None:
    """A run writes all files, and the next one continues it; the command sees the other clock."""
    run = f"clock_{servers.replace(' ', '_')}"
    ranks = 2 if servers[0] == "1" else 1
    for end, files in (("0.1", 6), ("0.3", 16)):
        command = f"{CASE} -o {run} --servers '{servers}' --set time.end={end}"
        allocate(skewed, "n2", command, ranks)
        assert len(fields_of(skewed, run)) == files
        check_whole(skewed, run)
        said = skewed.on("n1", "python3", "-c", READ_SERIES.format(f"{run}/fields.h5"), check=True)
        assert json.loads(said.stdout) == pytest.approx([0.02 * i for i in range(files)])
    steps = skewed.outside(skewed.shared / run / "statistics.csv").read_text().splitlines()[1:]
    assert [int(line.split(",")[0]) for line in steps] == list(range(31))


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_profile_and_doctor(skewed: Cluster, program: Path, node: str) -> None:
    """The times of all ranks are on one clock, and calls that belong together are found."""
    command = f"tailrace profile --json=p.json -o records -- {program}"
    said = allocate(skewed, node, f"{command} && tailrace doctor --fail-on never -- {program}", 2)
    assert re.search(r"4 ranks\b.*2 nodes", said), said
    profile = json.loads(skewed.outside(skewed.shared / "p.json").read_text())
    assert profile["ranks"] == 4
    assert profile["matched"] == {"collectives": 21, "messages": 200}
    records = read_records(skewed.outside(skewed.shared / "records"))
    assert len(records) == 4
    starts = [record.start_s for record in records]  # all ranks leave MPI_Init together
    assert max(starts) - min(starts) < 30


def test_the_trace_of_a_run_has_one_clock(skewed: Cluster) -> None:
    """The nodes have been up for times that differ by days, their traces begin together."""
    command = f"{CASE} -o traced --set time.end=0.1 --set trace.spans=10000"
    allocate(skewed, "n2", command)
    trace = json.loads(skewed.outside(skewed.shared / "traced/trace.json").read_text())
    firsts = [
        min(one["ts"] for one in trace["traceEvents"] if one["ph"] == "X" and one["pid"] == rank)
        for rank in (0, 1)
    ]
    assert abs(firsts[1] - firsts[0]) < 30e6  # microseconds


def test_all_ranks_of_a_node_leave_records_when_one_aborts(skewed: Cluster, program: Path) -> None:
    """Times of record files come from the shared folder: records of earlier runs do not count."""
    skewed.outside(skewed.shared / "aborted").mkdir()
    library = BUILD / "plugins/mpi/libtailrace_mpi_openmpi.so"
    settings = (f"LD_PRELOAD={library}", "TAILRACE_PROFILE_DIR=aborted")
    found: list[tuple[int, int]] = []
    for _ in range(2):
        done = skewed.srun({"n1": 2, "n2": 2}, "env", *settings, program, "abort")
        assert done.returncode != 0
        record = skewed.outside(skewed.shared / "aborted/rank-000002.json")
        assert json.loads(record.read_text())["ended"] == "end of another rank"
        found.append((record.stat().st_ino, record.stat().st_mtime_ns))
    assert found[0] != found[1]
