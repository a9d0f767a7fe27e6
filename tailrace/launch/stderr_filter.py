# SPDX-License-Identifier: BSD-3-Clause
"""Leaves out what Open MPI's mpirun adds when a program ends with a non-zero status.

The program has said what was wrong; the boxes that mpirun prints below it say only that it ended.
Everything else, mpirun's own errors included, is passed on unchanged and at once.
"""

import re
from collections.abc import Callable, Iterable, Iterator

RULE = re.compile(r"^-{60,}\n?$")
NOISE_BOX = (
    "mpirun detected that one or more processes exited with non-zero status",
    "Primary job  terminated normally, but",
    "MPI_ABORT was invoked on rank",
)
KILLED_BOX = "mpirun noticed that process rank"  # noise where we have sent the signal
NOISE_LINE = re.compile(
    r"^\[[^\]]+\] (?:\d+ more process(?:es)? ha(?:s|ve) sent help message "
    r"help-mpi-api\.txt / mpi-abort|Set MCA parameter \"orte_base_help_aggregate\"|"
    r"\[\[\d+,\d+\],\d+\] ORTE_ERROR_LOG: .* in file \S*/show_help\.c at)"
)


def without_noise(
    lines: Iterable[str], stopped: Callable[[], bool] = lambda: False
) -> Iterator[str]:
    """Yield the lines that say something; a box is held back until its second line.

    `stopped` tells whether the ranks have been sent a signal by us.
    """
    lines = iter(lines)
    for line in lines:
        if NOISE_LINE.match(line):
            continue
        if not RULE.match(line):
            yield line
            continue
        second = next(lines, "")
        is_noise = second.startswith(NOISE_BOX)
        is_noise = is_noise or (stopped() and second.startswith(KILLED_BOX))
        if not is_noise:
            yield from (text for text in (line, second) if text)
        if RULE.match(second):
            continue
        for inner in lines:
            if not is_noise:
                yield inner
            if RULE.match(inner):
                break
