#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the English of public headers, help texts and the README against a list of words.

Each pattern is a phrase that readers have to read twice, with what to write instead. Comments of
private code follow the same list, and are not checked yet.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

WRITE = {
    r"of (its|their|our|your|his) own|of (yours|ours|theirs)": "your own, custom, or omit",
    r"\bbeside\b": "compared with, next to, in addition to",
    r"\bin turn\b": "interleaved, one after the other",
    r"\bgo(es)? (on|before|through)\b": "continue, override, use",
    r"\b(whoever|nobody)\b": "any rank that, no rank",
    r"\banew\b": "again, or re- with the verb",
    r"\bdealt\b": "distributed",
    r"\bnap(s|ping)?\b": "sleep",
    r"\b(is|are|was|were|been|be) told\b": "is reported, is notified",
    r"\bcrowded\b": "oversubscribed",
    r"\bmade with\b": "built against, given",
    r"\b(that is|not) there\b": "found, available, not supported",
    r"\bwhat became of\b": "the outcome of",
    r"\band so (is|are)\b": "a sentence of its own",
    r"\bso many\b": "n",
    r"\blanguage faces?\b|\bfaces that\b": "bindings",
    r"\b(rivals?|tenants?)\b": "other libraries, callers",
}

FILES = (
    "README.md",
    "include/**/*.h*",
    "kernels/include/**/*.hpp",
    "tailrace/cli/*.py",
    "apps/*/*_keys.cpp",
)


def problems() -> list[str]:
    """Return one line for each phrase found."""
    found = []
    for path in sorted({path for pattern in FILES for path in ROOT.glob(pattern)}):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for pattern, instead in WRITE.items():
                if match := re.search(pattern, line, re.IGNORECASE):
                    where = f"{path.relative_to(ROOT)}:{number}"
                    found.append(f'{where}: "{match[0]}"; write: {instead}')
    return found


if __name__ == "__main__":
    lines = problems()
    print("\n".join(lines), end="\n" if lines else "")
    sys.exit(1 if lines else 0)
