# SPDX-License-Identifier: BSD-3-Clause
"""The check of words finds phrases of its list, also across lines, and leaves out code."""

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("check_words", ROOT / "tools" / "check_words.py")
assert SPEC and SPEC.loader
words = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(words)


def test_phrases_are_found_with_their_lines() -> None:
    found = words.matches("one\nruns A and B in\nturn\nbeside MPI\n", words.WRITE)
    assert [line.partition(";")[0] for line in found] == ['2: "in turn"', '4: "beside"']


def test_code_and_generated_tables_are_left_out() -> None:
    text = (
        "a `nap` and\n```sh\nnap beside\n```\n"
        "<!-- generated: x -->\n\n| nap |\n\n<!-- end -->\nours\n"
    )
    everything = words.WRITE | words.WRITE_IN_DOCUMENTS
    assert [line.partition(";")[0] for line in words.matches(words.prose(text), everything)] == [
        '10: "ours"'
    ]


def test_the_tree_passes() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "check_words.py"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
