# SPDX-License-Identifier: BSD-3-Clause
"""glibc's malloc gives arrays above 32 MiB back to the system, and faults the next one in anew.

Told to keep them, it needs up to 0.5 GiB per rank more at the end of a phase.
"""

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation

KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "536870912"}


def propose(situation: Situation) -> list[Setting]:
    """Propose to keep freed memory."""
    if any(name in situation.environment for name in KEEP):
        raise DoesNotApplyError("MALLOC_... is set")
    return [Setting("keep memory", dict(KEEP))]
