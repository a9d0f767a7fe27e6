# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace profile``: where an MPI program, unchanged, spends its time."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace.cli.ranks_option import RanksOption
from tailrace.errors import TailraceError
from tailrace.files import require_place, write_whole
from tailrace.interrupts import ended_by_interrupts
from tailrace.profile.job import run_recorded
from tailrace.profile.record import read_records
from tailrace.profile.summary import summarize
from tailrace.profile.text import as_text
from tailrace.progress import working


def profile(
    ranks: RanksOption,
    command: Annotated[
        list[str] | None, typer.Argument(help="-- PROGRAM ARGS", show_default=False)
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the profile as JSON.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the profile as a page of HTML.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FOLDER", help="Keep the ranks' records here."),
    ] = None,
    read: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Run nothing: show the records of this folder."),
    ] = None,
) -> None:
    """Say where any MPI program spends its time, and who waits for whom.

    Example: tailrace profile -n 4 -- ./app input.txt
    """
    if (read is None) == (not command):
        raise TailraceError("name a program (-- PROGRAM ARGS) or records (--read FOLDER)", status=2)
    files = {"--json": json_file, "--report": report}
    for option, path in files.items():
        if path is not None:
            require_place(path, option)
    if read is not None:
        if not _show(read, files):
            raise TailraceError(f"{read}: holds no records (rank-*.json)")
        return
    assert command
    with tempfile.TemporaryDirectory(prefix="tailrace-profile-") as temporary:
        kept = folder or Path(temporary)
        status = run_recorded(ranks, command[0], command[1:], kept)
        ranks_of_job = _show(kept, files)
        if _ran_alone(ranks_of_job, ranks):
            status = status or 1
        if ranks_of_job == 0:
            print(
                f"tailrace: program {command[0]}: no record: it did not call MPI_Init of the MPI "
                "library that its launcher starts (no MPI program, another MPI, or one that is "
                "linked statically), or could not write it",
                file=sys.stderr,
            )
    raise typer.Exit(status)  # the program's own


def _ran_alone(ranks_of_job: int, ranks: int) -> bool:
    """Tell, with a line, whether MPI had one rank in place of those that were asked for."""
    if ranks == 1 or ranks_of_job != 1:
        return False
    print(
        f"tailrace: {ranks} ranks were asked for, and each program had 1: the launcher does not "
        "belong to the MPI library that the program is linked with (ldd PROGRAM)",
        file=sys.stderr,
    )
    return True


def _show(folder: Path, files: dict[str, Path | None]) -> int:
    """Print the profile of the records in a folder, write it; return the job's number of ranks.

    0: there are no records.
    """
    records = read_records(folder)
    if not records:
        return 0
    found = summarize(records)
    print(as_text(found), end="", file=sys.stderr)
    for option, path in files.items():
        if path is None:
            continue
        try:
            write_whole(path, _page(found, path) if option == "--report" else _json(found))
        except TailraceError as error:  # the program has run: its exit status stays
            print(f"tailrace: {option} {error}", file=sys.stderr)
    return int(found["ranks"])


def _json(profile: dict[str, Any]) -> str:
    return json.dumps(profile, indent=1) + "\n"


def _page(profile: dict[str, Any], path: Path) -> str:
    with ended_by_interrupts():  # matplotlib takes a second to load: only here
        from tailrace.report.profile_page import render_profile  # noqa: PLC0415
    with working("report"):
        return render_profile(profile, path.stem)
