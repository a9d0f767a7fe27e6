# SPDX-License-Identifier: BSD-3-Clause
"""How files are written: collective MPI-IO through `File`, or hidden writes (plugins/mpi/io).

Writes of MPI-IO and of HDF5, netCDF and PnetCDF can be hidden, also where one rank makes them.
Open MPI has two implementations of its own, OMPIO and ROMIO; the latter writes many small pieces of
independent calls by reading and writing what lies between them (data sieving).
"""

import os

from tailrace.advice.named import hidden_environment
from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation

MOVES = ("MPI_File_read", "MPI_File_write", "MPI_File_iread", "MPI_File_iwrite")
TAKEN = ("MPI_File_write_all", "MPI_File_read_all", "MPI_File_write_at_all", "MPI_File_read_at_all")
WRITES = ("MPI_File_write", "MPI_File_iwrite")
WRITERS = r"lib(hdf5|netcdf|pnetcdf)[-_.]"


def propose(situation: Situation) -> list[Setting]:
    """Propose our library, measuring in the run or not, for collective calls; ROMIO; hiding."""
    calls = situation.launch.ranks[0].calls
    moves = any(name.startswith(MOVES) for name in calls)
    writes = any(name.startswith(WRITES) for name in calls) or situation.loaded(WRITERS)
    if not moves and not writes:
        raise DoesNotApplyError("the program uses neither MPI-IO nor HDF5 or netCDF")
    found = []
    is_collective = any(name.removesuffix("_c") in TAKEN for name in calls)
    ours = {"LD_PRELOAD": situation.preloaded(situation.io), "TAILRACE_REPORT": "0"}
    if is_collective and len(situation.launch.ranks) > 1 and situation.io:
        found.append(Setting("Tailrace where faster", ours))
        found.append(Setting("always Tailrace", {**ours, "TAILRACE_IO": "ours"}))
    if writes and situation.io:
        found.append(Setting("hidden", ours | hidden_environment(os.environ)))
    if moves and situation.family == "Open MPI" and "OMPI_MCA_io" not in situation.environment:
        found.append(Setting("ROMIO", {"OMPI_MCA_io": "^ompio"}))
    if not found:
        raise DoesNotApplyError(
            "its calls cannot be replaced: there is one rank, or the calls are not collective and "
            "blocking, or there is no Tailrace library for this MPI"
        )
    return found
