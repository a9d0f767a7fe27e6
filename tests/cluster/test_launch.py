# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace run` and its relatives in jobs of Slurm: what starts, and how it ends."""

import json
import re
import shutil
from collections.abc import Iterator

import pytest
from cluster import Cluster, ImpossibleError, Options, wait

NODES = ("n1", "n2", "n3", "n4")
TINY = "--set grid.n=16 --set time.step=0.01 --set output.every=5 --set statistics.every=1"
SHORT = f"tailrace run taylor_green {TINY} --set time.end=0.1"
# Runs until it is stopped.
LONG = f"tailrace run taylor_green {TINY} --set time.end=10000 --set output.every=1000000"
CONTINUED = f"{LONG} --set restart.file=latest_or_fresh --set checkpoint.every=50"
PROGRAM = """
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double sum = 0, own = 1;
  for (int i = 0; i < 20; ++i) MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return MPI_Finalize();
}
"""


@pytest.fixture(autouse=True)
def _left_clean(slurm: Cluster) -> Iterator[None]:
    """No test leaves processes or shared memory on a node."""
    yield
    slurm.on("head", "scancel", "--user=root")  # of a test that has failed
    slurm.wait_until_ready(list(NODES))
    for node in NODES:
        wait(lambda n=node: not slurm.left_over(n), 60, lambda n=node: f"{n}: {slurm.left_over(n)}")


@pytest.fixture(scope="module")
def slurm_without_mpi() -> Iterator[Cluster]:
    """A cluster whose site has not chosen a kind of MPI, as Debian's default is."""
    try:
        made = Cluster.start(Options(nodes=2, mpi="none"))
    except ImpossibleError as error:
        pytest.skip(f"no cluster of namespaces here: {error}")
    yield made
    made.close()


def script(slurm: Cluster, command: str, options: str = "") -> str:
    """Write a job script and return its path."""
    lines = "".join(f"#SBATCH {option}\n" for option in options.split(" ") if option)
    return str(slurm.script("job.sh", f"#!/bin/bash\n{lines}{command}\n"))


def log_of(slurm: Cluster, job: str) -> str:
    return slurm.outside(slurm.shared / f"slurm-{job}.out").read_text()


def ranks_of(slurm: Cluster, run: str) -> int:
    """Return the number of ranks that a run's summary gives."""
    text = slurm.outside(slurm.shared / run / "summary.json").read_text()
    ranks = json.loads(text)["ranks"]
    assert isinstance(ranks, int)
    return ranks


def steps_of(slurm: Cluster, run: str) -> list[int]:
    """Return the steps of a run's statistics."""
    path = slurm.outside(slurm.shared / run / "statistics.csv")
    if not path.exists():
        return []
    lines = path.read_text().splitlines()[1:]
    return [int(line.split(",")[0]) for line in lines if line.split(",")[0].isdecimal()]


def checkpoints_of(slurm: Cluster, run: str) -> list[int]:
    folder = slurm.outside(slurm.shared / run)
    return sorted(int(path.stem.split("_")[1]) for path in folder.glob("checkpoint_*.h5"))


def wait_for_steps(slurm: Cluster, job: str, run: str, steps: int) -> None:
    """Wait until a running job has taken the given number of steps."""

    def done() -> bool:
        assert slurm.job(job)["JobState"] in ("PENDING", "RUNNING"), log_of(slurm, job)
        return max(steps_of(slurm, run), default=0) >= steps

    wait(done, 300, lambda: f"{run}: {steps} steps")


