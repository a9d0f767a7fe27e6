# SPDX-License-Identifier: BSD-3-Clause
"""Files: what the ranks did to each, and which are read or written in small pieces."""

from collections import defaultdict
from typing import Any

from tailrace.profile.record import Record

# Counters of a file as plugins/mpi/profile/files.hpp has them; those of time are in ticks there.
COUNTS: tuple[str, ...] = ("opens", "reads", "writes", "syncs", "read_bytes", "written_bytes")
COUNTS += ("small", "jumps", "in_mpi")
MPI_COUNTS = ("mpi_reads", "mpi_writes", "mpi_read_bytes", "mpi_written_bytes")

FEW = 100  # calls of a file that are not worth a word


def files(records: list[Record]) -> list[dict[str, Any]]:
    """Return the files by path, sums over the ranks, those that took longest first."""
    sums: dict[str, dict[str, Any]] = {}
    for record in records:
        for file in record.facts.get("files", []):
            total = sums.setdefault(str(file["path"]), defaultdict(int))
            for key in (*COUNTS, *MPI_COUNTS):
                total[key] += int(file.get(key, 0))
            total["time_s"] += file.get("ticks", 0) * record.tick_s
            total["mpi_time_s"] += file.get("mpi_ticks", 0) * record.tick_s
            total["ranks"] += 1
    found = [{"path": path, **total} for path, total in sums.items() if not _is_own(total)]
    return sorted(found, key=lambda f: (-max(f["time_s"], f["mpi_time_s"]), f["path"]))


def _is_own(file: dict[str, Any]) -> bool:
    """Tell whether MPI opened the file for itself, as shared memory, and no call moved bytes."""
    moved = sum(file[key] for key in ("reads", "writes", "mpi_reads", "mpi_writes"))
    return bool(moved == 0 and file["mpi_time_s"] == 0 and file["in_mpi"] == file["opens"])


def io_advice(profile: dict[str, Any]) -> list[str]:
    """Return a line for each file whose reads and writes are mostly small and mostly jump."""
    lines = []
    for file in profile.get("io") or []:
        calls = file.get("reads", 0) + file.get("writes", 0)
        small, jumps = file.get("small", 0), file.get("jumps", 0)
        if calls < FEW or 2 * small < calls or 2 * jumps < calls:
            continue
        by_mpi = 2 * file.get("in_mpi", 0) > calls
        remedy = (
            "collective calls (MPI_File_write_all with a view) let MPI merge them"
            if by_mpi
            else "larger pieces, or collective MPI-IO, take fewer calls"
        )
        lines.append(
            f"{file['path']}: of {calls} reads and writes {small} move less than 64 KiB and "
            f"{jumps} do not begin where the last one ended; {remedy}"
        )
    return lines


def io_notes(records: list[Record]) -> list[str]:
    """Return what is missing in the files."""
    lost = sum(record.facts.get("lost_files", 0) for record in records)
    return [f"{lost} descriptors were not counted: a rank counts at most 512 files"] if lost else []
