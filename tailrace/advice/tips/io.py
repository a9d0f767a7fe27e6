# SPDX-License-Identifier: BSD-3-Clause
"""Collective reads and writes of MPI-IO through `File`, where that is faster (preload/io)."""

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation

TAKEN = ("MPI_File_write_all", "MPI_File_read_all", "MPI_File_write_at_all", "MPI_File_read_at_all")


def propose(situation: Situation) -> list[Setting]:
    """Propose our library, which measures both in the run, and without measuring."""
    calls = situation.launch.ranks[0].calls
    if not any(name.startswith("MPI_File_") for name in calls):
        raise DoesNotApplyError("the program makes no calls of MPI-IO")
    if not any(name.removesuffix("_c") in TAKEN for name in calls):
        raise DoesNotApplyError("its reads and writes are not collective and blocking")
    if len(situation.launch.ranks) == 1:
        raise DoesNotApplyError("one rank")
    if not situation.io:
        raise DoesNotApplyError("our library for this MPI was not found")
    measured = {"LD_PRELOAD": situation.preloaded(situation.io), "TAILRACE_IO_REPORT": "0"}
    always = {**measured, "TAILRACE_IO": "ours"}
    return [Setting("ours where faster", measured), Setting("always ours", always)]
