# SPDX-License-Identifier: BSD-3-Clause
"""Large messages on a node: the receiver copies from the sender's memory by a system call (CMA), or
both copy through shared memory. The call is dear for middling sizes.
"""

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation


def propose(situation: Situation) -> list[Setting]:
    """Propose to do without the system call."""
    several = any(len(node.ranks) > 1 for node in situation.launch.nodes)
    name = "btl_vader_single_copy_mechanism"
    if situation.family != "Open MPI" or situation.launch.ranks[0].setting(name) is None:
        raise DoesNotApplyError("for Open MPI 4 only")
    if not several:
        raise DoesNotApplyError("there is one rank on each node")
    if f"OMPI_MCA_{name}" in situation.environment:
        raise DoesNotApplyError(f"OMPI_MCA_{name} is set")
    return [Setting("two copies", {f"OMPI_MCA_{name}": "none"})]
