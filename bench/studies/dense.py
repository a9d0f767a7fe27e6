# SPDX-License-Identifier: BSD-3-Clause
"""Dense systems and least squares: Tailrace compared with LAPACK's drivers, in CPU time."""

from bench.studies.drivers import need_driver
from tailrace.benchmarks.drivers import arguments, serial
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured

SUMMARY = "dense systems: refined low-precision factors, dgesv and dsgesv (CPU time)"
AXES = 2
CONDITIONS = (1e2, 1e6, 1e10)


def entries(options: Options) -> list[Entry]:
    """Return an entry a size and condition number, and one of least squares; drivers run all
    solvers in turn.
    """
    program = need_driver("dense_ours")
    least_squares = need_driver("dense_least_squares")
    found = []
    for n in options.sizes or [1000, 2000, 4000]:
        for condition in CONDITIONS:
            problem = f"n = {n}, condition {condition:.0e}, 1 right-hand side, CPU time"
            words = arguments(n=n, condition=condition, nrhs=1, repeats=options.repeats)
            command = serial(program, words, options.threads)
            found.append(Entry("tailrace", problem, True, command))
        words = arguments(n=n, m=4 * n, repeats=options.repeats)
        command = serial(least_squares, words, options.threads)
        problem = f"least squares, {4 * n} x {n}, 1 right-hand side, CPU time"
        found.append(Entry("tailrace", problem, True, command))
    return found


def finish(measured: Measured, _options: Options) -> None:
    """Add to each of our rows how many times faster than LAPACK's driver it was."""
    for row in measured.rows:
        if row["ours"] and row.get("ratio"):
            row["gain"] = 1 / row["ratio"]
