# SPDX-License-Identifier: BSD-3-Clause
"""Who runs on which processors, and how ranks that wait give them up."""

from collections import defaultdict
from collections.abc import Iterator

from tailrace.advice.finding import Finding, ranges, some
from tailrace.advice.launch import Launch, Node
from tailrace.profile.placement import processors

BIND = {
    "Open MPI": "mpirun --bind-to core --map-by slot:PE={threads}",
    "MPICH": "mpiexec -bind-to core:{threads}",
    "srun": "srun --cpu-bind=cores --cpus-per-task={threads}",
}


def ranks_missing(launch: Launch) -> Iterator[Finding]:
    """Find ranks that run as separate jobs: another MPI's launcher started them."""
    of_job = int(launch.ranks[0].facts["ranks"])
    if of_job < launch.wanted:
        yield Finding(
            "ranks",
            "error",
            f"{launch.wanted} ranks were requested, MPI has {of_job}",
            "each process runs as a separate job if the launcher belongs to another MPI library",
            "start it with the launcher of the MPI that it is linked with (ldd PROGRAM)",
        )


def node_groups(launch: Launch) -> Iterator[Finding]:
    """MPI's idea of a node against the host names."""
    for node in launch.nodes:
        firsts = sorted({int(one.facts["first_of_node"]) for one in node.ranks})
        if len(firsts) > 1:
            yield Finding(
                "node-groups",
                "error",
                f"MPI treats the {len(node.ranks)} ranks of {node.host} as ranks of "
                f"{len(firsts)} nodes",
                "they communicate through the network, and node-aware methods treat them "
                "as remote; hydra "
                "does so with a host that is in several lines of its file",
                "name each host once, with consecutive ranks (see tailrace map)",
            )


def oversubscribed(launch: Launch) -> Iterator[Finding]:
    """More threads that want to run than processors, by affinity and by quota."""
    for node in launch.nodes:
        if node.busy <= node.room:
            continue
        limit = f"{len(node.allowed)} processors ({ranges(node.allowed)})"
        if node.quota is not None and node.quota < len(node.allowed):
            limit = f"a quota of {node.quota:g} processors"
        yield Finding(
            "oversubscribed",
            "warning",
            f"{node.host}: {node.busy} threads of {len(node.ranks)} ranks compete for {limit}",
            "ranks that wait take processors from those that work",
            f"at most {max(1, int(node.room))} ranks x threads on this node",
        )


def waiting(launch: Launch) -> Iterator[Finding]:
    """Whether ranks that wait leave the processor, where they share one."""
    for node in launch.nodes:
        groups = {one.file("/proc/self/autogroup").split(" ")[0] for one in node.ranks}
        enabled = node.file("/proc/sys/kernel/sched_autogroup_enabled") == "1"
        apart = enabled and "" not in groups and len(groups) > 1
        oversubscribed = node.busy > node.room
        if apart:
            yield Finding(
                "yield",
                "error" if oversubscribed else "info",
                f"{node.host}: sched_yield does nothing between ranks ({len(groups)} autogroups)",
                "the launcher gives each rank a session, the kernel schedules sessions as groups, "
                "and yielding stays inside a group: a rank that spins keeps its time slice "
                "(milliseconds a collective call when oversubscribed)",
                "tailrace exec --with waiting -n RANKS -- PROGRAM (ranks sleep instead), or one "
                "rank per processor, or as root sysctl kernel.sched_autogroup_enabled=0",
            )
        spins = oversubscribed and node.ranks[0].setting("mpi_yield_when_idle") == 0
        if spins:
            yield Finding(
                "spin",
                "error",
                f"{node.host}: ranks spin while they wait, although they share processors",
                "Open MPI yields only if it knows of the oversubscription",
                "export OMPI_MCA_mpi_yield_when_idle=1",
            )


