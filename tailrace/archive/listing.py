# SPDX-License-Identifier: BSD-3-Clause
"""What `list`, `status` and `stage` show, as rows for people and for JSON."""

import datetime
import stat
from collections.abc import Iterable, Iterator
from typing import Any

from tailrace.archive.copies import Tell, wait_staged
from tailrace.archive.entry import FOLDER, HARD_LINK, SYMLINK
from tailrace.archive.index import SEALED, Bundle, Found
from tailrace.archive.opened import Archive
from tailrace.archive.plan import newest_of, sources_of
from tailrace.archive.where import parse_where
from tailrace.errors import TailraceError

Row = dict[str, Any]


def list_files(
    archive: Archive, paths: list[str], versions: bool, variables: bool
) -> Iterator[Row]:
    """Yield a row for each member at and below paths."""
    bundles: dict[int, Bundle] = {}
    for path in paths:
        found: Iterable[Found] = archive.index.find(path)
        for each in found if versions else newest_of(found, lambda _found: True):
            if each.bundle not in bundles:
                bundles[each.bundle] = archive.index.bundle(each.bundle)
            yield _file_row(archive, each, bundles[each.bundle], variables)


def _file_row(archive: Archive, found: Found, bundle: Bundle, variables: bool) -> Row:
    entry = found.entry
    types = {FOLDER: stat.S_IFDIR, SYMLINK: stat.S_IFLNK}
    moment = datetime.datetime.fromtimestamp(entry.mtime_ns / 1e9).astimezone()
    row: Row = {
        "path": entry.path,
        "mode": stat.filemode(entry.mode | types.get(entry.kind, stat.S_IFREG)),
        "owner": entry.owner or str(entry.uid),
        "group": entry.group or str(entry.gid),
        "size": entry.size,
        "time": moment.strftime("%Y-%m-%d %H:%M"),
        "link": entry.link,
        "copies": len(bundle.verified),
        "targets": bundle.verified,
        "bundle": bundle.key,
        "offset": entry.data,
        entry.algorithm: entry.checksum,
    }
    if entry.kind in (SYMLINK, HARD_LINK):
        row["path"] += f" -> {entry.link}"
    if variables:
        places = archive.index.variables(entry.id)
        row["variables"] = [
            {"name": each.name, "dtype": each.dtype, "shape": each.shape}
            for each in places
            if each.name != "/"
        ]
        form = "{mode} {owner:8} {size:>13} {time} {copies} {bundle} {path}"
        lines = [form.format(**row)]
        lines += [f"    {each['name']} {each['dtype']} {[*each['shape']]}"
                  for each in row["variables"]]  # fmt: skip
        row["text"] = "\n".join(lines)
    return row


def list_runs(archive: Archive, where: str, paths: list[str]) -> Iterator[Row]:
    """Yield a row for each run that fits a condition, with its description; the newest version."""
    condition = parse_where(where)
    newest = {path: (bundle, description) for bundle, path, description in archive.index.runs()}
    for path, (number, description) in sorted(newest.items()):
        inside = not paths or any(path == each or path.startswith(f"{each}/") for each in paths)
        if not inside or not condition(description) or archive.index.newest(path) is None:
            continue
        bundle = archive.index.bundle(number)
        name = description.get("case.name", "")
        copies = "1 copy" if len(bundle.verified) == 1 else f"{len(bundle.verified)} copies"
        text = f"{path}  {name}  {copies}{' in ' if bundle.verified else ''}"
        text += ", ".join(bundle.verified)
        yield {"path": path, "bundle": bundle.key, "targets": bundle.verified,
               "description": description, "text": text}  # fmt: skip


def bundles_of(archive: Archive, paths: list[str]) -> list[Bundle]:
    """Return the bundles that have members at and below paths; all without a path."""
    if not paths:
        return archive.index.bundles("state = ?", (SEALED,))
    numbers = set()
    for path in paths:
        found = {each.bundle for each in archive.index.find(path)}
        if not found:
            raise TailraceError(f"{path}: is not in the archive")
        numbers |= found
    return [archive.index.bundle(number) for number in sorted(numbers)]


def stage_bundles(
    archive: Archive, bundles: list[Bundle], dry_run: bool, wait: bool, tell: Tell
) -> list[Row]:
    """Ask each target once for the recall of the bundles that it keeps first."""
    wanted: dict[str, list[str]] = {}
    for bundle in bundles:
        names = sources_of(bundle, [place.name for place in archive.config.places])
        if not names:
            raise TailraceError(f"{bundle.key}: no copy is left")
        wanted.setdefault(names[0], []).append(bundle.key)
    rows = []
    for name, keys in wanted.items():
        target = archive.target(name)
        away = [key for key, ready in target.is_staged(keys).items() if not ready]
        if away and not dry_run:
            target.stage(away)
            if wait:
                wait_staged(target, away, tell)
        rows.append({"target": name, "bundles": len(keys), "asked": len(away)})
    return rows


def summary(archive: Archive) -> Row:
    """Return the counts that `status` prints."""
    bundles = archive.index.bundles("state = ?", (SEALED,))
    copies: dict[str, dict[str, int]] = {}
    for bundle in bundles:
        for name, state in bundle.states.items():
            states = copies.setdefault(name, {})
            states[state] = states.get(state, 0) + 1
    words = "SELECT COUNT(*) FROM files WHERE removed = 0 AND kind != 'd'"
    return {
        "index": str(archive.index.path),
        "bundles": len(bundles),
        "files": archive.index.run(words).fetchone()[0],
        "bytes": sum(bundle.size for bundle in bundles),
        "runs": sum(1 for _ in archive.index.runs()),
        "copies": copies,
        "single": sum(len(bundle.verified) == 1 for bundle in bundles),
        "unfinished": [bundle.key for bundle in archive.index.bundles("built != ''")],
        "short_of_copies": [
            (bundle.key, len(bundle.verified), bundle.copies)
            for bundle in bundles
            if len(bundle.verified) < bundle.copies
        ],
    }
