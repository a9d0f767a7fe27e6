# SPDX-License-Identifier: BSD-3-Clause
"""How ranks wait: a rank that spins takes the processor from one that works; one that gives it up
answers later. Threads of OpenMP that wait between regions do the same. Ranks that share cores
sleep while they wait in our library (plugins/mpi/waiting).
"""

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation


def propose(situation: Situation) -> list[Setting]:
    """Propose the other policy than the one in force."""
    found = []
    if situation.family == "Open MPI" and len(situation.launch.ranks) > 1:
        yields = situation.launch.ranks[0].setting("mpi_yield_when_idle")
        if yields is None:
            yields = int(situation.environment.get("OMPI_MCA_mpi_yield_when_idle", "0") != "0")
        name, value = ("spin", "0") if yields else ("yield", "1")
        found.append(Setting(name, {"OMPI_MCA_mpi_yield_when_idle": value}))
    if situation.oversubscribed and situation.napping:
        preload = situation.preloaded(situation.napping)
        found.append(Setting("nap", {"LD_PRELOAD": preload, "TAILRACE_WAIT": "nap"}))
    if (
        situation.loaded(r"lib(gomp|iomp5|omp)\.so")
        and max(len(one.threads) for one in situation.launch.ranks) > 1
    ):
        now = situation.environment.get("OMP_WAIT_POLICY", "").lower()
        other = "active" if now == "passive" else "passive"
        found.append(Setting(f"OpenMP {other}", {"OMP_WAIT_POLICY": other}))
    if not found:
        raise DoesNotApplyError(
            "there is one rank without OpenMP threads, or this MPI has no such setting"
        )
    return found
