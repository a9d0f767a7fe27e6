# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace report``: one self-contained HTML page that shows a run or a profile."""

from pathlib import Path
from typing import Annotated

import typer

from tailrace.errors import TailraceError
from tailrace.files import require_writable, write_whole
from tailrace.interrupts import ended_by_interrupts
from tailrace.profile.load import has_records, load_profile
from tailrace.progress import working


def report(
    run: Annotated[
        Path, typer.Argument(help="Run folder; or a profile: folder of records, or its JSON.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The page [default: RUN/report.html, JSON's .html]."),
    ] = None,
) -> None:
    """Make the report of a run or of a profile: one page with pictures.

    Example: tailrace report runs/taylor_green-20260101-120000
    """
    is_profile = run.is_file() or (run.is_dir() and has_records(run))
    path = output or (run.with_suffix(".html") if run.is_file() else run / "report.html")
    if is_profile and path == run:
        raise TailraceError(f"{run}: is a page, not a profile", status=2)
    page = profile_page(run, path) if is_profile else run_page(run, path)
    write_whole(path, page)
    typer.echo(f"Report: {path}")


def run_page(run: Path, path: Path) -> str:
    """Return the page of a run folder, which is to become the file `path`."""
    with ended_by_interrupts():  # matplotlib takes a second to load: only here
        from tailrace.report.page import render  # noqa: PLC0415
        from tailrace.runs import load_run  # noqa: PLC0415

    try:
        found = load_run(run)
        require_writable(path, "-o")
        with working("report"):
            return render(found)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # The files are JSON, TOML and CSV, but someone has put other things into them.
        what = f"{type(error).__name__}: {error}"
        raise TailraceError(f"{run}: its files are not as a run leaves them ({what})") from error


def profile_page(profile: Path, path: Path) -> str:
    """Return the page of a profile, which is to become the file `path`."""
    with ended_by_interrupts():
        from tailrace.report.profile_page import render_profile  # noqa: PLC0415

    require_writable(path, "-o")
    with working("report"):
        return render_profile(load_profile(profile), profile.stem)
