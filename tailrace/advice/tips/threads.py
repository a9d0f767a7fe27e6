# SPDX-License-Identifier: BSD-3-Clause
"""Threads of each rank: as many as its share of the processors, or one."""

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation

VARIABLES = {
    r"lib(gomp|iomp5|omp)\.so": "OMP_NUM_THREADS",
    r"lib(scipy_)?openblas": "OPENBLAS_NUM_THREADS",
    r"libmkl_rt": "MKL_NUM_THREADS",
    r"libblis": "BLIS_NUM_THREADS",
}


def propose(situation: Situation) -> list[Setting]:
    """Propose one thread and an equal share of the processors, but for what is set."""
    names = [name for pattern, name in VARIABLES.items() if situation.loaded(pattern)]
    if not names:
        raise DoesNotApplyError("no library of threads (OpenMP, OpenBLAS, MKL, BLIS) is loaded")
    node = situation.launch.nodes[0]
    share = max(1, int(node.room) // len(node.ranks))
    now = {situation.environment.get(name, "") for name in names}
    found = []
    for number in sorted({1, share}):
        if now != {str(number)}:
            plural = "s" if number > 1 else ""
            found.append(Setting(f"{number} thread{plural}", {name: str(number) for name in names}))
    if not found:
        raise DoesNotApplyError("each rank already has one thread, its share of the processors")
    return found
