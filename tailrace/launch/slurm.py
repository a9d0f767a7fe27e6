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

    `family` is "openmpi" or "mpich"; `has_pmix` tells whether the library uses PMIx. The site's
    default is kept where it fits, and so is SLURM_MPI_TYPE.
    """
    if os.environ.get("SLURM_MPI_TYPE"):
        return launch
    found = re.search(r"^MpiDefault\s*=\s*(\S+)", _said("scontrol", "show", "config"), re.MULTILINE)
    default = found[1].strip("()") if found else ""
    if family == "openmpi" and default in ("none", "null"):
        needed = "pmix"
    elif family == "mpich" and not has_pmix and default.startswith(("none", "null", "pmix")):
        needed = "pmi2"
    else:
        return launch
    if needed not in re.findall(r"\w+", _said(launch.prefix[0], "--mpi=list")):
        name = {"openmpi": "Open MPI", "mpich": "MPICH"}[family]
        raise TailraceError(
            f"srun starts the ranks of {name} with --mpi={needed}, which this Slurm does not have "
            f"(srun --mpi=list; MpiDefault is {default}): set SLURM_MPI_TYPE to a kind that it "
            'has, or TAILRACE_LAUNCHER="mpirun -n {ranks}"'
        )
    first, *rest = launch.prefix
    return replace(launch, prefix=[first, f"--mpi={needed}", *rest])


def signal_step(name: str, number: int) -> bool:
    """Send a signal to the ranks of the step `name`, on all nodes; tell whether it was sent.

    srun itself ends the step with SIGKILL when it gets SIGTERM or SIGHUP.
    """
    job = os.environ.get("SLURM_JOB_ID")
    which = [f"--jobs={job}"] if job else [f"--user={os.geteuid()}"]
    for line in _said("squeue", "--noheader", "--steps", *which, "--format=%i %j").splitlines():
        step, _, found = line.strip().partition(" ")
        if found.strip() == name:
            text = signal.Signals(number).name.removeprefix("SIG")
            done = run_tool("scancel", f"--signal={text}", step)
            return done is not None and done.returncode == 0
    return False
