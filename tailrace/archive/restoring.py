# SPDX-License-Identifier: BSD-3-Clause
"""What `restore` is asked for, and its plan: whole members, or parts of variables."""

import datetime
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tailrace.archive.config import Config
from tailrace.archive.copies import Tell
from tailrace.archive.index import Found
from tailrace.archive.opened import Archive, reading
from tailrace.archive.partial import restore_parts
from tailrace.archive.plan import before, expected_mounts, make_plan, newest_of
from tailrace.archive.restore import needed, restore
from tailrace.errors import TailraceError


@dataclass(frozen=True)
class Wanted:
    """The options of `restore`; `path` is absolute."""

    path: str
    to: Path | None
    variables: list[str]
    box: str
    time: str
    as_of: str
    force: bool
    dry_run: bool


def restore_paths(config: Config, wanted: Wanted, output: Any) -> dict[str, Any]:
    """Restore, and return what was done as a row of JSON."""
    done: dict[str, Any]
    with reading(config) as archive, output.working("restore") as tell:
        found = newest_of(
            archive.index.find(wanted.path), before(archive.index, _date(wanted.as_of))
        )
        if wanted.variables or wanted.box or wanted.time:
            done = restore_parts(archive, wanted, found, tell)
        else:
            done = _whole(archive, wanted, found, tell)
    return done


def _whole(archive: Archive, wanted: Wanted, found: Iterator[Found], tell: Tell) -> dict[str, Any]:
    plan = make_plan(found)
    if len(plan.rows) == 0:
        raise TailraceError(f"{wanted.path}: is not in the archive")
    if wanted.dry_run:
        plan = needed(archive, wanted.path, plan, wanted.to, wanted.force)
        bundles = plan.bundles()
        mounts = expected_mounts(archive, bundles)
        return {"bundles": len(bundles), "bytes_read": plan.bytes, "mounts": mounts, "problems": []}
    return asdict(restore(archive, wanted.path, plan, wanted.to, wanted.force, tell))


def _date(text: str) -> float | None:
    """Return the time that a date of ISO 8601 means; of a day its end."""
    if not text:
        return None
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise TailraceError(f"--as-of {text!r}: write 2026-11-28 or 2026-11-28T12:00", 2) from None
    if len(text) <= 10:
        moment += datetime.timedelta(days=1)
    return moment.timestamp()
