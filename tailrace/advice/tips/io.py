# SPDX-License-Identifier: BSD-3-Clause
"""Reads and writes of MPI-IO: collective ones through `File` where that is faster (plugins/mpi/io).

Open MPI has two implementations of its own, OMPIO and ROMIO; the latter writes many small pieces of
independent calls by reading and writing what lies between them (data sieving).
"""

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation

MOVES = ("MPI_File_read", "MPI_File_write", "MPI_File_iread", "MPI_File_iwrite")
TAKEN = ("MPI_File_write_all", "MPI_File_read_all", "MPI_File_write_at_all", "MPI_File_read_at_all")


def propose(situation: Situation) -> list[Setting]:
    """Propose our library, measuring in the run or not, for collective calls; else ROMIO."""
    calls = situation.launch.ranks[0].calls
    if not any(name.startswith(MOVES) for name in calls):
        raise DoesNotApplyError("the program does not use MPI-IO")
    found = []
    is_collective = any(name.removesuffix("_c") in TAKEN for name in calls)
    if is_collective and len(situation.launch.ranks) > 1 and situation.io:
        measured = {"LD_PRELOAD": situation.preloaded(situation.io), "TAILRACE_REPORT": "0"}
        found.append(Setting("Tailrace where faster", measured))
        found.append(Setting("always Tailrace", {**measured, "TAILRACE_IO": "ours"}))
    if situation.family == "Open MPI" and "OMPI_MCA_io" not in situation.environment:
        found.append(Setting("ROMIO", {"OMPI_MCA_io": "^ompio"}))
    if not found:
        raise DoesNotApplyError(
            "its calls cannot be replaced: one rank, calls that are not collective and "
            "blocking, or no Tailrace library for this MPI"
        )
    return found
