# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks are neighbours: blocks on node after node (or NUMA domain), or dealt out to them.

Blocks keep messages to near ranks on a node; dealing spreads them, and work that grows with the
rank number. Orders from the messages themselves are `tailrace map`'s.
"""

from tailrace.advice.launch import Launch
from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation

LEAST_RANKS = 3  # of two ranks all orders are equal
# launcher -> options for ranks in blocks and dealt out, over nodes
NODES = {
    "Open MPI": ((("--map-by", "slot"),), (("--map-by", "node"),)),
    "MPICH": ((), (("-ppn", "1"),)),
    "srun": ((("--distribution", "block"),), (("--distribution", "cyclic"),)),
}
# over the NUMA domains of a node; without binding the order there means nothing
BOUND = {
    "Open MPI": ("--bind-to", "core"),
    "MPICH": ("-bind-to", "core"),
}
DOMAINS = {
    "Open MPI": (("--map-by", "core"), ("--map-by", "numa")),
    "MPICH": (("-map-by", "core"), ("-map-by", "numa")),
}


def _is_dealt(launch: Launch) -> bool:
    """Tell whether ranks 0 and 1 are on two nodes, though some node has several ranks."""
    first = sorted(launch.ranks, key=lambda one: one.rank)[:2]
    return first[0].host != first[1].host and len(launch.ranks) > len(launch.nodes)


def propose(situation: Situation) -> list[Setting]:
    """Propose the other order over nodes; on one node, both over NUMA domains, bound to cores."""
    launch, kind = situation.launch, situation.kind
    if len(launch.ranks) < LEAST_RANKS:
        raise DoesNotApplyError("with fewer than three ranks the order does not matter")
    if len(launch.nodes) > 1:
        if len(launch.nodes) == len(launch.ranks):
            raise DoesNotApplyError("no effect possible here: one rank per node")
        if kind not in NODES:
            raise DoesNotApplyError(f"not known for the launcher {kind}")
        blocks, dealt = NODES[kind]
        if not _is_dealt(launch):
            return [Setting("round-robin over nodes", options=dealt)]
        if not blocks:
            raise DoesNotApplyError("the launcher's options set the order of ranks")
        return [Setting("node after node", options=blocks)]
    if len(launch.nodes[0].domains) <= 1:
        raise DoesNotApplyError("no effect possible here: one node with one NUMA domain")
    if situation.oversubscribed:
        raise DoesNotApplyError("more busy threads than processors")
    if kind not in DOMAINS:
        raise DoesNotApplyError(f"not known for the launcher {kind}")
    by_core, by_domain = DOMAINS[kind]
    return [
        Setting("domain after domain", options=(by_core, BOUND[kind])),
        Setting("round-robin over domains", options=(by_domain, BOUND[kind])),
    ]
