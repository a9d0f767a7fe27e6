# SPDX-License-Identifier: BSD-3-Clause
"""Memory lies in the NUMA domain of the thread that touches it first.

Where one thread fills the arrays of all, the others read them from another domain: pages spread
over the domains in turn (numactl) share the load of all memories. Where each thread fills its own
part, it must stay where it did so: threads bound to cores.
"""

from tailrace.advice.launch import Rank
from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation

BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")


def propose(situation: Situation) -> list[Setting]:
    """Propose bound threads and interleaved pages, where a rank reaches over several domains."""
    node = situation.launch.nodes[0]
    if len(node.domains) <= 1:
        raise DoesNotApplyError("no effect possible here: one NUMA domain")

    def reaches_over(rank: Rank) -> bool:
        return sum(1 for one in node.domains if set(one) & set(rank.allowed)) > 1

    if not any(reaches_over(rank) for rank in node.ranks):
        raise DoesNotApplyError("each rank is bound to one NUMA domain")
    found = []
    has_threads = max(len(rank.threads) for rank in node.ranks) > 1
    is_set = any(name in situation.environment for name in BINDING)
    if has_threads and not is_set and situation.loaded(r"lib(gomp|iomp5|omp)\.so"):
        bound = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}
        if len(node.ranks) == 1:  # else each rank would take the same cores
            found.append(Setting("bound threads", bound))
    if situation.numactl:
        found.append(Setting("interleaved", wrapper=(situation.numactl, "--interleave=all")))
    if not found:
        raise DoesNotApplyError("numactl is not installed, and there are no OpenMP threads to bind")
    return found
