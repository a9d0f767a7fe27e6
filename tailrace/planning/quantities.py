# SPDX-License-Identifier: BSD-3-Clause
"""Numbers as people write them: 1.5G, 64MiB, 64..1M."""

import re

from tailrace.errors import TailraceError

_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:([kmgtp])(i?)b?(?:/s)?|b(?:/s)?)?", re.IGNORECASE)
MOST_RANKS = 10**9


def parse_amount(text: str, option: str) -> float:
    """Return "1.5G", "64MiB" or "1e9" as a number: K, M, G, T, P are powers of 1000, KiB of 1024.

    Examples
    --------
    >>> parse_amount("1.5G", "--writer"), parse_amount("4MiB", "--bytes")
    (1500000000.0, 4194304.0)
    """
    word = text.strip()
    found = _NUMBER.fullmatch(word)
    if found is not None:
        base = 1024 if found[3] else 1000
        power = "kmgtp".index(found[2].lower()) + 1 if found[2] else 0
        value = float(found[1]) * float(base) ** power
    else:
        try:
            value = float(word)
        except ValueError:
            value = -1.0
    if not 0 < value < float("inf"):
        raise TailraceError(
            f"{option} {text}: expected a positive amount such as 1.5G, 64MiB or 1e9", status=2
        )
    return value


def parse_counts(text: str, option: str, most: int = MOST_RANKS) -> list[int]:
    """Return "64,128" as a list, and "64..1M" as 64 and its doubles up to a million.

    Examples
    --------
    >>> parse_counts("3,8..40", "--ranks")
    [3, 8, 16, 32, 40]
    """
    counts: list[int] = []
    for word in text.replace(",", " ").split():
        first, dots, last = word.partition("..")
        low = _count(first, text, option, most)
        high = _count(last, text, option, most) if dots else low
        if high < low:
            raise TailraceError(f"{option} {text}: {word} ends before it begins", status=2)
        step = low
        while step < high:
            counts.append(step)
            step *= 2
        counts.append(high)
    if not counts:
        raise TailraceError(f"{option} {text}: expected numbers, as in 64,128 or 64..1M", status=2)
    return sorted(set(counts))


def _count(word: str, text: str, option: str, most: int) -> int:
    value = parse_amount(word, option) if word else 0.0
    if value < 1 or value != int(value) or value > most:
        raise TailraceError(
            f"{option} {text}: expected whole numbers from 1 to {most:,}, as in 64,128 or 64..1M",
            status=2,
        )
    return int(value)


def amount_text(value: float, unit: str = "") -> str:
    """Return a number in thousands, with three digits.

    Examples
    --------
    >>> amount_text(134217728, "B"), amount_text(0.5, "B"), amount_text(999999, "B")
    ('134 MB', '0.5 B', '1 MB')
    """
    for power, name in ((15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if value >= 0.9995 * 10**power:
            return f"{value / 10**power:.3g} {name}{unit}".strip()
    return f"{value:.3g} {unit}".strip()


def seconds_text(value: float) -> str:
    """Return seconds as people say them.

    Examples
    --------
    >>> seconds_text(0.0042), seconds_text(90), seconds_text(7200), seconds_text(float("inf"))
    ('4.2 ms', '90 s', '2 h', 'never')
    """
    if value == float("inf"):
        return "never"
    for least, unit, name in ((86400 * 2, 86400.0, "d"), (5400, 3600.0, "h"), (300, 60.0, "min")):
        if value >= least:
            return f"{value / unit:.3g} {name}"
    if value >= 1 or value == 0:
        return f"{value:.3g} s"
    return f"{value * 1e3:.3g} ms" if value >= 1e-3 else f"{value * 1e6:.3g} µs"
