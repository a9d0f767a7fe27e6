# SPDX-License-Identifier: BSD-3-Clause
"""Is B faster than A? Distribution-free: medians of ratios of pairs that ran one after the other.

The interval of a median of n ratios is from the k-th smallest to the k-th largest; that it misses
the true median has the chance of at most k - 1 heads in n throws of a coin, twice. No shape of
the noise is assumed, only that pairs do not depend on each other.
"""

from dataclasses import dataclass
from math import comb
from statistics import median

CONFIDENCE = 0.99
LOOKS = (8, 12, 16)  # pairs after which it is decided
LEAST_GAIN = 0.01  # a smaller one is not worth a setting


@dataclass(frozen=True)
class Interval:
    """The median of ratios B / A with an interval that holds the true one (confidence)."""

    ratio: float
    low: float
    high: float
    pairs: int

    @property
    def wins(self) -> bool:
        """Tell whether B is faster, and by enough to care."""
        return self.pairs >= LOOKS[0] and self.high < 1 and self.ratio <= 1 - LEAST_GAIN

    @property
    def text(self) -> str:
        """Return how many times faster B is: 1.21x (1.15 to 1.30)."""
        if self.low <= 0:
            return f"{1 / self.ratio:.2f}x (too few for an interval)"
        return f"{1 / self.ratio:.2f}x ({1 / self.high:.2f} to {1 / self.low:.2f})"


def rank_of_interval(pairs: int, confidence: float = CONFIDENCE) -> int:
    """Return k of the k-th smallest and largest; 0 if there are too few pairs.

    >>> [rank_of_interval(n) for n in (7, 8, 12, 16)]
    [0, 1, 2, 3]
    """
    k, miss = 0, 0.0
    while True:
        miss += 2 * comb(pairs, k) / 2**pairs
        if miss > 1 - confidence or k >= pairs // 2:
            return k
        k += 1


def interval(ratios: list[float]) -> Interval:
    """Return the interval of the median; with too few ratios it is from 0 to infinity."""
    ordered = sorted(ratios)
    k = rank_of_interval(len(ordered))
    low, high = (ordered[k - 1], ordered[-k]) if k else (0.0, float("inf"))
    return Interval(median(ordered), low, high, len(ordered))


def is_hopeless(ratios: list[float]) -> bool:
    """Tell whether B cannot win any more, however the pairs end that are still to come."""
    slower = sum(1 for ratio in ratios if ratio >= 1)
    return slower >= rank_of_interval(LOOKS[-1])
