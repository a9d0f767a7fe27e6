# SPDX-License-Identifier: BSD-3-Clause
"""Sparse matrices times a vector: ours beside plain CSR, Eigen and PETSc, in CPU time."""

from tailrace.benchmarks.drivers import arguments, need_driver, serial
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured
from tailrace.errors import TailraceError

SUMMARY = "sparse matrices: the chosen format beside plain CSR, Eigen and PETSc (CPU time)"
# Matrices (bench/sparse_matrices.hpp), and points along an edge that give some 10^7 items.
MATRICES = {
    "stencil7": [100],
    "stencil7v": [100, 200],
    "blocks15": [26],
    "fem3": [52],
    "band21": [114],
    "short": [159],
    "power": [100],
}
TOLERANCE = 1e-13  # of the sum of the sizes of a row's terms


def entries(options: Options) -> list[Entry]:
    """Return one entry a matrix and size; its driver runs all libraries in turn."""
    program = need_driver("sparse_ours")
    names = options.moving.patterns or list(MATRICES)
    for name in names:
        if name not in MATRICES:
            known = ", ".join(MATRICES)
            raise TailraceError(f"--matrices {name}: expected one of {known}", status=2)
    found = []
    for name in names:
        for n in options.sizes or MATRICES[name]:
            words = arguments(matrix=name, n=n, repeats=options.repeats)
            problem = f"{name}, n = {n}, CPU time"
            found.append(Entry("tailrace", problem, True, serial(program, words)))
    return found


def finish(measured: Measured, _options: Options) -> None:
    """Add how many times faster than the reference ours was; refuse wrong results."""
    for row in measured.rows:
        if not (row.get("error") or 0.0) <= TOLERANCE:
            measured.failures[f"{row['entry']} ({row['problem']})"] = (
                f"wrong result: {row['error']} of the terms' sizes"
            )
        if row["ours"] and row.get("ratio"):
            row["gain"] = 1 / row["ratio"]
