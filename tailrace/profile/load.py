# SPDX-License-Identifier: BSD-3-Clause
"""Reads a profile: the records of the ranks, or the file that ``--json`` wrote."""

import json
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.profile.record import read_records
from tailrace.profile.schema import first_fault
from tailrace.profile.summary import summarize


def has_records(folder: Path) -> bool:
    """Tell whether a folder holds records of ranks."""
    return next(folder.glob("rank-*.json"), None) is not None


def load_profile(path: Path) -> dict[str, Any]:
    """Return the profile of a folder of records (``-o``) or of a JSON file (``--json``).

    Raises TailraceError, which names the file and what is wrong in it.
    """
    if path.is_dir():
        if not has_records(path):
            raise TailraceError(f"{path}: holds no records (rank-*.json)", status=2)
        return summarize(read_records(path))
    try:
        profile = json.loads(path.read_text())
    except OSError as error:
        raise TailraceError(f"{path}: {error.strerror}", status=2) from error
    except ValueError as error:
        raise TailraceError(f"{path}: is no JSON ({error})", status=2) from error
    fault = first_fault(profile)
    if not fault and not profile["by_rank"]:
        fault = "by_rank: is empty"
    if not fault and any(
        cell[end] >= profile["ranks"] for cell in profile["matrix"] for end in ("from", "to")
    ):
        fault = "matrix: a rank beyond ranks"
    if fault:
        raise TailraceError(
            f"{path}: not a profile as tailrace profile --json writes it: {fault}", status=2
        )
    found: dict[str, Any] = profile
    return found
