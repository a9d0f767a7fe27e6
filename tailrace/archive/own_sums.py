# SPDX-License-Identifier: BSD-3-Clause
"""Compares a packed file with the XXH3 checksums that the simulation itself wrote (docs/files.md).

So a file that was damaged before it was archived is reported, and not taken for sound. It needs the
module xxhash, of the extra ``archive``; `tailrace verify` checks files that are not archived.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

TABLE = "tailrace/checksums"


def damaged_variables(path: Path, read: Callable[[int, int], bytes]) -> list[str]:
    """Return the contiguous variables of a file that do not match its own checksums.

    `read` takes an offset in the file and a number of bytes, and returns what was packed.
    """
    try:
        import h5py  # noqa: PLC0415
        import xxhash  # noqa: PLC0415
    except ImportError:
        return []
    found: list[str] = []
    try:
        with h5py.File(path, "r", locking=False) as file:
            if TABLE not in file:
                return []
            table = file[TABLE]
            names = _text(table.attrs["variables"]).splitlines()
            starts = [file[name].id.get_offset() if name in file else None for name in names]
            for number, first, size, expected in table[()].tolist():
                # The last row has another number: it stands for headers and other data.
                if number >= len(names) or starts[number] is None or names[number] in found:
                    continue
                raw = read(starts[number] + first, size)
                if xxhash.xxh3_64_intdigest(raw) != expected:
                    found.append(names[number])
    except (OSError, KeyError, ValueError, RuntimeError):
        return found
    return found


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
