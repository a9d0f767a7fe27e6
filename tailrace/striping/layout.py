# SPDX-License-Identifier: BSD-3-Clause
"""Layouts as both file systems have them, and sizes as people write them."""

import re
from dataclasses import dataclass, field

from tailrace.errors import TailraceError

ALL_TARGETS = -1
"""A stripe count: as many as there are."""

SMALLEST_STRIPE = 64 << 10
"""In bytes; stripes of Lustre and of CephFS are multiples of it."""


@dataclass(frozen=True)
class Component:
    """A part of a Lustre file with a layout of its own (progressive layouts, mirrors)."""

    start: int
    end: int | None  # None: to the end of the file
    stripe_count: int
    stripe_bytes: int
    targets: tuple[int, ...] = ()
    pool: str = ""


@dataclass(frozen=True)
class Layout:
    """How a file, or new files of a folder, are striped."""

    path: str
    file_system: str
    is_folder: bool
    components: tuple[Component, ...] = ()
    source: str = ""
    """Where the layout comes from, if not from the path itself."""
    extra: dict[str, str] = field(default_factory=dict)


def parse_size(text: str, option: str) -> int:
    """Return "1M", "1MiB" or "1048576" in bytes.

    Examples
    --------
    >>> parse_size("64K", "--size")
    65536
    """
    found = re.fullmatch(r"(\d+)(?:([kmgt])(?:ib)?)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise TailraceError(
            f"{option} {text}: expected bytes such as 1048576, 1M or 1MiB", status=2
        )
    unit = "kmgt".index(found[2].lower()) + 1 if found[2] else 0
    return int(found[1]) << (10 * unit)


def size_text(size: int) -> str:
    """Return a size in the largest binary unit that it is a whole number of.

    Examples
    --------
    >>> size_text(4 << 20), size_text(10_000)
    ('4 MiB', '10000 bytes')
    """
    for unit, name in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size > 0 and size % (1 << unit) == 0:
            return f"{size >> unit} {name}"
    return f"{size} bytes"


def short_size(size: int) -> str:
    """Return a size as hints and `lfs` take it: 4M."""
    return size_text(size).replace("iB", "").replace(" bytes", "").replace(" ", "")
