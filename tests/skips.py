#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tests/skips.py CTEST.xml: counts the tests that ctest skipped, and fails on new ones.

tests/known_skips.txt lists which tests may be skipped and why. A skip that is not in that list is
an error, so that a test cannot vanish unseen. The same holds for pytest (tests/conftest.py).
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

LIST = Path(__file__).resolve().parent / "known_skips.txt"


def known_skips(runner: str) -> list[str]:
    """Return the patterns of a runner, ctest or pytest."""
    lines = [line.split(maxsplit=1) for line in LIST.read_text().splitlines()]
    return [re.split(r"\s{2,}", line[1])[0] for line in lines if line and line[0] == runner]


def report(runner: str, skipped: Iterable[str]) -> tuple[list[str], bool]:
    """Return lines about skipped tests, and whether all of them are known."""
    counts = Counter(skipped)
    lines = [f"{counts.total()} tests skipped by {runner}"]
    all_known = True
    for text, count in sorted(counts.items()):
        known = any(re.fullmatch(pattern, text, re.DOTALL) for pattern in known_skips(runner))
        note = "" if known else "  (NEW: it is not in tests/known_skips.txt)"
        lines.append(f"  {count:3d}  {text}{note}")
        all_known &= known
    return lines, all_known


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: tests/skips.py CTEST.xml")
    cases = ElementTree.parse(sys.argv[1]).iter("testcase")
    skipped = [case.get("name", "") for case in cases if case.find("skipped") is not None]
    lines, all_known = report("ctest", skipped)
    print("\n".join(lines))
    sys.exit(0 if all_known else 1)


if __name__ == "__main__":
    main()