def _bind(launch: Launch) -> str:
    """Return how the launcher that started the ranks binds them to cores."""
    name = "srun" if launch.launcher == "srun" else launch.family
    return BIND.get(name, BIND["srun"]).format(threads=_threads(launch))


def _threads(launch: Launch) -> int:
    return max(1, *(len(one.busy_threads) for one in launch.ranks))


def unbound(launch: Launch) -> Iterator[Finding]:
    """Ranks that may run everywhere although there is room to bind them."""
    for node in launch.nodes:
        free = [one.rank for one in node.ranks if set(one.allowed) >= set(node.online)]
        if len(node.ranks) > 1 and len(free) == len(node.ranks) and node.busy <= node.room:
            yield Finding(
                "unbound",
                "warning",
                f"{node.host}: ranks are not bound, each may use all of {ranges(node.allowed)}",
                "ranks move between processors and away from their caches and memory",
                _bind(launch),
            )


def shared(launch: Launch) -> Iterator[Finding]:
    """Ranks bound to fewer processors than their busy threads need, while others idle."""
    for node in launch.nodes:
        busy: dict[str, list[int]] = defaultdict(list)
        for one in node.ranks:
            for thread in one.busy_threads:
                busy[str(thread["allowed"])].append(one.rank)
        idle = len(node.online) - len(node.allowed)
        for allowed, ranks in sorted(busy.items()):
            number = len(processors(allowed))
            if number >= min(len(ranks), len(node.online)):
                continue
            yield Finding(
                "shared-processor",
                "error",
                f"{node.host}: {len(ranks)} busy threads of ranks {some(sorted(set(ranks)))} are "
                f"bound to {number} of {len(node.online)} processors ({allowed})",
                "they take turns" + (f", while {idle} processors idle" if idle else ""),
                _bind(launch),
            )


def siblings(launch: Launch) -> Iterator[Finding]:
    """Ranks on the hardware threads of one core while other cores idle."""
    for node in launch.nodes:
        bound = {one.rank: one.allowed for one in node.ranks if len(one.allowed) == 1}
        cores: dict[int, list[int]] = defaultdict(list)
        for rank, allowed in bound.items():
            cores[node.core_of(allowed[0])].append(rank)
        all_cores = {node.core_of(number) for number in node.online}
        doubled = [ranks for ranks in cores.values() if len(ranks) > 1]
        if doubled and len(node.ranks) <= len(all_cores):
            yield Finding(
                "hardware-threads",
                "warning",
                f"{node.host}: ranks {some(doubled[0])} share a core, while "
                f"{len(all_cores) - len(cores)} cores idle",
                "two hardware threads of a core are little faster than one",
                _bind(launch),
            )


def domains(launch: Launch) -> Iterator[Finding]:
    """Bound ranks that reach over several NUMA domains."""
    for node in launch.nodes:
        bound = [one for one in node.ranks if not set(one.allowed) >= set(node.online)]
        across = [one.rank for one in bound if _spans(node, one.allowed)]
        if across and len(node.domains) > 1:
            yield Finding(
                "numa",
                "warning",
                f"{node.host}: ranks {some(across)} may run in several of "
                f"{len(node.domains)} NUMA domains",
                "memory stays where it was first touched, and is slower from another domain",
                _bind(launch),
            )


def _spans(node: Node, allowed: list[int]) -> bool:
    return sum(1 for domain in node.domains if set(domain) & set(allowed)) > 1


def governor(launch: Launch) -> Iterator[Finding]:
    """Processors that save power."""
    for node in launch.nodes:
        text = node.file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
        if text == "powersave" and "intel_pstate" not in node.file("/proc/cpuinfo"):
            yield Finding(
                "governor",
                "info",
                f"{node.host}: the processors' frequency governor is powersave",
                "short bursts of work run at a low frequency",
                "cpupower frequency-set -g performance (as root)",
            )


CHECKS = (
    ranks_missing,
    node_groups,
    oversubscribed,
    waiting,
    shared,
    unbound,
    siblings,
    domains,
    governor,
)
