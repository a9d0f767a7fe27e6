# SPDX-License-Identifier: BSD-3-Clause
"""Where the ranks' records of a run go, and what is said where some or all are missing."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.launch.launcher import JOB_NAMES

# With one of these, ranks may run on other nodes, whose /tmp is another one.
OTHER_NODES = (*JOB_NAMES, "TAILRACE_LAUNCHER", "HYDRA_HOST_FILE", "OMPI_MCA_orte_default_hostfile")


class LacksRanksError(TailraceError):
    """Ranks of a run left no record."""


@contextlib.contextmanager
def records_folder(name: str, environ: Mapping[str, str] | None = None) -> Iterator[Path]:
    """Make a folder for the records of one run, and delete it afterwards.

    Ranks of several nodes start in the folder of the command, so that is where all of them can
    write; the temporary folder is for runs on this machine.
    """
    env = os.environ if environ is None else environ
    here = Path.cwd()
    is_shared = any(word in env for word in OTHER_NODES) and os.access(here, os.W_OK)
    with tempfile.TemporaryDirectory(
        prefix=f"{'.' * is_shared}tailrace-{name}-",
        dir=here if is_shared else None,
        ignore_cleanup_errors=True,
    ) as folder:
        yield Path(folder)


def require_all(found: int, of_job: int, asked: int, program: str, folder: Path) -> None:
    """Complain where records of ranks are missing: what is made of the others would be wrong."""
    if of_job < asked:
        raise LacksRanksError(
            f"program {program}: {asked} ranks were requested, MPI has {of_job}: each process runs "
            "as a separate job if the launcher belongs to another MPI library (ldd PROGRAM)"
        )
    if found < of_job:
        raise LacksRanksError(
            f"program {program}: {of_job - found} of {of_job} ranks left no record in {folder}: "
            "they ended early, or run on nodes that do not share this folder (tailrace profile -o "
            "FOLDER names another one; tailrace advise takes the folder that it is started in)"
        )


def why_none(program: str, folder: Path) -> str:
    """Return why a run left no record at all, as far as that is known."""
    if (folder / "rank-sessions.note").exists():
        return (
            f"program {program}: no record: it only uses MPI sessions (MPI_Session_init); "
            "programs that call MPI_Init are recorded"
        )
    return (
        f"program {program}: no record: it did not call MPI_Init of the MPI library that its "
        "launcher starts (no MPI program, another MPI, one that is linked statically, or one that "
        f"opens it with RTLD_DEEPBIND or dlmopen), or could not write it to {folder}, which all "
        "nodes must share"
    )
