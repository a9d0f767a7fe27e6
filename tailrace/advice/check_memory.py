# SPDX-License-Identifier: BSD-3-Clause
"""Memory: limits, huge pages, how malloc keeps it; and the file system below the program."""

import re
from collections.abc import Iterator

from tailrace.advice.finding import Finding
from tailrace.advice.launch import Launch, Rank

NEAR = 0.9  # of a limit
CHURN = 3  # times the memory of a rank was faulted in anew
LEAST_MEMORY_KIB = 64 << 10
FILE_SYSTEMS = {
    0x6969: "NFS",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB",
    0x65735546: "FUSE",
}


def memory_limit(launch: Launch) -> Iterator[Finding]:
    """Ranks that come near to the limit of their control group."""
    for node in launch.nodes:
        used = sum(int(one.usage.get("max_memory_kib", 0)) << 10 for one in node.ranks)
        limit = node.memory_limit
        if limit is not None and used > NEAR * limit:
            yield Finding(
                "memory-limit",
                "error",
                f"{node.host}: the ranks used {used >> 20} MiB of {limit >> 20} MiB that their "
                "control group allows",
                "beyond the limit the kernel ends a process of the group",
                "ask the scheduler for more memory (--mem), or use fewer ranks per node",
            )


def _huge_pages_asked(rank: Rank) -> bool:
    return "hugetlb=" in rank.environment.get("GLIBC_TUNABLES", "")


def huge_pages(launch: Launch) -> Iterator[Finding]:
    """Transparent huge pages that programs have to ask for."""
    for node in launch.nodes:
        text = node.file("/sys/kernel/mm/transparent_hugepage/enabled")
        large = max(int(one.usage.get("max_memory_kib", 0)) for one in node.ranks)
        if "[madvise]" not in text or large < LEAST_MEMORY_KIB:
            continue
        if not all(_huge_pages_asked(one) for one in node.ranks):
            yield Finding(
                "huge-pages",
                "info",
                f"{node.host}: huge pages are only used where a program requests them (madvise)",
                "malloc does not request them, so large arrays are faulted in 4 KiB at a time",
                "export GLIBC_TUNABLES=glibc.malloc.hugetlb=1",
            )


def churn(launch: Launch) -> Iterator[Finding]:
    """Memory that is given back to the system and faulted in again."""
    worst, most = None, 0.0
    for one in launch.ranks:
        memory = max(int(one.usage.get("max_memory_kib", 0)), LEAST_MEMORY_KIB)
        times = 4.0 * int(one.usage.get("minor_faults", 0)) / memory
        if times > most:
            worst, most = one, times
    if worst is not None and most > CHURN and "MALLOC_TRIM_THRESHOLD_" not in worst.environment:
        yield Finding(
            "page-faults",
            "warning",
            f"rank {worst.rank} faulted in {worst.usage['minor_faults']} pages, {most:.0f} times "
            "its memory",
            "malloc returns large arrays to the system, and the next array is faulted in again",
            "export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=536870912",
        )


def _limit(rank: Rank, name: str) -> str:
    found = re.search(rf"^{name}\s+(\S+)", rank.file("/proc/self/limits"), re.MULTILINE)
    return found[1] if found else ""


def limits(launch: Launch) -> Iterator[Finding]:
    """Limits of processes that large jobs run into."""
    first = launch.ranks[0]
    locked = _limit(first, "Max locked memory")
    if first.facts.get("fabric") and locked.isdigit() and int(locked) < 1 << 30:
        yield Finding(
            "locked-memory",
            "warning",
            f"processes may lock {int(locked) >> 10} KiB of memory, and there is InfiniBand",
            "networks register memory, which locks it; small limits make that fail or slow",
            "ulimit -l unlimited (in /etc/security/limits.conf, and in the scheduler)",
        )
    files = _limit(first, "Max open files")
    if files.isdigit() and int(files) < max(1024, 2 * len(launch.ranks)):
        yield Finding(
            "open-files",
            "warning",
            f"processes may open {files} files, the job has {len(launch.ranks)} ranks",
            "ranks that connect by TCP need a file for each peer",
            "ulimit -n 65536",
        )


def file_system(launch: Launch) -> Iterator[Finding]:
    """A network file system without parallel access below the working folder."""
    kind = FILE_SYSTEMS.get(int(launch.ranks[0].facts.get("file_system", 0)))
    if kind is not None:
        yield Finding(
            "file-system",
            "info",
            f"the program runs in a folder of {kind}",
            "many ranks that write to one file there wait for each other",
            "write to the parallel file system or to the node's disk",
        )


CHECKS = (memory_limit, huge_pages, churn, limits, file_system)
