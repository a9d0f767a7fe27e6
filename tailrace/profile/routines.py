# SPDX-License-Identifier: BSD-3-Clause
"""Routines of the program: where its processor time outside MPI goes, from samples."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.profile.record import Record
from tailrace.profile.routine_names import Routine, name_routines
from tailrace.profile.sites import Place

NOT_RUNNING = "(not running)"
PYTHON_SAMPLE = 1 << 62  # addresses with this bit are numbers of Python functions
PYTHON_LIBRARY = "Python"
MOST_WITH_RANKS = 50  # routines that keep the time of each rank

Key = tuple[str, str, str]  # file of the program or library, function, source file
Floats = NDArray[np.float64]


class _Times:
    """Seconds of a routine on each rank: of all threads and of the main one; samples of lines."""

    def __init__(self, ranks: int) -> None:
        self.all_s = np.zeros(ranks)
        self.main_s = np.zeros(ranks)
        self.samples = 0
        self.lines: dict[int, int] = defaultdict(int)


def has_samples(records: list[Record]) -> bool:
    """Tell whether routines were sampled."""
    return any("samples" in record.facts for record in records)


def _second_of_sample(samples: dict[str, Any], group: str) -> float:
    """Return the processor time that a sample of a group stands for: what was used, if enough."""
    count, used_s = int(samples[group]["samples"]), float(samples[group]["cpu_ns"]) * 1e-9
    # The number of few samples is chance.
    return used_s / count if count >= 100 else 1.0 / max(1, int(samples["per_s"]))


def _python_functions(record: Record) -> dict[int, Routine]:
    """Return the Python functions of a record by the address of their samples."""
    return {
        PYTHON_SAMPLE | number: Routine(name, Path(file).name, line)
        for number, file, line, name in record.facts["samples"]["python"]
    }


def _places(record: Record) -> list[tuple[Place | Routine, bool, int]]:
    """Return place, whether it is of the main thread, and count of the samples outside MPI.

    Of samples in the interpreter the place is the Python function.
    """
    python = _python_functions(record)
    found: list[tuple[Place | Routine, bool, int]] = []
    for address, is_main, in_mpi, count in record.facts["samples"]["rows"]:
        if not in_mpi:
            place = python.get(address) or record.module_of(address)
            found.append((place, bool(is_main), int(count)))
    return found


def _sum_up(records: list[Record]) -> dict[Key, _Times]:
    placed = [_places(record) if "samples" in record.facts else [] for record in records]
    places = {place for of_rank in placed for place, _, _ in of_rank}
    names = name_routines(place for place in places if not isinstance(place, Routine))
    times: dict[Key, _Times] = defaultdict(lambda: _Times(len(records)))
    for number, (record, of_rank) in enumerate(zip(records, placed, strict=True)):
        if not of_rank:
            continue
        samples = record.facts["samples"]
        main_s, other_s = (_second_of_sample(samples, group) for group in ("main", "others"))
        for place, is_main, count in of_rank:
            if isinstance(place, Routine):
                library, routine = PYTHON_LIBRARY, place
            else:
                library, routine = place[0], names[place]
            mine = times[library, routine.function, routine.file]
            mine.samples += count
            mine.lines[routine.line] += count
            mine.all_s[number] += count * (main_s if is_main else other_s)
            if is_main:
                mine.main_s[number] += count * main_s
    return times


def _spread(seconds: Floats, total_s: float, ranks: list[int]) -> dict[str, Any]:
    most = float(seconds.max())
    mean = float(seconds.mean())
    return {
        "share": float(seconds.sum()) / total_s if total_s > 0 else 0.0,
        "time_s": mean,
        "min_rank_s": float(seconds.min()),
        "max_rank_s": most,
        "imbalance": max(0.0, (most - mean) / most) if most > 0 else 0.0,
        "slowest_rank": ranks[int(seconds.argmax())],
    }


def routines(records: list[Record], by_rank: list[dict[str, float]]) -> list[dict[str, Any]]:
    """Return the routines, the longest first, and last how long USER had no processor.

    `share` is the part of all processor time outside MPI: of all threads, and in `main` of the
    main thread's; without a processor it is the part of USER. `by_rank` has the groups of each
    record.
    """
    if not has_samples(records):
        return []
    times = _sum_up(records)
    ranks = [record.rank for record in records]
    all_s = float(sum(one.all_s.sum() for one in times.values()))
    main_s = sum((one.main_s for one in times.values()), np.zeros(len(records)))
    found = []
    for (module, function, file), one in times.items():
        line = max(one.lines, key=lambda number: (one.lines[number], -number))
        library = Path(module).name
        unnamed = function.startswith("+0x")  # as places of calls are named
        found.append(
            {
                "function": f"{library}{function}" if unnamed else function,
                "library": library,
                "where": f"{file}:{line}" if line else file,
                "samples": one.samples,
                **_spread(one.all_s, all_s, ranks),
                "main": _spread(one.main_s, float(main_s.sum()), ranks),
                "rank_s": one.all_s.tolist(),
            }
        )
    found.sort(key=lambda one: (-one["share"], one["function"], one["library"]))
    for routine in found[MOST_WITH_RANKS:]:
        del routine["rank_s"]
    user_s = np.array([group["user_s"] for group in by_rank])
    sampled = np.array(["samples" in record.facts for record in records])
    idle_s = np.where(sampled, np.maximum(user_s - main_s, 0.0), 0.0)
    spread = _spread(idle_s, float(user_s.sum()), ranks)
    idle = {"function": NOT_RUNNING, "library": "", "where": "", "samples": 0}
    return [*found, {**idle, **spread, "main": spread, "rank_s": idle_s.tolist()}]


def sampling(records: list[Record]) -> dict[str, Any] | None:
    """Return how the routines were sampled, sums over the ranks; None: they were not."""
    if not has_samples(records):
        return None
    with_samples = [record for record in records if "samples" in record.facts]
    facts = [record.facts["samples"] for record in with_samples]
    in_mpi = sum(row[3] for one in facts for row in one["rows"] if row[2])
    total = sum(row[3] for one in facts for row in one["rows"])
    cpu_s = sum(one[group]["cpu_ns"] for one in facts for group in ("main", "others")) * 1e-9
    squares = sum(one["squares"] for one in facts)
    handler_s = sum(r.facts["samples"]["handler_ticks"] * r.tick_s for r in with_samples)
    return {
        "per_s": max(one["per_s"] for one in facts),
        "samples": total,
        "in_mpi": in_mpi,
        "independent": round(total * total / squares) if squares else 0,
        "threads": sum(one["threads"] for one in facts),
        "cpu_s": cpu_s,
        "handler_s": handler_s,
        "handler_share": handler_s / cpu_s if cpu_s > 0 else 0.0,
    }


def routine_notes(records: list[Record]) -> list[str]:
    """Return what is missing in the samples."""
    facts = [record.facts["samples"] for record in records if "samples" in record.facts]
    found = []
    threads = sum(one["threads_without_timer"] for one in facts)
    if threads:
        found.append(
            f"{threads} threads were not sampled: the kernel gave no timer (ulimit -i), there are "
            "more than 1024 at a time, or no real-time signal is free"
        )
    lost = sum(one["lost"] for one in facts)
    if lost:
        found.append(f"{lost} samples were lost: there was no memory for them")
    reasons = {one["python_missing"] for one in facts} - {""}
    found += [f"Python functions are not shown: {reason}" for reason in sorted(reasons)]
    return found


def routine_head(profile: dict[str, Any]) -> str:
    """Return the line above the table."""
    facts = profile["sampling"]
    outside = facts["samples"] - facts["in_mpi"]
    text = (
        f"Routines: {outside} samples outside MPI, {facts['in_mpi']} in MPI, {facts['per_s']} a "
        f"second of processor time; the sampler took {100 * facts['handler_share']:.3f} % of it"
    )
    independent = facts["independent"] * outside / max(1, facts["samples"])
    if independent >= 1:  # two deviations of a share of a half
        text += f"; shares are known to {100 / independent**0.5:.1f} points"
    return text
