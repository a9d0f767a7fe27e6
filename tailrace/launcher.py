# SPDX-License-Identifier: BSD-3-Clause
"""Which launcher starts the ranks here, and with which options and environment.

Inside a Slurm job it is srun, else mpiexec or mpirun of Open MPI, MPICH or a relative. The variable
TAILRACE_LAUNCHER replaces the choice, for example ``TAILRACE_LAUNCHER="mpiexec -n {ranks}"``.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.errors import TailraceError

# Outside a job: more ranks than this for each core of this machine are taken for a mistake.
MOST_RANKS_PER_CORE = 256
JOB_NAMES = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "COBALT_JOBID", "PJM_JOBID", "JOB_ID")


@dataclass(frozen=True)
class Launch:
    """A command line prefix and what to add to the environment."""

    kind: str
    prefix: list[str]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """What is to be started: `ranks` ranks of `threads` threads, seen from this machine."""

    ranks: int
    threads: int
    cores: int
    is_root: bool
    has_ssh: bool


def _srun(path: str, request: Request) -> Launch:
    prefix = [path, f"--ntasks={request.ranks}", f"--cpus-per-task={request.threads}"]
    return Launch("srun", prefix)


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
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + done.stderr).lower()


def _by_version(path: str, request: Request) -> Launch:
    """Return the launcher of the flavour that `path --version` tells."""
    text = _version_text(path)
    for marks, make in FLAVOURS:
        if any(mark in text for mark in marks):
            return make(path, request)
    return Launch(Path(path).name, [path, "-n", str(request.ranks)])


def _request(ranks: int, threads: int, path: str | None) -> Request:
    """Describe this machine to a launcher."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    has_ssh = any(shutil.which(name, path=path) for name in ("ssh", "rsh"))
    return Request(ranks, threads, cores or 1, is_root, has_ssh)


def launch_with(path: str, ranks: int, threads: int = 1) -> Launch:
    """Return how the launcher at `path` starts `ranks` ranks of `threads` threads."""
    return _by_version(path, _request(ranks, threads, os.environ.get("PATH")))


def find_launcher(ranks: int, threads: int, environ: Mapping[str, str] | None = None) -> Launch:
    """Choose how `ranks` ranks are started; `environ` stands for the environment in tests."""
    env = os.environ if environ is None else environ
    if ranks < 1:
        raise TailraceError(f"-n {ranks}: at least one rank is needed", status=2)
    own = env.get("TAILRACE_LAUNCHER")
    if own:
        try:
            words = [word.replace("{ranks}", str(ranks)) for word in shlex.split(own)]
        except ValueError as error:
            raise TailraceError(f"TAILRACE_LAUNCHER={own}: {error}", status=2) from error
        return Launch("TAILRACE_LAUNCHER", words)
    path = env.get("PATH")
    request = _request(ranks, threads, path)
    if ranks > MOST_RANKS_PER_CORE * request.cores and not any(name in env for name in JOB_NAMES):
        raise TailraceError(
            f"-n {ranks}: too many for the {request.cores} cores of this machine, and this is no "
            "job of several; give fewer ranks, or the launcher by TAILRACE_LAUNCHER",
            status=2,
        )
    srun = shutil.which("srun", path=path)
    if "SLURM_JOB_ID" in env and srun:
        return _srun(srun, request)
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