@pytest.mark.parametrize("mpi", ["pmix", "none"])
def test_sbatch_starts_a_rank_for_each_task(
    request: pytest.FixtureRequest, slurm: Cluster, mpi: str
) -> None:
    used = request.getfixturevalue("slurm_without_mpi") if mpi == "none" else slurm
    job = used.sbatch(script(used, f"{SHORT} -o batch", "--nodes=2 --ntasks-per-node=2"))
    found = used.wait_for_job(job)
    assert found["JobState"] == "COMPLETED", log_of(used, job)
    assert ranks_of(used, "batch") == 4
    assert steps_of(used, "batch") == list(range(11))


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("salloc", "salloc -N2 -n3 {run}"),
        ("pty", "script -qec 'srun -N1 -n3 --pty bash -c \"{run}\"' /dev/null"),
        ("overlap", "salloc -N2 -n3 srun --overlap -N1 -n1 {run} -n 3"),
    ],
)
def test_interactive_jobs(slurm: Cluster, name: str, command: str) -> None:
    """A shell inside a step holds the job's processors; ranks start all the same."""
    run = f"{SHORT} -o inside_{name}"
    done = slurm.on("head", "bash", "-c", command.format(run=run))
    assert done.returncode == 0, done.stdout + done.stderr
    assert ranks_of(slurm, f"inside_{name}") == 3


HET = "salloc --nodes=1 --ntasks=1 : --nodes=1 --ntasks=2"


@pytest.mark.parametrize(
    ("name", "command", "ranks"),
    [
        ("all", "{het} {run}", 3),
        ("same", "{het} {run} -n 3", 3),
        ("first", "{het} {run} -n 1", 1),
        ("shell", "{het} script -qec 'srun --pty bash -c \"{run}\"' /dev/null", 3),
        ("custom", "TAILRACE_LAUNCHER='srun -n {{ranks}} --het-group=1' {het} {run} -n 2", 2),
    ],
)
def test_heterogeneous_jobs(slurm: Cluster, name: str, command: str, ranks: int) -> None:
    """All components are one MPI_COMM_WORLD; few ranks run on the first component."""
    run = f"{SHORT} -o het_{name}"
    done = slurm.on("head", "bash", "-c", command.format(het=HET, run=run))
    assert done.returncode == 0, done.stdout + done.stderr
    assert ranks_of(slurm, f"het_{name}") == ranks
    assert steps_of(slurm, f"het_{name}") == list(range(11))


def test_what_a_heterogeneous_job_cannot_start_is_refused(slurm: Cluster) -> None:
    run = f"{SHORT} -o het_refused -n 2"
    done = slurm.on("head", *f"{HET} {run}".split())
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("tailrace: ")]
    assert lines == [
        "tailrace: -n 2: this heterogeneous job has 1 + 2 tasks: omit -n to use all 3, or give at "
        "most 1 for the first component alone"
    ]
    done = slurm.on("head", *f"{HET} srun --het-group=0,1 {SHORT} -o het_refused".split())
    assert done.returncode != 0
    assert done.stderr.count("run it without srun") == 1, done.stderr
    assert not slurm.outside(slurm.shared / "het_refused").exists()


@pytest.mark.parametrize("how", ["steps", "batch"])
def test_term_reaches_all_components_of_a_heterogeneous_job(slurm: Cluster, how: str) -> None:
    """Each component has its own step, which scancel must be given."""
    run = f"het_term_{how}"
    text = "#!/bin/bash\n#SBATCH --nodes=1 --ntasks-per-node=1\n#SBATCH hetjob\n"
    text += f"#SBATCH --nodes=2 --ntasks-per-node=1\nexec {LONG} -o {run}\n"
    job = slurm.sbatch(slurm.script("het.sh", text))
    wait_for_steps(slurm, job, run, 3)
    if how == "steps":
        slurm.on("head", "scancel", "--signal=TERM", job, check=True)
    else:
        slurm.on("head", "scancel", "--batch", "--signal=TERM", job, check=True)
    summary = slurm.outside(slurm.shared / run / "summary.json")
    wait(summary.exists, 300, lambda: log_of(slurm, job))
    # On a busy machine srun of Slurm 22.05 may not notice that the ranks of both steps have ended.
    slurm.on("head", "scancel", job)
    slurm.wait_for_job(job)
    assert ranks_of(slurm, run) == 3
    last = steps_of(slurm, run)
    assert last == list(range(len(last)))
    assert checkpoints_of(slurm, run) == [last[-1]], log_of(slurm, job)


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_profile_of_a_heterogeneous_job(slurm: Cluster, family: str) -> None:
    """PMIx joins the components; PMI2 does not, which one line says."""
    compiler = shutil.which(f"mpicc.{family}")
    if compiler is None:
        pytest.skip(f"needs {'MPICH' if family == 'mpich' else 'Open MPI'}")
    source, program = slurm.script(f"het_{family}.c", PROGRAM), slurm.shared / f"het_{family}"
    slurm.on("head", compiler, "-O3", source, "-o", program, check=True)
    done = slurm.on("head", *f"{HET} tailrace profile -- {program}".split())
    said = done.stdout + done.stderr
    if family == "openmpi":
        assert done.returncode == 0, said
        assert "Profile of 3 ranks" in said
        return
    assert done.returncode == 2, said
    assert said.count("srun joins the components") == 1, said
    done = slurm.on("head", *f"{HET} tailrace profile -n 1 -- {program}".split())
    assert done.returncode == 0, done.stdout + done.stderr


