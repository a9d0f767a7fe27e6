#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the English of documents, public headers and help texts against a list of words.

Each pattern is a phrase that readers have to read twice, with what to write instead. In documents,
code and generated tables are left out. Comments of private code follow the same list, and are not
checked yet.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

WRITE = {
    r"of (its|their|our|your|his) own\b(?! items)": "your own, custom, or omit",
    r"of (yours|ours|theirs)": "your own, custom, or omit",
    r"\bbeside\b": "compared with, next to, in addition to",
    r"\bin turn\b": "interleaved, one after the other",
    r"\b(go(es)?|going|gone|went) (on|before|through)\b": "continue, override, use",
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
    r"\btoo busy to tell\b": "measurement noise exceeds the difference; rerun on an idle machine",
    r"\bthe run without(?! (output|the|a)\b)": "the run without output",
    r"\b(is|are|was|were|be) meant\b": "intended",
}

# These are checked in documents only: code has names such as `ours` and `face`.
WRITE_IN_DOCUMENTS = {
    r"\b(ours|theirs)\b": "Tailrace's, those of the other library",
    r"\bin place of\b": "instead of",
    r"\b(is|are|was|were) looked at|\blooks? at (?!results)": "inspect, poll",
    r"\bfor ever\b": "without end, hang",
    r"\blets? go\b": "release",
    r"\bhas (it|them) not\b": "does not have",
    r"\bwhat is left\b": "name the thing",
    r"\b(methods?|kernels?|library|libraries|names?|programs?) of ours\b": "Tailrace's",
    r"\b(our|my) (own )?(methods?|kernels?|library|programs?)\b": "Tailrace's",
    r"\bof (itself|himself)\b": "or omit",
    r"\bstands? (for|in|between)\b": "replaces, is in",
    r"\bas it lies\b|\bas they lie\b|\bwhere (it|they) lies?\b": "in place",
    r"\bthe (other|own) faces?\b|\bhouse\b|\brooms\b": "bindings, codebase, memory",
}

FILES = (
    "README.md",
    "include/**/*.h*",
    "kernels/include/**/*.hpp",
    "tailrace/cli/*.py",
    "apps/*/*_keys.cpp",
)
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SUPPORT.md", "SECURITY.md", "docs/**/*.md")

CODE = re.compile(r"^ *```.*?^ *```", flags=re.DOTALL | re.MULTILINE)
GENERATED = re.compile(r"<!-- generated: .*?<!-- end -->", flags=re.DOTALL)


def without(pattern: "re.Pattern[str]", text: str) -> str:
    """Return a text of as many lines without what a pattern finds."""
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)


def prose(text: str) -> str:
    """Return a document without code and generated tables."""
    text = without(GENERATED, without(CODE, text))
    return re.sub(r"`[^`]*`", lambda match: "`" + "\n" * match[0].count("\n") + "`", text)


def matches(text: str, words: dict[str, str]) -> list[str]:
    """Return one line for each phrase found, after the number of its line."""
    found = []
    for pattern, instead in words.items():
        spaced = pattern.replace(" ", r"\s+") if "\n" in text else pattern
        for match in re.finditer(spaced, text, flags=re.IGNORECASE):
            number = text.count("\n", 0, match.start()) + 1
            phrase = " ".join(match[0].split())
            found.append((number, f'{number}: "{phrase}"; write: {instead}'))
    return [line for _, line in sorted(found)]


def paths(patterns: tuple[str, ...]) -> list[Path]:
    """Return the files that patterns name."""
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern)})


def problems() -> list[str]:
    """Return one line for each phrase found."""
    found = []
    for path in paths(FILES):
        if path.suffix != ".md":
            name = path.relative_to(ROOT)
            found += [f"{name}:{line}" for line in matches(path.read_text(), WRITE)]
    for path in paths(DOCUMENTS):
        name = path.relative_to(ROOT)
        words = WRITE | WRITE_IN_DOCUMENTS
        found += [f"{name}:{line}" for line in matches(prose(path.read_text()), words)]
    return found


if __name__ == "__main__":
    lines = problems()
    print("\n".join(lines), end="\n" if lines else "")
    sys.exit(1 if lines else 0)
