# SPDX-License-Identifier: BSD-3-Clause
"""What was measured of MPI's own algorithms, as rules: from which size on which algorithm."""

import math
from dataclasses import dataclass

from tailrace.errors import TailraceError
from tailrace.tuning.memory import Winner

LIBRARIES = {"openmpi": "Open MPI", "mpich": "MPICH"}


@dataclass(frozen=True)
class Rule:
    """Messages of at least `from_bytes` (of a rank, or of a pair of ranks) use `algorithm`."""

    from_bytes: int
    number: int
    algorithm: str


Rules = dict[str, dict[int, list[Rule]]]  # collective -> number of ranks -> ascending rules


def _size(winner: Winner) -> int:
    return int(winner.key.split(" ", 1)[0])


def _rules_of(winners: dict[int, Winner]) -> list[Rule]:
    """Rules change half way (of the logarithm) between two sizes with different winners."""
    found: list[Rule] = []
    last = 0
    for size in sorted(winners):
        number, _, name = winners[size].winner.partition(" ")
        if not found or found[-1].number != int(number):
            start = 0 if not found else math.isqrt(last * size) + 1
            found.append(Rule(start, int(number), name))
        last = size
    return found


def collect(winners: list[Winner], library: str) -> tuple[Rules, dict[str, object]]:
    """Return the rules for `library` and the machine that they hold for.

    Of several machines the one measured last counts, and of several placements of as many ranks
    the one measured last.
    """
    mark = LIBRARIES[library]
    own = [
        winner
        for winner in winners
        if winner.operation.startswith("mpi ") and winner.machine["mpi"].startswith(mark)
    ]
    if not own:
        raise TailraceError(
            f"there are no measurements of the algorithms of {mark}: run `tailrace tune mpi` "
            f"with a build for {mark}"
        )
    machine = max(own, key=lambda winner: winner.date).machine
    sizes: dict[str, dict[int, dict[int, Winner]]] = {}
    for winner in sorted(own, key=lambda winner: winner.date):
        if winner.machine == machine:
            collective = winner.operation.removeprefix("mpi ")
            of_ranks = sizes.setdefault(collective, {}).setdefault(winner.num_ranks, {})
            of_ranks[_size(winner)] = winner
    rules = {
        collective: {ranks: _rules_of(found) for ranks, found in sorted(of_ranks.items())}
        for collective, of_ranks in sorted(sizes.items())
    }
    return rules, machine
