# SPDX-License-Identifier: BSD-3-Clause
"""What output cost a run, as the run has measured it within itself.

Whole runs of the same case differ by more than hidden output costs. So a run compares its own
steps: `output_cost` of its summary has the time in output calls, other work for output alone, and
what steps with output took more than the others.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

COSTS_WITHIN = "costs_within"  # key of a summary: the costs of each mode of several runs


@dataclass(frozen=True)
class CostWithin:
    """A share of the run, 0.05 is 5 %, and the range in which it is known."""

    fraction: float
    low: float
    high: float

    def text(self) -> str:
        """Return "0.9 % (0.4 to 1.4 %)"."""
        return f"{100 * self.fraction:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f} %)"


def number(values: object, key: str) -> float | None:
    """Return a number of a dictionary, or None."""
    value = values.get(key) if isinstance(values, dict) else None
    return float(value) if isinstance(value, int | float) else None


def cost_within(summary: dict[str, Any]) -> CostWithin | None:
    """Return the cost of output that a run has measured; None if it is not known."""
    cost = summary.get("output_cost")
    fraction, spread_s = number(cost, "cost_fraction"), number(cost, "cost_spread_s")
    run_s = number(cost, "run_s")
    if fraction is None or spread_s is None or not run_s:
        return None
    return CostWithin(fraction, fraction - spread_s / run_s, fraction + spread_s / run_s)


def typical(costs: Sequence[CostWithin]) -> CostWithin | None:
    """Return the cost and the range of a typical run of several; None if there is none."""
    if not costs:
        return None
    fraction = statistics.median(cost.fraction for cost in costs)
    low = statistics.median(cost.low for cost in costs)
    high = statistics.median(cost.high for cost in costs)
    return CostWithin(fraction, low, high)


def costs_of_modes(summary: dict[str, Any]) -> dict[str, CostWithin]:
    """Return the known costs by mode of output, of this run or of those compared with it."""
    found = {}
    several = summary.get(COSTS_WITHIN)
    for mode, values in several.items() if isinstance(several, dict) else ():
        parts = [number(values, key) for key in ("fraction", "low", "high")]
        if None not in parts:
            found[mode] = CostWithin(*(part for part in parts if part is not None))
    output, own = summary.get("output"), cost_within(summary)
    mode = output.get("mode") if isinstance(output, dict) else None
    if own and mode not in (None, "none"):
        found.setdefault(mode, own)
    return found
