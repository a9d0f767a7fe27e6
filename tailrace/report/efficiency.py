# SPDX-License-Identifier: BSD-3-Clause
"""The tree of POP's efficiencies, each with the ranks and places that are responsible for it."""

from typing import Any

from tailrace.planning.quantities import seconds_text

Profile = dict[str, Any]

NODES = (  # depth, key, name, what it is
    (0, "parallel", "Parallel efficiency", "mean of USER / run time: the product of the next two"),
    (1, "load_balance", "Load balance", "mean / longest of USER"),
    (1, "communication", "Communication efficiency", "longest of USER / run time"),
    (2, "serialisation", "Serialisation", "share that remains after waiting for late ranks"),
    (2, "transfer", "Transfer", "share that remains after the time in MPI itself"),
)
NEAR = 0.02  # a rank this near to the longest is named with it
NAMED = 4


def efficiency_tree(profile: Profile) -> list[dict[str, Any]]:
    """Return the lines of the tree: depth, name, percent, meaning, and who is responsible."""
    values = profile.get("efficiency", {})
    blame = {
        "load_balance": _longest_ranks,
        "communication": _longest_calls,
        "serialisation": _late_ranks,
        "transfer": _longest_transfers,
    }
    return [
        {
            "depth": depth,
            "name": name,
            "percent": 100 * values[key],
            "meaning": meaning,
            "who": blame[key](profile) if key in blame and values[key] < 0.995 else "",
        }
        for depth, key, name, meaning in NODES
        if values.get(key) is not None
    ]


def _named(ranks: list[int]) -> str:
    more = f" and {len(ranks) - NAMED} more" if len(ranks) > NAMED else ""
    word = "rank" if len(ranks) == 1 else "ranks"
    return f"{word} {', '.join(map(str, ranks[:NAMED]))}{more}"


def _longest_ranks(profile: Profile) -> str:
    by_rank = profile["by_rank"]
    most = max(group["user_s"] for group in by_rank)
    mean = sum(group["user_s"] for group in by_rank) / len(by_rank)
    ranks = [group["rank"] for group in by_rank if group["user_s"] >= (1 - NEAR) * most]
    verb = "computes" if len(ranks) == 1 else "compute"
    return f"{_named(ranks)} {verb} {seconds_text(most)}, the mean is {seconds_text(mean)}"


def _places(costs: list[tuple[float, dict[str, Any]]]) -> str:
    largest = sorted(costs, key=lambda cost: -cost[0])[:2]
    total = sum(cost for cost, _ in costs)
    return "; ".join(
        f"{call['name']} at {call['where']}: {100 * cost / total:.0f} %"
        for cost, call in largest
        if cost > 0.05 * total
    )


def _longest_calls(profile: Profile) -> str:
    places = _places([(call["time_s"], call) for call in profile.get("calls", [])])
    return f"of the time in MPI: {places}" if places else ""


def _longest_transfers(profile: Profile) -> str:
    calls = profile.get("calls", [])
    places = _places([(max(0.0, call["time_s"] - call["wait_s"]), call) for call in calls])
    return f"of the time in MPI without waiting: {places}" if places else ""


def _late_ranks(profile: Profile) -> str:
    """Return whom others waited for, and where."""
    parts = []
    late = sorted(profile.get("late", []), key=lambda rank: -rank["caused_s"])
    total = sum(rank["caused_s"] for rank in late)
    if total > 0:
        shares = [(rank["rank"], 100 * rank["caused_s"] / total) for rank in late]
        words = [f"rank {rank} ({share:.0f} %)" for rank, share in shares if share >= 1]
        parts.append(f"others wait for {', '.join(words[:NAMED])}")
    places = _places([(call["wait_s"], call) for call in profile.get("calls", [])])
    if places:
        parts.append(f"of the waiting: {places}")
    return "; ".join(parts)