def test_srun_that_starts_the_command_several_times_is_refused(slurm: Cluster) -> None:
    done = slurm.on("head", "srun", "-n3", *f"{SHORT} -o copies -n 3".split())
    assert done.returncode != 0
    assert done.stderr.count("run it without srun") == 1, done.stderr
    assert not slurm.outside(slurm.shared / "copies").exists()


def test_a_step_of_an_interactive_shell_is_refused_too(slurm: Cluster) -> None:
    run = f"{SHORT} -o copies_below -n 3"
    shell = (
        f"script -qec 'srun -N1 -n1 -c3 --pty bash -c \"srun --overlap -c1 -n3 {run}\"' /dev/null"
    )
    done = slurm.on("head", "bash", "-c", shell)
    assert done.returncode != 0
    assert done.stdout.count("run it without srun") == 1, done.stdout
    assert not slurm.outside(slurm.shared / "copies_below").exists()


def test_a_job_array_has_a_folder_for_each_task(slurm: Cluster) -> None:
    command = f"{SHORT} -o array_$SLURM_ARRAY_TASK_ID"
    job = slurm.sbatch("--array=1-3", script(slurm, command, "--nodes=1 --ntasks=2"))
    for task in (1, 2, 3):
        found = slurm.wait_for_job(f"{job}_{task}")
        assert found["JobState"] == "COMPLETED", found
        assert ranks_of(slurm, f"array_{task}") == 2
        assert steps_of(slurm, f"array_{task}") == list(range(11))


def test_mpirun_of_open_mpi_inside_a_job(slurm: Cluster) -> None:
    """Open MPI starts its daemons by srun; the ranks run on both nodes."""
    command = f'export TAILRACE_LAUNCHER="mpirun -n {{ranks}}"\n{SHORT} -o by_mpirun'
    job = slurm.sbatch(script(slurm, command, "--nodes=2 --ntasks-per-node=2"))
    assert slurm.wait_for_job(job)["JobState"] == "COMPLETED", log_of(slurm, job)
    assert ranks_of(slurm, "by_mpirun") == 4


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
@pytest.mark.parametrize("mpi", ["pmix", "none"])
def test_doctor_and_profile_see_all_nodes(
    request: pytest.FixtureRequest, slurm: Cluster, family: str, mpi: str
) -> None:
    """Each node has its own /tmp, where records of other nodes would be lost; MPICH needs PMI2."""
    compiler = shutil.which(f"mpicc.{family}")
    if compiler is None:
        pytest.skip(f"needs {'MPICH' if family == 'mpich' else 'Open MPI'}")
    used = request.getfixturevalue("slurm_without_mpi") if mpi == "none" else slurm
    source, program = used.script(f"{family}.c", PROGRAM), used.shared / family
    used.on("head", compiler, "-O3", source, "-o", program, check=True)
    doctor = f"tailrace doctor --fail-on never --json=doctor.json -- {program}"
    profile = f"tailrace profile -- {program}"
    options = "--nodes=2 --ntasks-per-node=2"
    job = used.sbatch(script(used, f"rm -f doctor.json\n{doctor} && {profile}", options))
    found = used.wait_for_job(job)
    assert found["JobState"] == "COMPLETED", log_of(used, job)
    judged = json.loads(used.outside(used.shared / "doctor.json").read_text())
    assert [node["host"] for node in judged["nodes"]] == ["n1", "n2"], judged
    assert [node["ranks"] for node in judged["nodes"]] == [[0, 1], [2, 3]], judged
    assert re.search(r"4 ranks\b.*2 nodes", log_of(used, job)), log_of(used, job)


