# SPDX-License-Identifier: BSD-3-Clause
"""Tries settings on a program: all of them a few times, then the promising ones against none.

1. **Screening.** Rounds in which the program runs as it is twice (A and A') and once with each
   setting, in changing order. A'/A is the noise of the machine. A setting goes as soon as it cannot
   be faster than both in the median any more.
2. **Confirming.** What is left runs in pairs with the program as it is, in changing order. Only
   these pairs decide and are shown: those that chose a setting favour it. It wins if the interval
   of the median (99 %) lies below 1 after 8, 12 or 16 pairs.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from statistics import median

from tailrace.advice.setting import Setting, combined
from tailrace.advice.statistics import LEAST_GAIN, LOOKS, Interval, interval, is_hopeless

NONE = Setting("as it is")
AGAIN = Setting("as it is, again")
SCREEN_ROUNDS = 3
SHARE_OF_SCREENING = 0.5  # of the budget


class RunFailedError(Exception):
    """The program did not end well with a setting; the text says how."""


@dataclass(frozen=True)
class Proposal:
    """A setting of a tip; of one tip only the best is confirmed."""

    tip: str
    setting: Setting


@dataclass
class Verdict:
    """What was found of a proposal."""

    proposal: Proposal
    outcome: str = "not tried"  # wins, less, no effect, fails, not tried
    why: str = ""
    screened: float | None = None  # median ratio to the faster of A and A'
    confirmed: Interval | None = None


@dataclass
class Outcome:
    """All that was found."""

    verdicts: list[Verdict]
    run_s: float  # of the program as it is, median
    noise: float  # the largest A'/A or A/A', less 1
    runs: int = 0
    together: Interval | None = None  # of all winners
    setting: Setting | None = None  # all winners
    notes: list[str] = field(default_factory=list)

    @property
    def winners(self) -> list[Verdict]:
        """Return the proposals that win, the largest gain first."""
        found = [one for one in self.verdicts if one.outcome == "wins"]
        return sorted(found, key=lambda one: one.confirmed.ratio if one.confirmed else 1.0)


def _may_be_faster(verdict: Verdict, ratios: list[float]) -> bool:
    """Tell whether the median of `SCREEN_ROUNDS` ratios can still be below 1."""
    slower = sum(1 for ratio in ratios if ratio >= 1)
    return verdict.outcome != "fails" and slower <= SCREEN_ROUNDS // 2


class Experiment:
    """Runs the settings; `run` gives the seconds of one run, or raises `RunFailedError`."""

    def __init__(
        self,
        run: Callable[[Setting], float],
        budget_s: float,
        clock: Callable[[], float],
        seed: int = 1,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self._run = run
        self._clock = clock
        self._begin = clock()
        self._budget_s = budget_s
        self._random = random.Random(seed)
        self._tell = tell
        self._plain: list[float] = []
        self.runs = 0

    def _time(self, setting: Setting) -> float:
        self._tell(setting.name)
        self.runs += 1
        seconds = self._run(setting)
        if setting in (NONE, AGAIN):
            self._plain.append(seconds)
        return max(seconds, 1e-9)

    @property
    def _left_s(self) -> float:
        return self._budget_s - (self._clock() - self._begin)

    def _screen(self, verdicts: list[Verdict]) -> list[float]:
        """Fill in what was screened; return A'/A of each round."""
        reserve_s = (1 - SHARE_OF_SCREENING) * self._left_s
        ratios: dict[int, list[float]] = {i: [] for i in range(len(verdicts))}
        null = []
        for number in range(SCREEN_ROUNDS):
            live = [i for i in ratios if _may_be_faster(verdicts[i], ratios[i])]
            order: list[int] = [*live, -1, -2]
            self._random.shuffle(order)
            times = {}
            for i in order:
                if self._left_s < reserve_s and number > 0:
                    break
                setting = verdicts[i].proposal.setting if i >= 0 else (NONE if i == -1 else AGAIN)
                try:
                    times[i] = self._time(setting)
                except RunFailedError as error:
                    if i < 0:
                        raise
                    verdicts[i].outcome, verdicts[i].why = "fails", str(error)
            if -1 not in times or -2 not in times:
                continue
            null.append(times[-2] / times[-1])
            for i in live:
                if i in times:
                    ratios[i].append(times[i] / min(times[-1], times[-2]))
        for i, found in ratios.items():
            if len(found) == SCREEN_ROUNDS or not _may_be_faster(verdicts[i], found):
                verdicts[i].screened = median(found) if found else None
                if verdicts[i].outcome != "fails":
                    verdicts[i].outcome = "no effect"
            else:
                verdicts[i].why = "the budget ended before it was screened"
        return null

    def pairs(self, setting: Setting, against: Setting = NONE) -> Interval | None:
        """Return how `setting` does against another, or None if the budget ends before."""
        ratios: list[float] = []
        for look in LOOKS:
            while len(ratios) < look:
                if self._left_s <= 0:
                    return None if len(ratios) < LOOKS[0] else interval(ratios)
                order = [setting, against]
                self._random.shuffle(order)
                times = {id(one): self._time(one) for one in order}
                ratios.append(times[id(setting)] / times[id(against)])
                if is_hopeless(ratios):
                    return interval(ratios)
            found = interval(ratios)
            if found.wins or found.ratio > 1 - LEAST_GAIN:
                break
        return interval(ratios)

    def _confirm(self, verdicts: list[Verdict]) -> None:
        promising = [
            one
            for one in verdicts
            if one.outcome == "no effect" and (one.screened or 1.0) <= 1 - LEAST_GAIN
        ]
        taken: set[str] = set()
        for one in sorted(promising, key=lambda one: one.screened or 1.0):
            if one.proposal.tip in taken:
                one.outcome, one.why = "less", "than another setting of this tip"
                continue
            try:
                one.confirmed = self.pairs(one.proposal.setting)
            except RunFailedError as error:
                one.outcome, one.why = "fails", str(error)
                continue
            if one.confirmed is None:
                one.outcome, one.why = "not tried", "the budget ended before it was confirmed"
            elif one.confirmed.wins:
                one.outcome = "wins"
                taken.add(one.proposal.tip)

    def find(self, proposals: list[Proposal]) -> Outcome:
        """Return what each proposal gains; raises `RunFailedError` if the program itself fails."""
        verdicts = [Verdict(one) for one in proposals]
        begin = self._clock()
        outcome = Outcome(verdicts, self._time(NONE), 0.0)  # also fills caches
        first_s = self._clock() - begin  # what is measured may be another number (--metric)
        null: list[float] = []
        pending = verdicts
        while pending:
            affordable = (
                int(self._left_s * SHARE_OF_SCREENING / max(first_s, 1e-9) / SCREEN_ROUNDS) - 2
            )
            batch, pending = pending[: max(0, affordable)], pending[max(0, affordable) :]
            if not batch:
                outcome.notes.append(self._say_untried(verdicts, first_s))
                break
            null += self._screen(batch)
            self._confirm(batch)
        if not outcome.notes and any(one.outcome == "not tried" for one in verdicts):
            mean_s = (self._clock() - begin) / max(1, self.runs)
            outcome.notes.append(self._say_untried(verdicts, mean_s))
        self._plain = self._plain[1:] or self._plain  # without the first, cold run
        outcome.noise = max((max(ratio, 1 / ratio) - 1 for ratio in null), default=0.0)
        outcome.run_s = median(self._plain)
        self._together(outcome)
        outcome.runs = self.runs
        return outcome

    @staticmethod
    def _say_untried(verdicts: list[Verdict], run_s: float) -> str:
        for one in verdicts:
            if one.outcome == "not tried" and not one.why:
                one.why = "the budget is too short"
        needed = (len(verdicts) + 2) * SCREEN_ROUNDS * run_s / SHARE_OF_SCREENING
        return f"to try all settings, give --budget {10 * ceil(needed / 10)}"

    def _together(self, outcome: Outcome) -> None:
        """Confirm all winners at once, or take the best alone."""
        winners = outcome.winners
        if not winners:
            return
        best = winners[0]
        outcome.setting, outcome.together = best.proposal.setting, best.confirmed
        if len(winners) == 1:
            return
        together = combined("all", [one.proposal.setting for one in winners])
        try:
            found = self.pairs(together)
        except RunFailedError as error:
            outcome.notes.append(f"all winners together fail ({error})")
            return
        if found is None or not found.wins:
            why = "the budget ended" if found is None else "no gain"
            outcome.notes.append(f"all winners together were not confirmed ({why})")
            return
        if best.confirmed is None or found.ratio <= best.confirmed.ratio:
            outcome.setting, outcome.together = together, found
            outcome.notes.append(f"all winners together: {found.text}")
        else:
            outcome.notes.append("all winners together gain less than the best alone")
