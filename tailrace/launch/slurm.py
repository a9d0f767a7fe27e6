# SPDX-License-Identifier: BSD-3-Clause
"""What Slurm's commands say and do: kinds of MPI, and signals to the ranks of a step."""

import os
import re
import signal
from dataclasses import replace

from tailrace.errors import TailraceError
from tailrace.launch.launcher import Launch
from tailrace.tools import run_tool


def _said(*words: str) -> str:
    """Return what a command of Slurm prints; "" if it fails."""
    done = run_tool(*words)
    return done.stdout + done.stderr if done and done.returncode == 0 else ""


def with_mpi(launch: Launch, family: str, has_pmix: bool) -> Launch:
    """Return a launch by srun with the kind of MPI (--mpi) that the program's library needs.

    `family` is "openmpi", "mpich" or "abi" (MPI 5's, taken for MPICH); `has_pmix` tells whether the
    library uses PMIx. The site's default is kept where it fits, and so is SLURM_MPI_TYPE.
    """
    asked = os.environ.get("SLURM_MPI_TYPE", "")
    if asked:
        _require_one_world(launch, asked)
        return launch
    found = re.search(r"^MpiDefault\s*=\s*(\S+)", _said("scontrol", "show", "config"), re.MULTILINE)
    default = found[1].strip("()") if found else ""
    if family == "openmpi" and default in ("none", "null"):
        needed = "pmix"
    elif (
        family in ("mpich", "abi") and not has_pmix and default.startswith(("none", "null", "pmix"))
    ):
        needed = "pmi2"
    else:
        _require_one_world(launch, default)
        return launch
    _require_one_world(launch, needed)
    if needed not in re.findall(r"\w+", _said(launch.prefix[0], "--mpi=list")):
        name = "Open MPI" if family == "openmpi" else "MPICH"
        raise TailraceError(
            f"srun starts the ranks of {name} with --mpi={needed}, which this Slurm does not have "
            f"(srun --mpi=list; MpiDefault is {default}): set SLURM_MPI_TYPE to a kind that it "
            'has, or TAILRACE_LAUNCHER="mpirun -n {ranks}"'
        )
    first, *rest = launch.prefix
    return replace(launch, prefix=[first, f"--mpi={needed}", *rest])


def _require_one_world(launch: Launch, kind: str) -> None:
    """Refuse ranks on several components by PMI2: each would wait in MPI_Init for the others."""
    if kind == "pmi2" and any(word.startswith("--het-group=") for word in launch.prefix):
        raise TailraceError(
            "srun joins the components of a heterogeneous job by PMIx only, and these ranks would "
            "be started by PMI2: use a job of one component, or give -n the tasks of the first one",
            status=2,
        )


def _jobs() -> list[str]:
    """Return the number of this job; of a heterogeneous one, those of its components."""
    components = [
        number for name, number in os.environ.items() if name.startswith("SLURM_JOB_ID_HET_GROUP_")
    ]
    own = os.environ.get("SLURM_JOB_ID")
    return sorted({*components, own} if own else components)


def signal_step(name: str, number: int) -> bool:
    """Send a signal to the ranks of the step `name`, on all nodes; tell whether it was sent.

    srun itself ends the step with SIGKILL when it gets SIGTERM or SIGHUP. Each component of a
    heterogeneous job has its own step of that name.
    """
    jobs = _jobs()
    which = [f"--jobs={','.join(jobs)}"] if jobs else [f"--user={os.geteuid()}"]
    lines = _said("squeue", "--noheader", "--steps", *which, "--format=%i %j").splitlines()
    found = [line.split(maxsplit=1) for line in lines if line.strip()]
    steps = [step for step, *rest in found if rest and rest[0].strip() == name]
    text = signal.Signals(number).name.removeprefix("SIG")
    done = run_tool("scancel", f"--signal={text}", *steps) if steps else None
    return done is not None and done.returncode == 0
