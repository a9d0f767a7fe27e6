# SPDX-License-Identifier: BSD-3-Clause
"""Ranks bound to cores stay near their caches and memory; unbound ones can evade other load."""

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation

OPTIONS = {  # launcher -> option, bound to a core, to a NUMA domain, not bound
    "Open MPI": ("--bind-to", "core", "numa", "none"),
    "MPICH": ("-bind-to", "core", "numa", "none"),
}


def propose(situation: Situation) -> list[Setting]:
    """Propose binding to cores (ranks with threads: to NUMA domains) if unbound, else none."""
    if situation.oversubscribed:
        raise DoesNotApplyError("more busy threads than processors")
    if situation.kind not in OPTIONS:
        raise DoesNotApplyError(f"not known for the launcher {situation.kind}")
    option, core, numa, none = OPTIONS[situation.kind]
    node = situation.launch.nodes[0]
    if any(set(one.allowed) < set(node.online) for one in node.ranks):
        return [Setting("unbound", options=((option, none),))]
    found = []
    if max(len(one.busy_threads) for one in node.ranks) <= 1:
        found.append(Setting("core", options=((option, core),)))
    if len(node.domains) > 1:
        found.append(Setting("numa", options=((option, numa),)))
    if not found:
        raise DoesNotApplyError("ranks have several threads, and there is one NUMA domain")
    return found
