# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace report``: one self-contained HTML page that shows a run or a profile."""

from pathlib import Path
from typing import Annotated

import typer

from tailrace.errors import TailraceError
from tailrace.files import require_place, require_writable, write_whole
from tailrace.launch.interrupts import ended_by_interrupts
from tailrace.profile.load import has_records, load_profile
from tailrace.profile.record import read_records
from tailrace.profile.trace import Window, chrome_trace, whole_run
from tailrace.progress import working


def report(
    run: Annotated[
        Path, typer.Argument(help="Run folder, or profile (folder of records or JSON file).")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Page [default: RUN/report.html, or FILE.html for FILE.json]."
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a Chrome trace of the records instead."),
    ] = None,
    from_s: Annotated[
        float | None, typer.Option("--from", metavar="S", help="Start of the trace.")
    ] = None,
    to_s: Annotated[
        float | None, typer.Option("--to", metavar="S", help="End of the trace.")
    ] = None,
) -> None:
    """Make the report of a run or of a profile: one page with pictures.

    Example: tailrace report runs/taylor_green-20260101-120000
    """
    if trace is not None:
        write_trace(run, trace, from_s, to_s)
        typer.echo(f"Trace: {trace} (for ui.perfetto.dev or chrome://tracing)")
        if output is None:
            return
    elif from_s is not None or to_s is not None:
        raise TailraceError("--from and --to need --trace FILE", status=2)
    if not run.exists():
        from tailrace.archive.lookup import where_is  # noqa: PLC0415

        if archived := where_is(run):
            raise TailraceError(f"{run}: no such run folder; {archived}", status=2)
    is_profile = run.is_file() or (run.is_dir() and has_records(run))
    path = output or (run.with_suffix(".html") if run.is_file() else run / "report.html")
    if is_profile and path == run:
        raise TailraceError(f"{run} is a page, not a profile", status=2)
    page = profile_page(run, path) if is_profile else run_page(run, path)
    write_whole(path, page)
    typer.echo(f"Report: {path}")


def run_page(run: Path, path: Path) -> str:
    """Return the page of a run folder, which is to become the file `path`."""
    with ended_by_interrupts():  # matplotlib takes a second to load: only here
        from tailrace.report import page  # noqa: PLC0415

    return page.run_page(run, path)


def write_trace(records: Path, path: Path, from_s: float | None, to_s: float | None) -> None:
    """Write the trace of a folder of records, whole or from `from_s` to `to_s`."""
    if not (records.is_dir() and has_records(records)):
        raise TailraceError(
            f"{records}: --trace needs the records of the ranks, the folder of tailrace profile -o "
            "(a run folder has its trace.json)",
            status=2,
        )
    require_place(path, "--trace")
    with working("trace"):
        found = read_records(records)
        whole = whole_run(found)
        window = Window(
            whole.from_s if from_s is None else from_s, whole.to_s if to_s is None else to_s
        )
        if not window.from_s < window.to_s:
            raise TailraceError(
                f"--from {window.from_s:g} --to {window.to_s:g}: the end is before the start "
                f"(the run took {whole.to_s:.4g} s)",
                status=2,
            )
        write_whole(path, "".join(chrome_trace(found, window)))


def profile_page(profile: Path, path: Path) -> str:
    """Return the page of a profile, which is to become the file `path`."""
    with ended_by_interrupts():
        from tailrace.report.profile_page import render_profile  # noqa: PLC0415

    require_writable(path, "-o")
    with working("report"):
        return render_profile(load_profile(profile), profile.stem)
