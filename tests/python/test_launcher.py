# SPDX-License-Identifier: BSD-3-Clause
"""Which launcher is chosen, from stand-ins on a made-up PATH."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from stand_ins import built, write_script
from typer.main import get_command

from tailrace.cli import app
from tailrace.errors import TailraceError
from tailrace.launch import launcher
from tailrace.launch.launcher import Launch, find_launcher, job_tasks
from tailrace.launch.slurm import with_mpi
from tailrace.profile import job
from tailrace.profile.job import choose_launcher
from tailrace.programs import find_program


def machine(tmp_path: Path, **versions: str) -> dict[str, str]:
    """An environment whose PATH holds launchers with these --version texts."""
    for name, version in versions.items():
        write_script(tmp_path / name, f"#!/bin/sh\necho '{version}'\n")
    return {"PATH": str(tmp_path)}


def test_srun_inside_a_slurm_job(tmp_path: Path) -> None:
    env = machine(tmp_path, srun="slurm 23", mpirun="mpirun (Open MPI) 4.1.4")
    in_job = find_launcher(4, 2, env | {"SLURM_JOB_ID": "7"})
    assert in_job.prefix == [
        str(tmp_path / "srun"),
        f"--job-name={in_job.step}",
        "--ntasks=4",
        "--cpus-per-task=2",
    ]
    assert find_launcher(4, 2, env).kind == "Open MPI"  # not in a job


@pytest.mark.parametrize("custom", ["", "srun -n {ranks}"])
def test_srun_ends_all_ranks_when_one_is_killed(tmp_path: Path, custom: str) -> None:
    env = machine(tmp_path, srun="slurm 23") | {"SLURM_JOB_ID": "7", "TAILRACE_LAUNCHER": custom}
    assert find_launcher(4, 1, env).environment["SLURM_KILL_BAD_EXIT"] == "1"
    own = find_launcher(4, 1, env | {"SLURM_KILL_BAD_EXIT": "0"}).environment
    assert "SLURM_KILL_BAD_EXIT" not in own


HET_JOB = {
    "SLURM_JOB_ID": "7",
    "SLURM_HET_SIZE": "2",
    "SLURM_NTASKS": "1",  # of the first component, or of all: it depends on salloc or sbatch
    "SLURM_NTASKS_HET_GROUP_0": "1",
    "SLURM_NTASKS_PER_NODE_HET_GROUP_1": "2",
    "SLURM_JOB_NUM_NODES_HET_GROUP_1": "3",
}


def test_a_heterogeneous_job_starts_the_tasks_of_all_components(tmp_path: Path) -> None:
    env = machine(tmp_path, srun="slurm 23") | HET_JOB
    assert job_tasks(env) == 7
    assert "--het-group=0-1" in find_launcher(7, 1, env).prefix
    first = find_launcher(1, 1, env).prefix
    assert "--ntasks=1" in first
    assert not any("--het-group" in word for word in first)
    said = r"-n 3: this heterogeneous job has 1 \+ 6 tasks: omit -n to use all 7, or .* 1 for"
    with pytest.raises(TailraceError, match=said) as raised:
        find_launcher(3, 1, env)
    assert raised.value.status == 2


@pytest.mark.parametrize(
    ("version", "fence"),
    [("slurm-wlm 22.05.8", "ring"), ("slurm 21.08.8-2", "ring"), ("slurm 23.02.0", ""),
     ("slurm-wlm 24.11.5", "")],
)  # fmt: skip
def test_the_barrier_of_an_old_slurm_spans_all_nodes(
    tmp_path: Path, version: str, fence: str
) -> None:
    env = machine(tmp_path, srun=version) | {"SLURM_JOB_ID": "7"}
    assert find_launcher(4, 1, env).environment.get("SLURM_PMIX_FENCE", "") == fence
    own = find_launcher(4, 1, env | {"SLURM_PMIX_FENCE": "tree"}).environment
    assert "SLURM_PMIX_FENCE" not in own


def test_open_mpi_as_root_and_with_more_ranks_than_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = machine(tmp_path, mpirun="mpirun (Open MPI) 4.1.4", ssh="ssh")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    few, many = find_launcher(1, 1, env), find_launcher(3, 1, env)
    assert "--allow-run-as-root" in few.prefix
    assert "--oversubscribe" not in few.prefix
    assert few.environment == {"TAILRACE_RANKS": "1"}
    assert "--oversubscribe" in many.prefix
    assert many.environment["OMPI_MCA_mpi_yield_when_idle"] == "1"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "--allow-run-as-root" not in find_launcher(1, 1, env).prefix


def test_open_mpi_without_ssh(tmp_path: Path) -> None:
    env = machine(tmp_path, mpirun="mpirun (Open MPI) 4.1.4")
    assert "OMPI_MCA_plm_rsh_agent" in find_launcher(2, 1, env).environment


def test_mpich_by_either_name(tmp_path: Path) -> None:
    env = machine(tmp_path, mpiexec="HYDRA build details: Version: 4.0.2")
    launch = find_launcher(3, 1, env)
    assert launch.kind == "MPICH"
    assert launch.prefix == [str(tmp_path / "mpiexec"), "-n", "3"]


def test_own_launcher_comes_first(tmp_path: Path) -> None:
    env = machine(tmp_path, mpirun="mpirun (Open MPI) 4.1.4")
    env["TAILRACE_LAUNCHER"] = "aprun -n {ranks} -d 2"
    assert find_launcher(4, 1, env).prefix == ["aprun", "-n", "4", "-d", "2"]


def test_without_launcher_one_rank_runs_alone_and_more_do_not(tmp_path: Path) -> None:
    env = machine(tmp_path)
    assert find_launcher(1, 1, env).prefix == []
    with pytest.raises(TailraceError, match="no launcher found"):
        find_launcher(2, 1, env)


def test_srun_inside_a_step_shares_its_processors(tmp_path: Path) -> None:
    env = machine(tmp_path, srun="slurm 23") | {"SLURM_JOB_ID": "7"}
    assert "--overlap" not in find_launcher(2, 1, env).prefix
    assert "--overlap" in find_launcher(2, 1, env | {"SLURM_STEP_ID": "0"}).prefix


COPIES = [
    {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"},
    {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "0"},
    {"PMI_SIZE": "4", "PMI_RANK": "0"},
]


@pytest.mark.parametrize("started", COPIES, ids=lambda one: next(iter(one)))
def test_copies_of_a_command_start_no_ranks(tmp_path: Path, started: dict[str, str]) -> None:
    env = machine(tmp_path, mpirun="mpirun (Open MPI) 4.1.4")
    with pytest.raises(TailraceError, match="started this command 4 times"):
        find_launcher(4, 1, env | started)
    assert find_launcher(1, 1, env | started).prefix  # several runs of one rank are possible
    number, copy = started
    assert find_launcher(4, 1, env | {number: "1", copy: "0"}).prefix
    with pytest.raises(SystemExit):  # the first copy says it
        find_launcher(4, 1, env | {number: "4", copy: "3"})


@pytest.mark.parametrize("more", [{}, {"PMI_SIZE": "4", "PMI_RANK": "0"}], ids=["pmix", "pmi2"])
def test_the_shell_of_a_step_starts_ranks_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, str]
) -> None:
    """`srun -n 4 --pty` runs the command four times and gives the first copy a terminal."""
    env = machine(tmp_path, srun="slurm 23")
    shell = COPIES[0] | {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PTY_PORT": "4000"} | more
    monkeypatch.setattr("tailrace.launch.launcher.has_terminal", lambda: True)
    assert "--overlap" in find_launcher(4, 1, env | shell).prefix
    monkeypatch.setattr("tailrace.launch.launcher.has_terminal", lambda: False)
    with pytest.raises(SystemExit) as ended:
        find_launcher(4, 1, env | shell | {"SLURM_PROCID": "1"})
    assert ended.value.code == 0
    # A step that the shell has started inherits the variable of its terminal.
    with pytest.raises(TailraceError, match="started this command 4 times"):
        find_launcher(4, 1, env | shell)


@pytest.mark.parametrize(
    ("env", "tasks"),
    [
        ({}, 1),
        ({"SLURM_NTASKS": "64"}, 1),  # not in a job
        ({"SLURM_JOB_ID": "7", "SLURM_NTASKS": "64"}, 64),
        ({"SLURM_JOB_ID": "7", "SLURM_NTASKS_PER_NODE": "32", "SLURM_NNODES": "2"}, 64),
        ({"SLURM_JOB_ID": "7"}, 1),
        (HET_JOB, 7),
        ({"SLURM_JOB_ID": "7", "SLURM_HET_SIZE": "2"}, 2),
        ({"PBS_JOBID": "7", "PBS_NP": "64"}, 64),
        ({"PBS_JOBID": "7", "PBS_NODEFILE": "nodes"}, 3),
        ({"PBS_JOBID": "7", "PBS_NODEFILE": "absent"}, 1),
        ({"LSB_JOBID": "7", "LSB_DJOB_NUMPROC": "64"}, 64),
        ({"LSB_JOBID": "7", "LSB_DJOB_NUMPROC": "many"}, 1),
    ],
)
def test_ranks_are_the_tasks_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], tasks: int
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nodes").write_text("n1\nn1\nn2\n")
    assert job_tasks(env) == tasks


@pytest.mark.parametrize("name", ["run", "advise", "profile"])
def test_commands_take_the_ranks_of_the_job(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    command = get_command(app).get_command(None, name)  # type: ignore[attr-defined]
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_NTASKS", "64")
    (ranks,) = (one for one in command.params if one.name == "ranks")
    assert ranks.get_default(command.make_context(name, ["-n", "1", "--", "app"])) == 64


SLURM_TYPES = "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\n"
NO_PMIX = "MPI plugin types are...\n\tnone\n\tpmi2\n"


@pytest.mark.parametrize(
    ("default", "types", "family", "has_pmix", "word"),
    [
        ("none", SLURM_TYPES, "openmpi", True, "--mpi=pmix"),
        ("(null)", SLURM_TYPES, "openmpi", False, "--mpi=pmix"),
        ("pmix", SLURM_TYPES, "openmpi", True, ""),
        ("pmi2", SLURM_TYPES, "openmpi", True, ""),  # as the site's administrators want it
        ("none", SLURM_TYPES, "mpich", False, "--mpi=pmi2"),
        ("pmix_v4", SLURM_TYPES, "mpich", False, "--mpi=pmi2"),
        ("pmix", SLURM_TYPES, "mpich", True, ""),
        ("pmi2", SLURM_TYPES, "mpich", False, ""),
        ("cray_shasta", SLURM_TYPES, "mpich", False, ""),
    ],
)
def test_srun_is_told_the_kind_of_mpi(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    default: str,
    types: str,
    family: str,
    has_pmix: bool,
    word: str,
) -> None:
    config = f"MpiDefault              = {default}"
    write_script(tmp_path / "scontrol", f"#!/bin/sh\necho '{config}'\n")
    srun = write_script(tmp_path / "srun", f"#!/bin/sh\necho '{types}' >&2\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("SLURM_MPI_TYPE", raising=False)
    launch = Launch("srun", [str(srun), "--ntasks=2"])
    words = [str(srun), word, "--ntasks=2"] if word else launch.prefix
    assert with_mpi(launch, family, has_pmix).prefix == words
    monkeypatch.setenv("SLURM_MPI_TYPE", "mine")
    assert with_mpi(launch, family, has_pmix) == launch


@pytest.mark.parametrize(
    ("default", "asked", "family", "joined"),
    [
        ("pmix", "", "openmpi", True),
        ("none", "", "openmpi", True),
        ("pmi2", "", "openmpi", False),
        ("pmi2", "pmix", "openmpi", True),
        ("none", "", "mpich", False),
        ("pmix", "", "mpich", False),
        ("pmix", "pmi2", "openmpi", False),
    ],
)
def test_components_of_a_heterogeneous_job_are_not_joined_by_pmi2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    default: str,
    asked: str,
    family: str,
    joined: bool,
) -> None:
    write_script(tmp_path / "scontrol", f"#!/bin/sh\necho 'MpiDefault = {default}'\n")
    srun = str(write_script(tmp_path / "srun", f"#!/bin/sh\necho '{SLURM_TYPES}' >&2\n"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_MPI_TYPE", asked)
    with_mpi(Launch("srun", [srun, "--ntasks=1"]), family, False)
    all_components = Launch("srun", [srun, "--het-group=0-1"])
    if joined:
        with_mpi(all_components, family, False)
    else:
        with pytest.raises(TailraceError, match="by PMIx only") as raised:
            with_mpi(all_components, family, False)
        assert raised.value.status == 2


def test_a_slurm_without_the_kind_of_mpi_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_script(tmp_path / "scontrol", "#!/bin/sh\necho 'MpiDefault = none'\n")
    srun = write_script(tmp_path / "srun", f"#!/bin/sh\necho '{NO_PMIX}' >&2\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("SLURM_MPI_TYPE", raising=False)
    with pytest.raises(TailraceError, match="--mpi=pmix, which this Slurm does not have"):
        with_mpi(Launch("srun", [str(srun)]), "openmpi", True)


VERSIONS = {"openmpi": "mpirun (Open MPI) 4.1.4", "mpich": "HYDRA build details: Version: 4.0.2"}


@pytest.mark.parametrize("name", ["mpirun", "mpiexec", "mpiexec.hydra", "orterun"])
@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_a_launcher_of_another_mpi_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family: str, name: str
) -> None:
    other = "mpich" if family == "openmpi" else "openmpi"
    library = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}[family]
    monkeypatch.setattr(job, "linked_libraries", lambda _program: {library})
    monkeypatch.setenv("PATH", str(tmp_path))
    for maker, wrong in ((family, False), (other, True)):
        path = write_script(tmp_path / name, f"#!/bin/sh\necho '{VERSIONS[maker]}'\n")
        monkeypatch.setenv("TAILRACE_LAUNCHER", f"{path} -n {{ranks}}")
        if not wrong:
            assert choose_launcher(2, Path("app"))[0] == family
            continue
        with pytest.raises(TailraceError, match="would start 2 programs of one rank each"):
            choose_launcher(2, Path("app"))
        assert choose_launcher(1, Path("app"))[0] == family


PROGRAMS = ("turbulence", "helium", "groundwater", "verify", "tune")


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("variable", [launcher.ASKED_RANKS, "PMI_SIZE"])
def test_our_programs_do_not_run_alone(tmp_path: Path, name: str, variable: str) -> None:
    built(f"tailrace-{name}")
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        [str(find_program(f"tailrace-{name}")), "file", "more"],
        cwd=tmp_path,
        env=os.environ | {variable: "2"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert f"2 ranks were asked for ({variable}), but MPI_COMM_WORLD has 1" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_run_that_falls_apart_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built("tailrace-turbulence")
    script = 'for i in 1 2; do "$@" & done; wait %1'
    monkeypatch.setenv("TAILRACE_LAUNCHER", f"sh -c '{script}' sh")
    monkeypatch.chdir(tmp_path)
    words = ["run", "taylor_green", "-n", "2", "--set", "grid.n=16", "--run-dir", "run"]
    done = subprocess.run(
        [sys.executable, "-m", "tailrace", *words, "--set", "time.max_steps=2"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "2 ranks were asked for (TAILRACE_RANKS), but MPI_COMM_WORLD has 1" in done.stderr
    assert not (tmp_path / "run").exists()
