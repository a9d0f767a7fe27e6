# SPDX-License-Identifier: BSD-3-Clause
"""Does a program that was built otherwise print the same results?

Lines are matched by their words. What differs between two equal runs says nothing, nor do lines
that tell times or rates. Of the rest each number must be the same to `TOLERANCE` or to one unit of
its last printed digit; what is smaller than `ZERO` counts as zero.
"""

import math
import re
from dataclasses import dataclass

TOLERANCE = 1e-6  # relative
ZERO = 1e-12
NUMBER = re.compile(
    r"(?<![A-Za-z_])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?|(?:nan|inf(?:inity)?)\b)",
    re.IGNORECASE,
)
TIMES = re.compile(
    r"time|second|elapsed|duration|wall|cpu|flop|perform|speed|rate|hour|date"
    r"|# ?[mun]?s\b|[(\[][mun]?s[)\]]|/\s*s\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Comparison:
    """Numbers that were compared, those that differ within the tolerance, and what is wrong."""

    compared: int
    differing: int = 0
    largest: float = 0.0  # relative difference
    where: str = ""  # of the largest difference
    wrong: str = ""  # "" if the results are the same


def _lines(text: str) -> dict[str, list[list[str]]]:
    """Return the numbers of each line, by its words."""
    found: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        words = " ".join(NUMBER.sub("#", line).split())
        if words and not TIMES.search(words):
            found.setdefault(words, []).append(NUMBER.findall(line))
    return found


def _value(word: str) -> float:
    return float(word.lower().replace("d", "e") if word[-1].isdigit() else word)


def _unit(word: str) -> float:
    """Return one unit of the last digit that is printed.

    >>> [_unit(word) for word in ("12", "0.25", "1.5e-3")]
    [1.0, 0.01, 0.0001]
    """
    mantissa, _, exponent = word.lower().replace("d", "e").partition("e")
    places = len(mantissa.partition(".")[2])
    return float(f"1e{int(exponent or 0) - places}")


def _difference(before: str, after: str) -> tuple[float, bool]:
    """Return the relative difference of two printed numbers, and whether they are the same."""
    if before == after:
        return 0.0, True
    a, b = _value(before), _value(after)
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf, repr(a) == repr(b)
    if max(abs(a), abs(b)) < ZERO or a == b:
        return 0.0, True
    relative = abs(a - b) / max(abs(a), abs(b))
    is_integer = before.lstrip("+-").isdigit() and after.lstrip("+-").isdigit()
    unit = 0.0 if is_integer else max(_unit(before), _unit(after))
    return relative, relative <= TOLERANCE or abs(a - b) <= unit * (1 + 1e-9)


def compare(first: str, second: str, other: str) -> Comparison:
    """Compare the output of another build with those of two equal runs of the present one."""
    one, two, new = _lines(first), _lines(second), _lines(other)
    compared, differing, largest, where = 0, 0, 0.0, ""
    for words, rows in one.items():
        again, changed = two.get(words, []), new.get(words, [])
        if len(again) != len(rows):
            continue  # equal runs print different lines
        if len(changed) != len(rows):
            many = f"{len(changed)} times instead of {len(rows)}"
            return Comparison(compared, wrong=f"prints {many}: {words[:60]}")
        triples = zip(rows, again, changed, strict=True)
        if rows != again and sorted(rows) == sorted(again):  # ranks print in any order
            triples = zip(sorted(rows), sorted(again), sorted(changed), strict=True)
        for row, same, now in triples:
            for before, repeated, after in zip(row, same, now, strict=True):
                if before != repeated:
                    continue
                compared += 1
                relative, is_same = _difference(before, after)
                text = f"{after} instead of {before} in: {words[:60]}"
                if not is_same:
                    return Comparison(compared, wrong=f"prints {text}")
                differing += relative > 0
                if relative > largest:
                    largest, where = relative, text
    extra = [words for words in new if words not in one and words not in two]
    if extra:
        return Comparison(compared, wrong=f"prints an additional line: {extra[0][:60]}")
    return Comparison(compared, differing, largest, where)
