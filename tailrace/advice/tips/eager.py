# SPDX-License-Identifier: BSD-3-Clause
"""Eager limits: smaller messages are sent at once, larger ones when their receiver is there.

A higher limit frees senders that would wait; it costs a copy and buffers.
"""

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation


def _open_mpi(situation: Situation) -> list[Setting]:
    first = situation.launch.ranks[0]
    found = []
    for name in ("btl_vader_eager_limit", "btl_sm_eager_limit"):
        now = first.setting(name)
        if now is not None:
            for kib in (16, 32):
                if now != kib << 10:
                    found.append(Setting(f"{kib} KiB", {f"OMPI_MCA_{name}": str(kib << 10)}))
            break
    now = first.setting("btl_tcp_eager_limit")
    if len(situation.launch.nodes) > 1 and now is not None:
        found.append(Setting("TCP 256 KiB", {"OMPI_MCA_btl_tcp_eager_limit": str(256 << 10)}))
    return found


def propose(situation: Situation) -> list[Setting]:
    """Propose larger limits."""
    if len(situation.launch.ranks) == 1:
        raise DoesNotApplyError("one rank sends no messages")
    found = _open_mpi(situation) if situation.family == "Open MPI" else []
    if situation.loaded(r"libucp\.so") and "UCX_RNDV_THRESH" not in situation.environment:
        found += [Setting(f"UCX {size}", {"UCX_RNDV_THRESH": size}) for size in ("16k", "256k")]
    if not found:
        raise DoesNotApplyError("this MPI tells no eager limit")
    return found
