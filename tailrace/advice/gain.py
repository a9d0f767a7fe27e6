# SPDX-License-Identifier: BSD-3-Clause
"""What settings gain, compared with how much equal runs differ (``tailrace advise --apply``).

Each round runs the program as it is (A), once more as it is (A') and with the settings (B), in
changing order. The gain is the median of B over the geometric mean of A and A', and A'/A is what
the machine makes of no change at all: a gain within its interval says nothing.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite, sqrt
from typing import Any

from tailrace.advice.experiment import AGAIN, NONE
from tailrace.advice.setting import Setting
from tailrace.advice.statistics import LEAST_GAIN, LOOKS, Interval, interval


@dataclass
class Gain:
    """Seconds of each round: as it is, as it is again, with the setting."""

    setting: Setting
    plain_s: list[float] = field(default_factory=list)
    again_s: list[float] = field(default_factory=list)
    changed_s: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        """Return the time with the setting over that without, of each round."""
        rounds = zip(self.plain_s, self.again_s, self.changed_s, strict=True)
        return [changed / sqrt(plain * again) for plain, again, changed in rounds]

    @property
    def null_ratios(self) -> list[float]:
        """Return A'/A of each round."""
        return [again / plain for plain, again in zip(self.plain_s, self.again_s, strict=True)]

    @property
    def found(self) -> Interval:
        """Return the median of the ratios and its interval."""
        return interval(self.ratios)

    @property
    def null(self) -> Interval:
        """Return the same of equal runs."""
        return interval(self.null_ratios)


def measure_gain(
    run: Callable[[Setting], float],
    setting: Setting,
    budget_s: float,
    clock: Callable[[], float],
    rounds: int = 0,
    tell: Callable[[str], None] = lambda _text: None,
) -> Gain:
    """Return the gain of a setting from `rounds` rounds, or as many as fit into the budget.

    Without `rounds` it ends as soon as it is decided, after 8, 12 or 16. `run` gives the seconds of
    one run, or raises `RunFailedError`.
    """
    begin = clock()
    order = random.Random(1)
    gain = Gain(setting)
    lists = {id(NONE): gain.plain_s, id(AGAIN): gain.again_s, id(setting): gain.changed_s}
    run(NONE)  # fills caches
    while len(gain.changed_s) < (rounds or LOOKS[-1]) and clock() - begin < budget_s:
        runs = [NONE, AGAIN, setting]
        order.shuffle(runs)
        for one in runs:
            tell(one.name)
            lists[id(one)].append(max(run(one), 1e-9))
        decided = gain.found.wins or gain.found.ratio > 1 - LEAST_GAIN
        if not rounds and len(gain.changed_s) in LOOKS and decided:
            break
    return gain


def gain_text(gain: Gain) -> str:
    """Return the gain for people: the setting, the gain with its interval, what equal runs do."""
    found = gain.found
    lines = [gain.setting.text or "nothing is set"]
    verdict = "gains" if found.wins else "slower:" if found.low > 1 else "no effect here:"
    lines.append(f"{verdict} {found.text}, median of {found.pairs} rounds with its 99 % interval")
    lines.append(f"equal runs for comparison: {gain.null.text}")
    return "\n".join(lines)


def gain_data(gain: Gain) -> dict[str, Any]:
    """Return the gain as data; limits that are not known are null."""

    def data(one: Interval) -> dict[str, Any]:
        low = 1 / one.high if isfinite(one.high) else None
        return {"gain": 1 / one.ratio, "low": low, "high": 1 / one.low if one.low else None}

    times = {"plain_s": gain.plain_s, "again_s": gain.again_s, "changed_s": gain.changed_s}
    return {**data(gain.found), "pairs": gain.found.pairs, "null": data(gain.null), **times}
