# SPDX-License-Identifier: BSD-3-Clause
"""Dense systems: ours beside LAPACK's double and mixed-precision drivers, in CPU time."""

from tailrace.benchmarks.drivers import arguments, need_driver, serial
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured

SUMMARY = "dense systems: refined low-precision factors beside dgesv and dsgesv (CPU time)"
CONDITIONS = (1e2, 1e6, 1e10)


def entries(options: Options) -> list[Entry]:
    """Return one entry a size and condition number; its driver runs all three solvers in turn."""
    program = need_driver("dense_ours")
    found = []
    for n in options.sizes or [1000, 2000, 4000]:
        for condition in CONDITIONS:
            problem = f"n = {n}, condition {condition:.0e}, 1 right-hand side, CPU time"
            words = arguments(n=n, condition=condition, nrhs=1, repeats=options.repeats)
            command = serial(program, words, options.threads)
            found.append(Entry("tailrace", problem, True, command))
    return found


def finish(measured: Measured, _options: Options) -> None:
    """Add to each of our rows how many times faster than LAPACK's driver it was."""
    for row in measured.rows:
        if row["ours"] and row.get("ratio"):
            row["gain"] = 1 / row["ratio"]
