# SPDX-License-Identifier: BSD-3-Clause
"""Every method of the table moving the same data, beside a memcpy of it."""

from tailrace.benchmarks.drivers import arguments, need_driver, parallel
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured

SUMMARY = "the methods that run a plan: pencil transpose, and blocks to file domains"


def entries(options: Options) -> list[Entry]:
    """Return one entry a size and number of ranks; the methods take turns inside the driver."""
    program = need_driver("move_ours")
    found = []
    for n in options.sizes or [256]:
        for ranks in options.ranks or [2, 4]:
            words = arguments(n=n, repeats=options.repeats)
            command = parallel(ranks, program, words)
            found.append(Entry("methods", f"{n}^3, {ranks} ranks", True, command))
    return found


def finish(measured: Measured, _options: Options) -> None:
    """Add bytes a second and the distance to memcpy; a point that arrived wrong is a failure."""
    for row in measured.rows:
        row["gb_per_s"] = row["bytes"] / row["median_s"] / 1e9
        if row["error"]:
            measured.failures[f"{row['entry']} ({row['problem']})"] = (
                f"wrong result: {row['error']:.0f} items arrived wrong"
            )
    for row in measured.rows:
        limit = next(
            r["median_s"]
            for r in measured.rows
            if r["problem"] == row["problem"] and r["entry"].startswith("limit")
        )
        if row["ours"]:
            row["limit_s"] = limit
            row["over_limit"] = row["median_s"] / limit
