# SPDX-License-Identifier: BSD-3-Clause
"""Runs the examples in the docstrings of the compiled module."""

import doctest
import sys

from tailrace import extension


def main() -> int:
    """Return 0 if there are examples and all are right."""
    runner = doctest.DocTestRunner()
    found = 0
    for name, thing in vars(extension.load()).items():
        text = getattr(thing, "__doc__", None) or ""
        if ">>>" in text:
            found += 1
            runner.run(doctest.DocTestParser().get_doctest(text, {}, name, None, 0))
    failed = runner.summarize().failed
    print(f"{found} examples, {failed} failed")
    return 0 if found >= 5 and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
