# SPDX-License-Identifier: BSD-3-Clause
"""Eager limits: smaller messages are sent at once, larger ones when their receiver is there.

A higher limit frees senders that would wait; it costs a copy and buffers.
"""

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation

CELL = "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"
CELL_PAGES = (5, 65)  # odd, as MPICH's own 17: else cells would share lines of the cache
PACK = "MPIR_CVAR_CH4_AM_PACK_BUFFER_SIZE"
LEAST_PACK = 69632  # MPICH's own


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


def _mpich(situation: Situation) -> list[Setting]:
    """Messages in shared memory are eager up to a cell; the buffers to pack them must hold one."""
    now = situation.launch.ranks[0].setting(CELL)
    if now is None or CELL in situation.environment:
        return []
    sizes = [pages << 12 for pages in CELL_PAGES if pages << 12 != now]
    return [
        Setting(f"cells of {size >> 10} KiB", {CELL: str(size), PACK: str(max(size, LEAST_PACK))})
        for size in sizes
    ]


def propose(situation: Situation) -> list[Setting]:
    """Propose other limits: larger ones, of MPICH also a smaller one."""
    if len(situation.launch.ranks) == 1:
        raise DoesNotApplyError("one rank sends no messages")
    found = _mpich(situation) if situation.family == "MPICH" else _open_mpi(situation)
    if situation.loaded(r"libucp\.so") and "UCX_RNDV_THRESH" not in situation.environment:
        found += [Setting(f"UCX {size}", {"UCX_RNDV_THRESH": size}) for size in ("16k", "256k")]
    if not found:
        raise DoesNotApplyError("this MPI reports no eager limit")
    return found
