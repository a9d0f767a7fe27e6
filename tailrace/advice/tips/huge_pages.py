# SPDX-License-Identifier: BSD-3-Clause
"""Huge pages: large arrays fault in 2 MiB at a time, and need fewer entries of the TLB.

Where the kernel gives them to those who ask (madvise), glibc's malloc asks since 2.35 if told to.
"""

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation

TUNABLE = "glibc.malloc.hugetlb=1"


def propose(situation: Situation) -> list[Setting]:
    """Propose the tunable of malloc."""
    text = situation.launch.nodes[0].file("/sys/kernel/mm/transparent_hugepage/enabled")
    if "[madvise]" not in text:
        mode = text[text.find("[") + 1 : text.find("]")] if "[" in text else "unknown"
        raise DoesNotApplyError(f"transparent huge pages are '{mode}', not madvise")
    before = situation.environment.get("GLIBC_TUNABLES", "")
    if "malloc.hugetlb" in before:
        raise DoesNotApplyError(f"GLIBC_TUNABLES={before} is set")
    joined = f"{before}:{TUNABLE}" if before else TUNABLE
    return [Setting("asked for", {"GLIBC_TUNABLES": joined})]
