# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace advise` and `tailrace tune` in jobs on two nodes, as users call them."""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import BUILD, ROOT, Cluster, ImpossibleError, Options

# Its "time" depends on whether ranks 0 and 1 share a node, so that the answer is known.
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, length = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char name[MPI_MAX_PROCESSOR_NAME] = {0}, other[MPI_MAX_PROCESSOR_NAME] = {0};
  MPI_Get_processor_name(name, &length);
  if (rank == 1) MPI_Send(name, sizeof name, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Recv(other, sizeof other, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("loop time %s\\n", strcmp(name, other) ? "1.0" : "2.0");
  }
  return MPI_Finalize();
}
"""
USES = """
from mpi4py import MPI
import tailrace
reduction = tailrace.Reduction(MPI.COMM_WORLD)
if MPI.COMM_WORLD.rank == 0:
    print("method:", reduction.method)
"""
USER_TUNES = (
    "tailrace tune --ranks 4 --budget 2 --problem allreduce:bytes=8 --problem alltoall:bytes=4096 "
    "--problem exchange:extents=16x16x16,grid=2x2 --json=tuned.json"
)


@pytest.fixture(scope="module")
def two() -> Iterator[Cluster]:
    """Two nodes, with a home folder for the results of the tuner."""
    try:
        made = Cluster.start(Options(nodes=2))
    except ImpossibleError as error:
        pytest.skip(f"no cluster of namespaces here: {error}")
    made.outside(made.shared / "home").mkdir()
    yield made
    made.close()


@pytest.fixture(scope="module")
def program(two: Cluster) -> Path:
    source, built = two.script("placed.c", PROGRAM), two.shared / "placed"
    two.on("head", "mpicc", source, "-o", built, check=True)
    return built


def submit(slurm: Cluster, command: str, state: str = "COMPLETED", **environment: str) -> str:
    """Run a command in a job of two nodes with two tasks each; return what it prints."""
    script = slurm.script("job.sh", f"#!/bin/bash\n{command}\n")
    home = str(slurm.shared / "home")
    job = slurm.sbatch("--nodes=2", "--ntasks-per-node=2", script, HOME=home, **environment)
    found = slurm.wait_for_job(job, timeout=600)
    said = slurm.outside(slurm.shared / f"slurm-{job}.out").read_text()
    assert found["JobState"] == state, said
    return said


def test_advise_finds_the_order_of_ranks(two: Cluster, program: Path) -> None:
    """The winner is written, works with `exec`, and is remembered."""
    metric = shlex.quote(r"loop time (\S+)")
    said = submit(
        two,
        f"tailrace advise --budget 500 --tips 'rank order,eager' --metric {metric} -- {program} && "
        f"tailrace exec --with tailrace-settings.toml -- {program} && "
        f"tailrace exec --with remembered -- {program} && srun -n 4 {program}",
    )
    assert re.search(r"rank order.*2\.00x", said), said
    assert "Apply it with:" in said
    assert re.findall(r"^loop time (\S+)", said, re.MULTILINE) == ["1.0", "1.0", "2.0"], said
    settings = two.outside(two.shared / "tailrace-settings.toml").read_text()
    assert "cyclic" in settings


def test_advise_measures_the_gain_of_a_file(two: Cluster, program: Path) -> None:
    two.script("dealt.toml", '[launcher]\noptions = [["--distribution", "cyclic"]]\n')
    metric = shlex.quote(r"loop time (\S+)")
    said = submit(
        two, f"tailrace advise --apply dealt.toml --rounds 8 --metric {metric} -- {program}"
    )
    assert re.search(r"2\.00", said), said


def test_tune_measures_and_programs_use_it(two: Cluster) -> None:
    """The tuner times methods between nodes; a program on the same places takes its winner."""
    submit(two, USER_TUNES)
    found = json.loads(two.outside(two.shared / "tuned.json").read_text())
    entries = {entry["operation"].split()[0]: entry for entry in found["entries"]}
    assert entries.keys() == {"allreduce", "blocks", "exchange"}
    for entry in entries.values():
        assert entry["places"].startswith("4 ranks on 2 nodes, 2 each"), entry
        assert entry["timings"], entry
    said = submit(two, "tailrace tune show --only 'on 2 nodes'")
    assert "3 of 3 winners" in said, said
    uses = two.script("uses.py", USES)
    for winner in {timing["name"] for timing in entries["allreduce"]["timings"]}:
        file = two.outside(two.shared / "home/.cache/tailrace/tune.json")
        kept = json.loads(file.read_text())
        for entry in kept["entries"]:
            if entry["operation"] == "allreduce":
                entry["winner"] = winner
        file.write_text(json.dumps(kept))
        said = submit(
            two,
            f"srun -n 4 {sys.executable} {uses}",
            TAILRACE_TUNE="remembered",
            PYTHONPATH=f"{ROOT}:{BUILD}/bindings/python",
        )
        assert f"method: {winner}" in said, said


def test_tune_writes_rules_for_the_mpi_library(two: Cluster, program: Path) -> None:
    submit(two, "tailrace tune mpi --ranks 4 --sizes 8,4096 --budget 2 --file mpi.json")
    rules = two.shared / "rules.conf"
    said = submit(two, f"tailrace tune export {rules} --format openmpi --file mpi.json")
    settings = next(line for line in said.splitlines() if line.strip().startswith("OMPI_MCA"))
    said = submit(two, f"export {settings}\nsrun -n 4 {program}")
    assert "loop time 2.0" in said
    text = two.outside(rules).read_text()
    assert re.search(r"^4 # ranks and more$", text, re.MULTILINE), text


def test_tune_refuses_a_grid_of_other_ranks(two: Cluster) -> None:
    said = submit(
        two,
        "tailrace tune --ranks 2 --problem exchange:extents=16x16x16,grid=2x2 --file none.json",
        "FAILED",
    )
    assert "grid=2x2 is for 4 ranks, these are 2" in said
    assert "Traceback" not in said
