# SPDX-License-Identifier: BSD-3-Clause
"""Collective calls by our methods, where the tuner finds them faster (plugins/mpi/collectives)."""

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation


def propose(situation: Situation) -> list[Setting]:
    """Propose our library before MPI's, and behind it the one whose waits sleep."""
    if len(situation.launch.ranks) == 1:
        raise DoesNotApplyError("one rank")
    if not situation.collectives:
        raise DoesNotApplyError("no Tailrace library for this MPI was found")
    libraries = ":".join(word for word in (situation.collectives, situation.napping) if word)
    return [Setting("ours", {"LD_PRELOAD": situation.preloaded(libraries)})]
