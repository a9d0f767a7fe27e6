# SPDX-License-Identifier: BSD-3-Clause
"""Starts a launcher with a probe and says whether the ranks came out where a map wants them."""

from dataclasses import dataclass, field
from itertools import combinations

from tailrace.placement.probe import lines_of_ranks
from tailrace.placement.rank_map import RankMap
from tailrace.profile.placement import processors

# How launchers tell a process its rank.
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID", "SLURM_PROCID")
MARK = "tailrace-rank"
SHOWN = 5
TIMEOUT_S = 120


@dataclass(frozen=True)
class Found:
    """Where the ranks came out."""

    host: dict[int, str]
    wrong: list[str]  # one line for each difference
    notes: list[str] = field(default_factory=list)  # of what cannot be judged

    @property
    def groups(self) -> int:
        """Return the number of hosts."""
        return len(set(self.host.values()))


def _probe() -> list[str]:
    rank = ""
    for name in reversed(RANK_VARIABLES):
        rank = f"${{{name}:-{rank}}}"
    allowed = "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
    return ["sh", "-c", f'echo "{MARK} {rank} $(uname -n) {allowed}"']


def compare(rank_map: RankMap, host: dict[int, str]) -> list[str]:
    """Return what differs between the map and the hosts of the ranks, one line each.

    A host whose name the map does not know (an alias) stands for the node to which most of its
    ranks belong.
    """
    known = range(rank_map.num_ranks)
    wrong = []
    missing = sorted(set(known) - set(host))
    if missing:
        wrong.append(f"ranks {_list(missing)} did not start")
    extra = sorted(set(host) - set(known))
    if extra:
        wrong.append(f"ranks {_list(extra)} are not in the map of {rank_map.num_ranks}")
    node_of = _nodes_of_hosts(rank_map, {rank: host[rank] for rank in known if rank in host})
    for rank in known:
        if rank in host and node_of[host[rank]] != rank_map.node[rank]:
            wrong.append(f"rank {rank} is on {host[rank]}, planned on {rank_map.host_of(rank)}")
    return wrong


def compare_cores(
    rank_map: RankMap, host: dict[int, str], allowed: dict[int, set[int]]
) -> tuple[list[str], list[str]]:
    """Return what is wrong with the processors of the ranks, and what is only to be noted.

    Ranks of a host that are to have cores of their own, and are bound to shared ones, are wrong. A
    launcher may number cores otherwise than the system, so other numbers are a note.
    """
    wrong, notes, loose, other = [], [], [], []
    ranks = [rank for rank in range(rank_map.num_ranks) if rank in host and rank in allowed]
    planned = {}
    for rank in ranks:
        first, last = rank_map.cores_of(rank)
        planned[rank] = set(range(first, last + 1))
    for rank in ranks:
        if allowed[rank] > planned[rank]:
            loose.append(rank)
        elif not allowed[rank] <= planned[rank]:
            other.append(rank)
    bound: dict[str, list[int]] = {}
    for rank in sorted(set(ranks) - set(loose)):
        bound.setdefault(host[rank], []).append(rank)
    for name, those in bound.items():
        for rank, peer in combinations(those, 2):
            shared = allowed[rank] & allowed[peer]
            if shared and not planned[rank] & planned[peer]:
                wrong.append(f"ranks {rank} and {peer} share core {min(shared)} of {name}")
    if loose:
        notes.append(f"ranks {_list(loose)} are not bound to their cores")
    if other:
        notes.append(
            f"ranks {_list(other)} are bound to other core numbers than in the map; a launcher may "
            "count cores otherwise than the system"
        )
    return wrong, notes


def _nodes_of_hosts(rank_map: RankMap, host: dict[int, str]) -> dict[str, int]:
    """Return the node of the map that each host is; -1 for an alias of a node that is taken."""
    names = {name.split(".")[0]: node for node, name in enumerate(rank_map.hosts)}
    found = {seen: names.get(seen.split(".")[0], -1) for seen in set(host.values())}
    for seen in sorted(seen for seen, node in found.items() if node < 0):
        planned = [rank_map.node[rank] for rank, at in host.items() if at == seen]
        usual = max(planned, key=planned.count)
        if usual not in found.values():
            found[seen] = usual
    return found


def read_back(rank_map: RankMap, command: list[str]) -> Found:
    """Run `command` (a launcher with its options) with a probe; collective calls are not needed."""
    lines = lines_of_ranks(
        command,
        _probe(),
        rf"{MARK} (\d+) (\S+) ?([\d,-]*)",
        "started no rank whose number is known",
        TIMEOUT_S,
    )
    host = {int(rank): name for rank, name, _ in lines}
    allowed = {int(rank): set(processors(text)) for rank, _, text in lines if text}
    wrong, notes = compare_cores(rank_map, host, allowed)
    return Found(host, compare(rank_map, host) + wrong, notes)


def _list(ranks: list[int]) -> str:
    more = ", ..." if len(ranks) > SHOWN else ""
    return ", ".join(map(str, ranks[:SHOWN])) + more
