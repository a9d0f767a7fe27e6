# SPDX-License-Identifier: BSD-3-Clause
"""What stripes suit files, writers and bytes.

The rules are those of the Lustre manual and of sites' guides: many files spread by themselves, one
file needs all targets, and a first target is never named, since that fills one before the others.
"""

from dataclasses import dataclass

from tailrace.striping.layout import size_text

SMALLEST = 1 << 20
LARGEST = 16 << 20
"""A Lustre request has at most 16 MiB; longer stripes gain nothing."""

TARGETS_OF_ONE_WRITER = 4
"""One process keeps about this many targets busy."""


@dataclass(frozen=True)
class Advice:
    """Stripes and why."""

    count: int
    size: int
    reasons: tuple[str, ...]


def _power_of_two_below(number: int) -> int:
    return 1 << (max(number, 1).bit_length() - 1)


def _stripe_size(writers: int, file_bytes: int) -> tuple[int, str]:
    share = file_bytes // writers
    size = min(max(_power_of_two_below(share), SMALLEST), LARGEST)
    if share < SMALLEST:
        why = f"a writer has less than {size_text(SMALLEST)}: the smallest stripe that is useful"
    elif size == LARGEST:
        why = f"a writer has {share / 2**20:.0f} MiB: the largest stripe that is useful"
    else:
        why = f"a writer has {share / 2**20:.1f} MiB: the power of two below"
    return size, f"stripe size {size_text(size)}: {why}"


def _stripe_count(files: int, writers: int, targets: int) -> tuple[int, str]:
    if files > targets:
        return 1, f"{files} files on {targets} targets: each on one target, together on all"
    if files > 1:
        share = targets // files
        return share, f"{files} files on {targets} targets: they share them, {share} each"
    if writers > 1:
        return targets, f"one file written by {writers}: all {targets} targets"
    count = min(targets, TARGETS_OF_ONE_WRITER)
    return count, f"one file, one writer: it keeps about {TARGETS_OF_ONE_WRITER} targets busy"


def advise(files: int, writers: int, file_bytes: int, targets: int) -> Advice:
    """Return the stripes for `files` written at the same time.

    Parameters
    ----------
    files
        Number of files written at the same time.
    writers
        Processes that write to each of them.
    file_bytes
        Size of each of them [bytes].
    targets
        Storage targets of the file system.

    Examples
    --------
    >>> advise(1, 64, 64 << 30, 16).count
    16
    >>> advise(1000, 1, 1 << 20, 16).count
    1
    """
    size, why_size = _stripe_size(writers, file_bytes)
    count, why_count = _stripe_count(files, writers, targets)
    reasons = [why_count]
    stripes = -(-file_bytes // size)
    if stripes < count:
        count = max(stripes, 1)
        reasons.append(f"but a file of {size_text(file_bytes)} has only {count} stripes")
    reasons.append(why_size)
    reasons.append("no first target is set, because it would fill before the others")
    return Advice(count, size, tuple(reasons))
