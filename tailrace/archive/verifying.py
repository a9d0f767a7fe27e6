# SPDX-License-Identifier: BSD-3-Clause
"""Reads copies back and compares them, for `verify`."""

from collections.abc import Iterator
from typing import Any

from tailrace.archive.copies import Tell, check_copy
from tailrace.archive.index import MISSING, Bundle
from tailrace.archive.opened import Archive
from tailrace.archive.target import TargetError


def verify_copies(
    archive: Archive, bundles: list[Bundle], only: str, tell: Tell
) -> Iterator[dict[str, Any]]:
    """Yield a row for each copy; the recall of all bundles of a target is asked for at once."""
    names = [place.name for place in archive.config.places if not only or place.name == only]
    if only:
        archive.config.place(only)
    for name in names:
        mine = [bundle for bundle in bundles if name in bundle.states]
        problem = _stage(archive, name, mine)
        for bundle in mine:
            row = {"bundle": bundle.key, "target": name, "bytes": bundle.size}
            try:
                problems = [problem] if problem else check_copy(archive, bundle, name, tell)
            except TargetError as error:
                yield {**row, "state": "unreadable", "problems": [error.reason]}
                continue
            states = archive.index.bundle(bundle.id).states
            state = "unreadable" if problem else states.get(name, MISSING)
            yield {**row, "state": state, "problems": problems}


def _stage(archive: Archive, name: str, bundles: list[Bundle]) -> str:
    try:
        target = archive.target(name)
        ready = target.is_staged([bundle.key for bundle in bundles])
        if away := [key for key, is_ready in ready.items() if not is_ready]:
            target.stage(away)
    except TargetError as error:
        return error.reason
    return ""
