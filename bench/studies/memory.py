# SPDX-License-Identifier: BSD-3-Clause
"""Memory of a run of the turbulence program, in bytes and in physical fields."""

from bench.studies import turbulence_run
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured

SUMMARY = "memory of a turbulence run: its arrays, and what the system counts"
AXES = 3
SCHEMES = ("rk4", "rk2")


def entries(options: Options) -> list[Entry]:
    """Return one run a scheme, size and number of ranks."""
    found = []
    for n in options.sizes or [64, 128]:
        for ranks in options.ranks or [1, 2]:
            for scheme in SCHEMES:
                problem = f"Taylor-Green {n}^3 {options.precision}, {ranks} rank"
                problem += "s" if ranks > 1 else ""
                command = turbulence_run.command(
                    n, ranks, options.precision, options.threads, f"time.scheme={scheme}"
                )
                found.append(Entry(f"tailrace {scheme}", problem, True, command, scheme == "rk4"))
    return found


def finish(measured: Measured, options: Options) -> None:
    """Add the number of physical fields of a rank that its arrays amount to."""
    item = 8 if options.precision == "double" else 4
    for row in measured.rows:
        n = int(row["problem"].split("Taylor-Green ")[1].split("^")[0])
        ranks = int(row["problem"].split(", ")[1].split()[0])
        row["arrays"] = row["memory_bytes"] / (item * n**3 / ranks)
