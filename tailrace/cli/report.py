# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace report``: one self-contained HTML page that shows a run."""

from pathlib import Path
from typing import Annotated

import typer

from tailrace.errors import TailraceError
from tailrace.files import require_writable, write_whole
from tailrace.interrupts import ended_by_interrupts
from tailrace.progress import working


def report(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The page [default: RUN/report.html].")
    ] = None,
) -> None:
    """Make the report of a run: timeline, hidden output, vorticity, spectrum, energy.

    Example: tailrace report runs/taylor_green-20260101-120000
    """
    with ended_by_interrupts():  # matplotlib takes a second to load: only here
        from tailrace.report.page import render  # noqa: PLC0415
        from tailrace.runs import load_run  # noqa: PLC0415

    path = output or run / "report.html"
    try:
        found = load_run(run)
        require_writable(path, "-o")
        with working("report"):
            page = render(found)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # The files are JSON, TOML and CSV, but someone has put other things into them.
        what = f"{type(error).__name__}: {error}"
        raise TailraceError(f"{run}: its files are not as a run leaves them ({what})") from error
    write_whole(path, page)
    typer.echo(f"Report: {path}")
