# SPDX-License-Identifier: BSD-3-Clause
"""What a call costs from C, Fortran and Python, compared with the same call in C++."""

import sys
from dataclasses import replace

from bench.studies.drivers import find_driver, need_driver
from tailrace.benchmarks.drivers import arguments, parallel
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured
from tailrace.errors import TailraceError
from tailrace.programs import SOURCE_ROOT

SUMMARY = "calls of the library from C++, C, Fortran and Python, of so little data that all is cost"
CALLS = 20000


def entries(options: Options) -> list[Entry]:
    """Return an entry for each binding that is built and number of ranks; C++ is the reference."""
    words = arguments(calls=CALLS, repeats=options.repeats)
    found = []
    for ranks in options.ranks or [1]:
        label = f"ranks {ranks}"
        for name, driver in (
            ("C++", "bindings_cpp"),
            ("C", "bindings_c"),
            ("Fortran", "bindings_fortran"),
        ):
            program = need_driver(driver) if driver != "bindings_fortran" else find_driver(driver)
            if program is not None:
                command = parallel(ranks, program, words)
                found.append(Entry(name, label, True, command, reference=name == "C++"))
        script = SOURCE_ROOT / "bench" / "bindings_python.py"
        command = parallel(ranks, script, words)
        at = command.words.index(str(script))
        command = replace(command, words=[*command.words[:at], sys.executable, *command.words[at:]])
        found.append(Entry("Python", label, False, command))
    return found


def finish(measured: Measured, _options: Options) -> None:
    """Add what a call costs more than in C++."""
    cpp = {row["problem"]: row["median_s"] for row in measured.rows if row["entry"] == "C++"}
    for row in measured.rows:
        if row["problem"] not in cpp:
            raise TailraceError(f"bindings: nothing from C++ for {row['problem']}")
        row["us_over_cpp"] = 1e6 * (row["median_s"] - cpp[row["problem"]])
