# SPDX-License-Identifier: BSD-3-Clause
"""What the subcommands of ``tailrace archive`` print: lines for people, or JSON."""

import contextlib
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from tailrace.progress import working

Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print problems only.")]
MOST_PROBLEMS = 20


def size_text(count: float) -> str:
    """Return a size in decimal units.

    >>> size_text(512), size_text(134217728)
    ('512 B', '134 MB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1000
    return ""


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "copy"), counted(2, "file")
    ('1 copy', '2 files')
    """
    if count != 1:
        noun = f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun}"


def _complain(lines: list[str]) -> None:
    for line in lines[:MOST_PROBLEMS]:
        print(f"tailrace: {line}", file=sys.stderr)
    if len(lines) > MOST_PROBLEMS:
        print(f"tailrace: and {len(lines) - MOST_PROBLEMS} more", file=sys.stderr)


class Output:
    """Prints results on standard output, problems on standard error."""

    def __init__(self, as_json: bool, quiet: bool = False) -> None:
        self._json, self._quiet = as_json, quiet

    @contextlib.contextmanager
    def working(self, title: str) -> Iterator[Callable[[str], None]]:
        """Show a bar while something is done."""
        if self._quiet or self._json:
            yield lambda _line: None
            return
        with working(title) as tell:
            yield tell

    def row(self, row: dict[str, Any], form: str) -> None:
        """Print one object."""
        if self._json:
            typer.echo(json.dumps(row))
        elif not self._quiet:
            typer.echo(row["text"] if "text" in row else form.format(**row))

    def _result(self, row: dict[str, Any], text: str, problems: list[str]) -> None:
        _complain(problems)
        self.row({**row, "text": text} if not self._json else row, "")

    def added(self, done: Any, copies: int, dry_run: bool) -> None:
        """Print what `add` or `nightly` did."""
        if dry_run:
            text = f"would archive {counted(done.files, 'file')}, {size_text(done.bytes)}"
        else:
            text = f"archived {counted(done.files, 'file')}, {size_text(done.bytes)}"
            text += f" in {counted(len(done.bundles), 'bundle')}"
        text += f"; archived already: {counted(done.known, 'file')}" if done.known else ""
        text += f"; removed {counted(done.removed, 'source')}" if done.removed else ""
        if copies == 1 and not dry_run:
            text += "\nOnly one copy exists: add a second one with `tailrace archive copy`"
        left = [f"{path}: {reason}; not archived" for path, reason in done.left_out]
        left += [
            f"{path}: {name} does not match the checksums in the file; archived unchanged"
            for path, name in done.damaged
        ]
        self._result(dataclasses.asdict(done), text, left + done.problems)

    def restored(self, done: dict[str, Any], dry_run: bool) -> None:
        """Print what `restore` did, or would do."""
        part = f"{size_text(done['bytes_read'])} of {counted(done['bundles'], 'bundle')}"
        if dry_run:
            text = f"would read {part}; mounts expected: {done['mounts']}"
        else:
            text = f"restored {counted(done['files'], 'file')}, {size_text(done['bytes'])}"
            text += f"; read {part}"
            text += f"; present already: {counted(done['kept'], 'file')}" if done["kept"] else ""
        self._result(done, text, done["problems"])

    def verified(self, row: dict[str, Any]) -> None:
        """Print the state of one copy."""
        text = f"{row['state']:10} {row['bundle']} on {row['target']}"
        if row["state"] == "verified":
            text += f": {size_text(row['bytes'])} read back and compared"
        self._result(row, text, [f"{row['bundle']} on {row['target']}: {each}"
                                 for each in row["problems"]])  # fmt: skip

    def removed(self, done: Any, dry_run: bool) -> None:
        """Print what `remove` did."""
        verb = "would remove" if dry_run else "removed"
        bundles = counted(len(done.bundles), "bundle")
        text = f"{verb} {counted(done.files, 'file')}; deleted {bundles},"
        self._result(dataclasses.asdict(done), f"{text} {size_text(done.bytes)}", done.problems)

    def lacking(self, bundles: list[Any], copies: int) -> None:
        """Print which copies `copy` would make."""
        missing = [(max(0, copies - len(bundle.verified)), bundle.size) for bundle in bundles]
        row = {
            "bundles": len(bundles),
            "copies": sum(count for count, _ in missing),
            "bytes": sum(count * size for count, size in missing),
        }
        made = f"{counted(row['copies'], 'copy')}, {size_text(row['bytes'])}"
        self._result(row, f"{counted(len(bundles), 'bundle')}; would make {made}", [])

    def copied(self, bundles: int, copies: int, problems: list[str]) -> None:
        """Print what `copy` did."""
        row = {"bundles": bundles, "copies": copies, "problems": problems}
        text = f"{counted(bundles, 'bundle')}, {counted(copies, 'copy')} asked for"
        self._result(row, text, problems)

    def rebuilt(self, done: Any) -> None:
        """Print what `rebuild-index` found."""
        text = f"added {done.bundles} bundles with {done.members} members, {done.copies} copies"
        text += (
            "\nCopies are not counted until `tailrace archive verify` has read them"
            if done.copies
            else ""
        )
        self._result(dataclasses.asdict(done), text, done.problems)

    def quota(self, rooms: list[Any], shares: list[Any]) -> None:
        """Print used and free space, then a line per user, group and project."""
        if self._json:
            for each in rooms:
                typer.echo(json.dumps({"target_total": True, **dataclasses.asdict(each)}))
            for each in shares:
                typer.echo(json.dumps(dataclasses.asdict(each)))
            return
        typer.echo(f"{'target':12} {'bundles':>8} {'used':>10} {'free':>10}")
        for each in rooms:
            free = "unknown" if each.free is None else size_text(each.free)
            typer.echo(f"{each.target:12} {each.bundles:8} {size_text(each.used):>10} {free:>10}")
        _complain([each.problem for each in rooms if each.problem])
        typer.echo(f"\n{'target':12} {'kind':8} {'name':16} {'files':>9} {'used':>10}")
        for each in shares:
            typer.echo(
                f"{each.target:12} {each.kind:8} {each.name:16} {each.files:9}"
                f" {size_text(each.bytes):>10}"
            )

    def status(self, row: dict[str, Any]) -> None:
        """Print the summary of the archive."""
        text = (
            f"{counted(row['bundles'], 'bundle')}, {counted(row['files'], 'file')},"
            f" {size_text(row['bytes'])};"
            f" {counted(row['runs'], 'run')}\nindex {row['index']}"
        )
        for name, states in row["copies"].items():
            counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
            text += f"\n{name}: {counts}"
        if row["single"]:
            text += f"\nonly one verified copy: {counted(row['single'], 'bundle')}"
        lines = [f"{key}: {have} of {want} copies" for key, have, want in row["short_of_copies"]]
        self._result(row, text, lines)
