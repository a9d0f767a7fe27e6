# SPDX-License-Identifier: BSD-3-Clause
"""A rules file for Open MPI's ``coll_tuned_dynamic_rules_filename``, in its first text format.

For each collective: its number, then for each number of ranks rules "message size, algorithm,
fan out, segment size". A rule holds from its size on, a set of rules from its number of ranks on,
so each set ends where the next number of ranks begins: with algorithm 0, Open MPI's own choice.
What "size" means differs: of alltoall it is what a rank sends to all, alltoallv knows no size.
"""

from tailrace.tuning.rules import Rule, Rules

NUMBERS = {"allreduce": 2, "alltoall": 3, "alltoallv": 4}


def _sized(collective: str, ranks: int, rules: list[Rule]) -> list[tuple[int, int]]:
    if collective == "alltoallv":
        # One rule for all sizes: the algorithm of the largest, where most time is spent.
        return [(0, rules[-1].number)]
    factor = ranks if collective == "alltoall" else 1
    return [(rule.from_bytes * factor, rule.number) for rule in rules]


def _sets(collective: str, rules: dict[int, list[Rule]]) -> dict[int, list[tuple[int, int]]]:
    sets = {ranks: _sized(collective, ranks, found) for ranks, found in rules.items()}
    for ranks in rules:
        sets.setdefault(ranks + 1, [(0, 0)])
    return dict(sorted(sets.items()))


def text(rules: Rules, machine: dict[str, object]) -> str:
    """Return the file's text."""
    lines = [
        "# Algorithms that measured best: tailrace tune export --format openmpi",
        f"# {machine['processor']}; {machine['mpi']}",
        f"{len(rules)} # collectives",
    ]
    for collective, of_ranks in rules.items():
        sets = _sets(collective, of_ranks)
        lines.append(f"{NUMBERS[collective]} # {collective}")
        lines.append(f"{len(sets)} # numbers of ranks")
        for ranks, found in sets.items():
            lines.append(f"{ranks} # ranks and more")
            lines.append(f"{len(found)} # sizes")
            lines += [f"{size} {number} 0 0" for size, number in found]
    return "\n".join(lines) + "\n"
