# SPDX-License-Identifier: BSD-3-Clause
"""How much of this machine others use while something is measured: other programs, other guests."""

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

STAT = Path("/proc/stat")


@dataclass(frozen=True)
class Sample:
    """Seconds since some time before: of the clock, and of all processors together."""

    clock: float
    busy: float
    stolen: float
    waiting_for_disks: float
    own: float  # of processes that we have started and that have ended, and of this one


@dataclass(frozen=True)
class Share:
    """What went on between two samples, in processors: 1 is one processor all the time."""

    others: float
    stolen: float
    waiting_for_disks: float


def sample(stat: Path = STAT) -> Sample | None:
    """Return a sample, or None where the system does not say."""
    try:
        words = stat.read_text().split("\n", 1)[0].split()[1:]
        ticks = [int(word) / os.sysconf("SC_CLK_TCK") for word in words]
    except (OSError, ValueError):
        return None
    if len(ticks) < 8:
        return None
    user, nice, system, _idle, waiting, irq, soft_irq, stolen = ticks[:8]
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    busy = user + nice + system + irq + soft_irq
    return Sample(time.monotonic(), busy, stolen, waiting, own)


def between(before: Sample | None, after: Sample | None) -> Share | None:
    """Return what others used between two samples; None if it is not known."""
    if before is None or after is None or after.clock <= before.clock:
        return None
    seconds = after.clock - before.clock
    others = (after.busy - before.busy) - (after.own - before.own)
    return Share(
        max(0.0, others) / seconds,
        (after.stolen - before.stolen) / seconds,
        (after.waiting_for_disks - before.waiting_for_disks) / seconds,
    )


def num_cores() -> int:
    """Return the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
