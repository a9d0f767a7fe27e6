# SPDX-License-Identifier: BSD-3-Clause
"""Says where an archived folder is, for commands that miss it."""

import os
from pathlib import Path

from tailrace.archive.sources import absolute
from tailrace.errors import TailraceError


def where_is(path: Path) -> str:
    """Return a sentence with the copies of a path; empty if the path is not archived."""
    from tailrace.archive.config import load_config  # noqa: PLC0415
    from tailrace.archive.opened import reading  # noqa: PLC0415

    try:
        with reading(load_config()) as archive:
            found = archive.index.newest(absolute(path))
            if found is None:
                return ""
            bundle = archive.index.bundle(found.bundle)
    except (TailraceError, OSError):
        return ""
    noun = "copy" if len(bundle.verified) == 1 else "copies"
    copies = f"{len(bundle.verified)} verified {noun} ({', '.join(bundle.verified) or 'none'})"
    return (
        f"it is archived in {bundle.key}, {copies};"
        f" restore it with: tailrace archive restore {os.fspath(path)}"
    )