@pytest.mark.parametrize("how", ["steps", "batch", "limit", "command"])
def test_term_writes_a_last_checkpoint(slurm: Cluster, how: str) -> None:
    """TERM to the ranks, to the batch shell, before the time limit, and to srun's command."""
    run = f"term_{how}"
    extra = "--time=1 --signal=TERM@30" if how == "limit" else ""
    # A shell passes no signal on, so the command replaces it where the signal goes to the shell.
    command = f"{'exec ' if how == 'batch' else ''}{LONG} -o {run}"
    job = slurm.sbatch(script(slurm, command, f"--nodes=2 --ntasks-per-node=1 {extra}"))
    wait_for_steps(slurm, job, run, 3)
    if how == "steps":
        slurm.on("head", "scancel", "--signal=TERM", job, check=True)
    elif how == "batch":
        slurm.on("head", "scancel", "--batch", "--signal=TERM", job, check=True)
    elif how == "command":
        slurm.on("n1", "pkill", "-TERM", "-f", "tailrace run taylor_green", check=True)
    slurm.wait_for_job(job)
    last = steps_of(slurm, run)
    assert last == list(range(len(last)))
    assert checkpoints_of(slurm, run) == [last[-1]], log_of(slurm, job)
    assert not list(slurm.outside(slurm.shared / run).rglob("*.partial"))


def test_a_requeued_job_continues(slurm: Cluster) -> None:
    job = slurm.sbatch(
        "--requeue",
        "--open-mode=append",
        script(slurm, f"{CONTINUED} -o requeued", "--nodes=2 --ntasks-per-node=1"),
    )
    wait_for_steps(slurm, job, "requeued", 60)
    slurm.on("head", "scontrol", "requeue", job, check=True)
    # Slurm holds a requeued job back for two minutes.
    slurm.wait_for_job(job, "PENDING")
    first = max(steps_of(slurm, "requeued"))

    def released() -> bool:
        # slurmd refuses the job in the second in which it was requeued.
        done = slurm.on("head", "scontrol", "update", f"jobid={job}", "starttime=now+3")
        return done.returncode == 0

    def runs_again() -> bool:
        found = slurm.job(job)
        return found["JobState"] == "RUNNING" and found["Restarts"] == "1"

    wait(released, 60, lambda: str(slurm.job(job)))
    wait(runs_again, 300, lambda: str(slurm.job(job)))
    wait_for_steps(slurm, job, "requeued", first + 60)
    slurm.on("head", "scancel", "--signal=TERM", job, check=True)
    slurm.wait_for_job(job)
    steps = steps_of(slurm, "requeued")
    assert steps == list(range(len(steps))), log_of(slurm, job)
    assert checkpoints_of(slurm, "requeued")[-1] == steps[-1]


@pytest.mark.parametrize("servers", ["hidden", "thread", "process", "1 per node"])
def test_a_cancelled_job_leaves_nothing(slurm: Cluster, servers: str) -> None:
    """Neither processes nor shared memory (the fixture of this file looks)."""
    run = f"cancelled_{servers.replace(' ', '_')}"
    memory = "" if servers == "hidden" else "--set output.memory=32M"
    command = f'{LONG} -o {run} --set output.every=2 {memory} --servers "{servers}"'
    nodes = 1 if servers == "process" else 2  # a server process works on one node
    job = slurm.sbatch(script(slurm, command, f"--nodes={nodes} --ntasks-per-node=2"))
    wait_for_steps(slurm, job, run, 5)
    slurm.on("head", "scancel", job, check=True)
    slurm.wait_for_job(job)
