# SPDX-License-Identifier: BSD-3-Clause
"""Plans a restore: which members, grouped by bundle and in the order of their offsets.

A plan keeps four numbers a member, so that millions of members fit in memory.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.archive.index import Bundle, Found, Index
from tailrace.archive.opened import Archive
from tailrace.archive.target import TargetError
from tailrace.errors import TailraceError

#: Members whose distance in a bundle is at most this are read as one.
GAP_BYTES = 64 << 10


@dataclass
class Plan:
    """Rows of bundle, header, end of the member and its row in the index."""

    rows: NDArray[np.int64]
    bytes: int

    def part(self, chosen: NDArray[np.bool_]) -> "Plan":
        """Return the plan for some of its rows."""
        rows = self.rows[chosen]
        return Plan(rows, int((rows[:, 2] - rows[:, 1]).sum()))

    def bundles(self) -> list[int]:
        """Return the bundles in the order in which they were written."""
        return [int(number) for number in np.unique(self.rows[:, 0])]

    def runs(self, bundle: int, only: set[int] | None = None) -> Iterator[NDArray[np.int64]]:
        """Yield the rows of a bundle in parts that are each read from start to end."""
        rows = self.rows[self.rows[:, 0] == bundle]
        if only is not None:
            rows = rows[np.isin(rows[:, 3], np.fromiter(only, np.int64))]
        if len(rows):
            cuts = np.flatnonzero(rows[1:, 1] - rows[:-1, 2] > GAP_BYTES) + 1
            yield from np.split(rows, cuts)


def newest_of(found: Iterable[Found], as_of: Callable[[Found], bool]) -> Iterator[Found]:
    """Yield the newest version of each path; versions of a path come one after the other."""
    last: Found | None = None
    for each in found:
        if not as_of(each):
            continue
        if last is not None and last.entry.path != each.entry.path:
            yield last
        last = each
    if last is not None:
        yield last


def make_plan(found: Iterable[Found]) -> Plan:
    """Return the plan for members."""
    numbers: Any = np.fromiter(
        ((each.bundle, each.entry.header, each.entry.end, each.entry.id) for each in found),
        dtype=[("bundle", "i8"), ("header", "i8"), ("end", "i8"), ("id", "i8")],
    )
    rows = numbers.view(np.int64).reshape(-1, 4)
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    return Plan(rows, 0).part(np.ones(len(rows), bool))


def before(index: Index, date: float | None) -> Callable[[Found], bool]:
    """Return a condition: the bundle of a member was begun at that time at the latest."""
    if date is None:
        return lambda _found: True
    created: dict[int, float] = {}

    def is_before(found: Found) -> bool:
        if found.bundle not in created:
            created[found.bundle] = index.bundle(found.bundle).created
        return created[found.bundle] <= date

    return is_before


def sources_of(bundle: Bundle, known: Iterable[str]) -> list[str]:
    """Return the targets to read a bundle from: verified copies first, damaged ones last."""
    rank = {"verified": 0, "found": 1, "damaged": 2}
    usable = [name for name in known if bundle.states.get(name) in rank]
    return sorted(usable, key=lambda name: rank[bundle.states[name]])


def expected_mounts(archive: Archive, numbers: list[int]) -> int:
    """Return how many bundles no target can read at once: each is one recall of the medium."""
    places = [place.name for place in archive.config.places]
    away = [archive.index.bundle(number) for number in numbers]
    for name in places:
        keys = [bundle.key for bundle in away if name in sources_of(bundle, places)]
        try:
            ready = archive.target(name).is_staged(keys) if keys else {}
        except TargetError:
            continue
        away = [bundle for bundle in away if not ready.get(bundle.key)]
    return len(away)


def parse_range(text: str) -> tuple[float, float]:
    """Return the least and the greatest value of ``1:2`` or ``1``.

    >>> parse_range("0.5"), parse_range("1:")
    ((0.5, 0.5), (1.0, inf))
    """
    low, colon, high = text.partition(":")
    try:
        least = float(low) if low else float("-inf")
        most = (float(high) if high else float("inf")) if colon else least
    except ValueError:
        raise TailraceError(f"--time {text!r}: write 0.5 or 1:2", 2) from None
    return least, most
