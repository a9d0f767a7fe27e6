# SPDX-License-Identifier: BSD-3-Clause
"""Which launcher starts the ranks here, and with which options and environment.

Inside a Slurm job it is srun, else mpiexec or mpirun of Open MPI, MPICH or a relative. The variable
TAILRACE_LAUNCHER replaces the choice, for example ``TAILRACE_LAUNCHER="mpiexec -n {ranks}"``.
"""

import os
import re
import secrets
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.tools import run_tool

# Outside a job: more ranks than this for each core of this machine are taken for a mistake.
MOST_RANKS_PER_CORE = 256
JOB_NAMES = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "COBALT_JOBID", "PJM_JOBID", "JOB_ID")
# Ranks compare it with the size of MPI_COMM_WORLD (include/tailrace/more/launched_alone.hpp).
ASKED_RANKS = "TAILRACE_RANKS"
# Launchers with the variables that say how many copies of a program they have started, and which
# copy this is.
COPIES = (
    ("srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
    ("mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("mpiexec", "PMI_SIZE", "PMI_RANK"),
)


@dataclass(frozen=True)
class Launch:
    """A command line prefix and what to add to the environment.

    `step` is the name of Slurm's job step, by which `scancel` reaches its ranks; "" without srun.
    """

    kind: str
    prefix: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    step: str = ""


@dataclass(frozen=True)
class Request:
    """What is to be started: `ranks` ranks of `threads` threads, seen from this machine."""

    ranks: int
    threads: int
    cores: int
    is_root: bool
    has_ssh: bool


def _srun(path: str, request: Request, env: Mapping[str, str]) -> Launch:
    prefix = [path, *_where(request.ranks, env), f"--cpus-per-task={request.threads}"]
    if "SLURM_STEP_ID" in env:  # the step of this shell holds the processors of the job
        prefix.append("--overlap")
    return _named_step(Launch("srun", prefix, _true_barrier(path, env) | _end_together(env)))


def _end_together(env: Mapping[str, str]) -> dict[str, str]:
    """Return what makes srun end all ranks when one is killed, as mpirun does.

    By Slurm's default (KillOnBadExit=0) the others stay, and may wait for it for ever.
    """
    return {} if "SLURM_KILL_BAD_EXIT" in env else {"SLURM_KILL_BAD_EXIT": "1"}


def _where(ranks: int, env: Mapping[str, str]) -> list[str]:
    """Return the options of srun for `ranks` ranks: in a heterogeneous job, of which components."""
    tasks = component_tasks(env)
    if len(tasks) > 1 and ranks == sum(tasks):
        return [f"--het-group=0-{len(tasks) - 1}"]  # each with its own number of tasks
    if len(tasks) > 1 and ranks > tasks[0]:
        numbers = " + ".join(map(str, tasks))
        raise TailraceError(
            f"-n {ranks}: this heterogeneous job has {numbers} tasks: omit -n to use all "
            f"{sum(tasks)}, or give at most {tasks[0]} for the first component alone",
            status=2,
        )
    return [f"--ntasks={ranks}"]


def _true_barrier(path: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return what makes PMIx's barrier in MPI_Init span all nodes in an old Slurm.

    Before 23.02 (commit 3e6cb61612) the daemon of a job step takes TreeWidth for 0, so that in the
    barrier by a tree each node waits for itself alone. A rank that is late is then killed by the
    first message that reaches it inside MPI_Init.
    """
    version = re.search(r"(\d+)\.(\d+)", _version_text(path))
    if "SLURM_PMIX_FENCE" in env or not version or (int(version[1]), int(version[2])) >= (23, 2):
        return {}
    return {"SLURM_PMIX_FENCE": "ring"}


def _named_step(launch: Launch) -> Launch:
    """Return a launch by srun with a name for its step."""
    name = f"tailrace-{secrets.token_hex(4)}"
    first, *rest = launch.prefix
    return replace(launch, prefix=[first, f"--job-name={name}", *rest], step=name)


def _open_mpi(path: str, request: Request) -> Launch:
    prefix = [path, "-n", str(request.ranks), "--bind-to", "none"]
    if request.is_root:
        prefix.append("--allow-run-as-root")
    busy = request.ranks * request.threads
    # A rank that waits must leave the processor to the writer threads, unless each has its own.
    environment = {"OMPI_MCA_mpi_yield_when_idle": "1"} if busy >= request.cores else {}
    if not request.has_ssh:  # mpirun insists on a remote shell, even on one machine
        environment["OMPI_MCA_plm_rsh_agent"] = "/bin/false"
    if request.ranks > request.cores:
        prefix.append("--oversubscribe")
    return Launch("Open MPI", prefix, environment)


def _hydra(path: str, request: Request) -> Launch:
    return Launch("MPICH", [path, "-n", str(request.ranks)])


FLAVOURS: tuple[tuple[tuple[str, ...], Callable[[str, Request], Launch]], ...] = (
    (("open mpi", "openrte", "open-mpi"), _open_mpi),
    (("hydra", "mpich", "intel(r) mpi"), _hydra),
)


def _version_text(path: str) -> str:
    done = run_tool(path, "--version")
    return (done.stdout + done.stderr).lower() if done else ""


def _by_version(path: str, request: Request) -> Launch:
    """Return the launcher of the flavour that `path --version` tells."""
    text = _version_text(path)
    for marks, make in FLAVOURS:
        if any(mark in text for mark in marks):
            return make(path, request)
    return Launch(Path(path).name, [path, "-n", str(request.ranks)])


def kind_of(launch: Launch) -> str:
    """Return the kind of a launch; of TAILRACE_LAUNCHER, what a launcher of MPI's names is."""
    if launch.kind != "TAILRACE_LAUNCHER":
        return launch.kind
    name = Path(launch.prefix[0]).name
    if not re.fullmatch(r"(mpirun|mpiexec|orterun|prterun)(\.\w+)?", name):
        return launch.kind
    return _by_version(launch.prefix[0], _request(1, 1, os.environ.get("PATH"))).kind


def _request(ranks: int, threads: int, path: str | None) -> Request:
    """Describe this machine to a launcher."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    has_ssh = any(shutil.which(name, path=path) for name in ("ssh", "rsh"))
    return Request(ranks, threads, cores or 1, is_root, has_ssh)


def launch_with(path: str, ranks: int, threads: int = 1) -> Launch:
    """Return how the launcher at `path` starts `ranks` ranks of `threads` threads."""
    launch = _by_version(path, _request(ranks, threads, os.environ.get("PATH")))
    return replace(launch, environment={**launch.environment, ASKED_RANKS: str(ranks)})


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0


def _pbs_tasks(env: Mapping[str, str]) -> int:
    """Return the tasks of a PBS job: PBS_NP (Torque), or the lines of its list of nodes."""
    if "PBS_NP" in env:
        return _number(env["PBS_NP"])
    try:
        return len(Path(env.get("PBS_NODEFILE", "")).read_text().split())
    except OSError:
        return 0


def component_tasks(env: Mapping[str, str]) -> list[int]:
    """Return the number of tasks of each component of a heterogeneous job of Slurm."""

    def tasks(component: int) -> int:
        def number(name: str) -> int:
            return _number(env.get(f"SLURM_{name}_HET_GROUP_{component}"))

        nodes = number("NNODES") or number("JOB_NUM_NODES") or 1
        return number("NTASKS") or nodes * (number("NTASKS_PER_NODE") or 1)

    return [tasks(component) for component in range(_number(env.get("SLURM_HET_SIZE")))]


def job_tasks(environ: Mapping[str, str] | None = None) -> int:
    """Return the number of tasks that this job of Slurm, PBS or LSF has; 1 outside a job."""
    env = os.environ if environ is None else environ
    tasks = 0
    if "SLURM_JOB_ID" in env and "SLURM_HET_SIZE" in env:
        tasks = sum(component_tasks(env))
    elif "SLURM_JOB_ID" in env:
        per_node = _number(env.get("SLURM_NTASKS_PER_NODE"))
        tasks = _number(env.get("SLURM_NTASKS")) or per_node * _number(env.get("SLURM_NNODES"))
    elif "PBS_JOBID" in env:
        tasks = _pbs_tasks(env)
    elif "LSB_JOBID" in env:
        tasks = _number(env.get("LSB_DJOB_NUMPROC"))
    return max(1, tasks)


def has_terminal() -> bool:
    """Tell whether this process has a terminal, wherever its input and output go."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _refuse_in_copies(ranks: int, env: Mapping[str, str]) -> None:
    """Refuse to start ranks where a launcher has started this command several times.

    Each copy would start all ranks, in the same folder, and wait for the processors of the others.
    """
    for launcher, number, copy in COPIES:
        copies = _number(env.get(number))
        if ranks == 1 or copies < 2:
            continue
        # `srun --pty` runs the command once for each task, and gives the first one a terminal.
        # Steps that its shell starts have the variable, too, but no terminal.
        of_step = env.get(number) == env.get("SLURM_STEP_NUM_TASKS")  # PMI2's variables, too
        below_pty = of_step and "SLURM_PTY_PORT" in env
        if _number(env.get(copy)) > 0:
            raise SystemExit(0 if below_pty else 2)  # the first copy starts the ranks, or says it
        if below_pty and has_terminal():
            continue
        raise TailraceError(
            f"{launcher} started this command {copies} times ({number}), but it starts its "
            f"{ranks} ranks: run it without {launcher}, e.g. tailrace run CASE -n {ranks}",
            status=2,
        )


def _custom(text: str, ranks: int, env: Mapping[str, str]) -> Launch:
    """Return the launcher that TAILRACE_LAUNCHER names."""
    try:
        words = [word.replace("{ranks}", str(ranks)) for word in shlex.split(text)]
    except ValueError as error:
        raise TailraceError(f"TAILRACE_LAUNCHER={text}: {error}", status=2) from error
    launch = Launch("TAILRACE_LAUNCHER", words)
    if not words or Path(words[0]).name != "srun":
        return launch
    return _named_step(replace(launch, environment=_end_together(env)))


def find_launcher(ranks: int, threads: int, environ: Mapping[str, str] | None = None) -> Launch:
    """Choose how `ranks` ranks are started; `environ` stands for the environment in tests."""
    env = os.environ if environ is None else environ
    if ranks < 1:
        raise TailraceError(f"-n {ranks}: at least one rank is needed", status=2)
    _refuse_in_copies(ranks, env)
    launch = _choose(ranks, threads, env)
    return replace(launch, environment={**launch.environment, ASKED_RANKS: str(ranks)})


def _choose(ranks: int, threads: int, env: Mapping[str, str]) -> Launch:
    custom = env.get("TAILRACE_LAUNCHER")
    if custom:
        return _custom(custom, ranks, env)
    path = env.get("PATH")
    request = _request(ranks, threads, path)
    if ranks > MOST_RANKS_PER_CORE * request.cores and not any(name in env for name in JOB_NAMES):
        raise TailraceError(
            f"-n {ranks}: too many for the {request.cores} cores of this machine, and "
            "this is not a job on several nodes; use fewer ranks, or set the launcher with "
            "TAILRACE_LAUNCHER",
            status=2,
        )
    srun = shutil.which("srun", path=path)
    if "SLURM_JOB_ID" in env and srun:
        return _srun(srun, request, env)
    for name in ("mpirun", "mpiexec"):
        found = shutil.which(name, path=path)
        if found:
            return _by_version(found, request)
    if ranks == 1:
        return Launch("none", [])
    raise TailraceError(
        "no launcher found: neither srun inside a Slurm job, nor mpirun or mpiexec on PATH "
        "(load an MPI module, or set TAILRACE_LAUNCHER)"
    )
