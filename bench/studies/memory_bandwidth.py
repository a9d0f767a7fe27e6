# SPDX-License-Identifier: BSD-3-Clause
"""Bytes a second to and from memory: the limit that other benches quote."""

from bench.studies.drivers import need_driver
from tailrace.benchmarks.drivers import arguments, parallel
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured

SUMMARY = "memcpy, scale and triad over arrays larger than the caches, on all ranks at once"
MEBIBYTES = 512  # an array, over all ranks


def entries(options: Options) -> list[Entry]:
    """Return one entry a number of ranks."""
    program = need_driver("memory_bandwidth")
    found = []
    for ranks in options.ranks or [1, 2]:
        problem = f"arrays of {MEBIBYTES} MiB, {ranks} rank{'s' if ranks > 1 else ''}"
        words = arguments(mib=MEBIBYTES, repeats=options.repeats)
        found.append(Entry("loops", problem, False, parallel(ranks, program, words)))
    return found


def finish(measured: Measured, _options: Options) -> None:
    """Add bytes a second (not counting reads of lines that are only written)."""
    for row in measured.rows:
        row["gb_per_s"] = row["bytes"] / row["median_s"] / 1e9
