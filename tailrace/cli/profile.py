# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace profile``: where an MPI program, unchanged, spends its time."""

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace.cli.json_option import JsonOption, prints_json, put_json, require_json_place
from tailrace.cli.ranks_option import RanksOption
from tailrace.errors import TailraceError
from tailrace.files import require_place, write_whole
from tailrace.launch.interrupts import ended_by_interrupts
from tailrace.profile.job import routine_settings, run_recorded
from tailrace.profile.record import read_records
from tailrace.profile.records import LacksRanksError, records_folder, require_all, why_none
from tailrace.profile.summary import summarize
from tailrace.profile.text import as_text
from tailrace.progress import working


def profile(
    ranks: RanksOption,
    command: Annotated[
        list[str] | None,
        typer.Argument(help="After --: the program and its arguments.", show_default=False),
    ] = None,
    json_to: JsonOption = None,
    routines: Annotated[
        bool,
        typer.Option("--routines", help="Also sample the program's routines (processor time)."),
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the profile as a page of HTML.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FOLDER", help="Keep the records of the ranks in this folder."
        ),
    ] = None,
    read: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Show the records in this folder; run nothing."),
    ] = None,
) -> None:
    """Show where an MPI program spends its time, and which ranks wait.

    Example: tailrace profile -n 4 -- ./app input.txt
    """
    if (read is None) == (not command):
        raise TailraceError(
            "give a program (-- PROGRAM ARGS) or a folder of records (--read FOLDER)", status=2
        )
    files = {"--json": json_to, "--report": report}
    require_json_place(json_to)
    if report is not None:
        require_place(report, "--report")
    if read is not None:
        if _show(read, files) is None:
            raise TailraceError(f"{read}: holds no records (rank-*.json)")
        return
    assert command
    with ExitStack() as stack:
        kept = folder or stack.enter_context(records_folder("profile"))
        status = run_recorded(
            ranks,
            command[0],
            command[1:],
            kept,
            routine_settings() if routines else (),
            output=sys.stderr if prints_json(json_to) else None,
        )
        raise typer.Exit(_after_run(kept, files, command[0], ranks, status))


def _after_run(
    folder: Path, files: dict[str, Path | None], program: str, ranks: int, status: int
) -> int:
    """Show the profile of a run that ended with `status`; return the exit status.

    It is the program's, whatever happens here, but for a profile that lacks ranks although the
    program says that all is well.
    """
    try:
        found = _show(folder, files)
        if found is None:
            print(f"tailrace: {why_none(program, folder)}", file=sys.stderr)
        elif status == 0:
            require_all(len(found["by_rank"]), found["ranks"], ranks, program, folder)
    except LacksRanksError as error:
        print(f"tailrace: {error}", file=sys.stderr)
        return error.status
    except Exception as error:
        kind = "" if isinstance(error, TailraceError) else f"{type(error).__name__}: "
        print(f"tailrace: the profile cannot be created: {kind}{error}", file=sys.stderr)
    return status


def _show(folder: Path, files: dict[str, Path | None]) -> dict[str, Any] | None:
    """Print the profile of the records in a folder, write it, return it; None: no records."""
    records = read_records(folder)
    if not records:
        return None
    found = summarize(records)
    print(as_text(found), end="", file=sys.stderr)
    for option, path in files.items():
        if path is None:
            continue
        try:
            if option == "--report":
                write_whole(path, _page(found, path))
            else:
                put_json(path, json.dumps(found, indent=1))
        except TailraceError as error:  # the program has run: its exit status stays
            print(f"tailrace: {option} {error}", file=sys.stderr)
    return found


def _page(profile: dict[str, Any], path: Path) -> str:
    with ended_by_interrupts():  # matplotlib takes a second to load: only here
        from tailrace.report.profile_page import render_profile  # noqa: PLC0415
    with working("report"):
        return render_profile(profile, path.stem)
