# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace archive``: results on a second tier, in tar bundles with verified copies."""

import shlex
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace.cli.archive_output import Json, Output, Quiet, counted
from tailrace.cli.help_all import CommandsOnly
from tailrace.errors import TailraceError

ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="Configuration [default: TAILRACE_ARCHIVE].")
]
Paths = Annotated[list[Path], typer.Argument(help="Files and folders.", metavar="PATH...")]
SomePaths = Annotated[
    list[Path] | None,
    typer.Argument(help="Files and folders [default: all].", metavar="[PATH...]"),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

archive = typer.Typer(
    cls=CommandsOnly,
    help="Archive results on a second tier; restore all or parts of them.\n\n"
    "Example: tailrace archive add runs/r1 --copies 2",
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_before: ContextVar[Path | None] = ContextVar("config", default=None)


@archive.callback()
def _options(
    config: Annotated[Path | None, typer.Option("--config", hidden=True)] = None,
) -> None:
    _before.set(config)


def _file(given: Path | None) -> Path | None:
    """Return what --config names behind the subcommand, else before it."""
    return given or _before.get()


def _config(given: Path | None) -> Any:
    from tailrace.archive.config import load_config  # noqa: PLC0415

    return load_config(_file(given))


def _absolute(paths: list[Path]) -> list[str]:
    from tailrace.archive.sources import absolute  # noqa: PLC0415

    return [absolute(path) for path in paths]


@archive.command()
def add(
    paths: Paths,
    copies: Annotated[
        int | None, typer.Option(help="Number of copies, on different targets.")
    ] = None,
    move: Annotated[bool, typer.Option("--move", help="Remove verified sources.")] = False,
    compress: Annotated[str, typer.Option(help="zstd or none [default: as configured].")] = "",
    dry_run: DryRun = False,
    config: ConfigFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Archive files and folders.

    A copy counts once it was read back and compared. Files that are already archived are skipped.
    Exit status: 3 if a source could not be archived, 1 if a target failed.

    Example: tailrace archive add runs/r1 --copies 2
    """
    from tailrace.archive.add import Order, add as add_paths, move as move_paths  # noqa: I001, PLC0415
    from tailrace.archive.config import checked_compress  # noqa: PLC0415
    from tailrace.archive.opened import writing  # noqa: PLC0415

    settings, output = _config(config), Output(as_json, quiet)
    try:
        checked_compress(compress)
    except ValueError as error:
        raise TailraceError(f"--{error}", 2) from error
    order = Order(_absolute(paths), copies or settings.copies, dry_run=dry_run, compress=compress)
    with writing(settings) as opened, output.working("archive") as tell:
        done = add_paths(opened, order, tell)
        if move and not dry_run:
            move_paths(opened, order, done, tell, keep=False)
    output.added(done, order.copies, dry_run)
    raise typer.Exit(done.status)


@archive.command("list")
def list_(
    paths: SomePaths = None,
    where: Annotated[str, typer.Option(help="List runs: 'grid.n=512 and re>1000'.")] = "",
    versions: Annotated[bool, typer.Option("--versions", help="Include older versions.")] = False,
    variables: Annotated[bool, typer.Option("--variables", help="Also list variables.")] = False,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """List archived files, or runs that fit a condition.

    Example: tailrace archive list --where 'grid.n = 512 and reynolds > 1000'
    """
    from tailrace.archive.listing import list_files, list_runs  # noqa: PLC0415
    from tailrace.archive.opened import reading  # noqa: PLC0415

    output = Output(as_json)
    with reading(_config(config)) as opened:
        if where:
            rows = list_runs(opened, where, _absolute(paths or []))
        else:
            rows = list_files(opened, _absolute(paths or [Path("/")]), versions, variables)
        found = False
        for row in rows:
            found = True
            output.row(row, "{mode} {owner:8} {size:>13} {time} {copies} {bundle} {path}")
    if not found and (paths or where):
        raise TailraceError("nothing in the archive matches")


@archive.command()
def restore(
    path: Annotated[Path, typer.Argument(help="Path under which it was archived.", metavar="PATH")],
    to: Annotated[Path | None, typer.Option(help="Folder [default: its original place].")] = None,
    variable: Annotated[list[str] | None, typer.Option(help="Only this variable.")] = None,
    box: Annotated[str, typer.Option(help="Part of the variable: z=0:10,y=3:5.")] = "",
    time: Annotated[str, typer.Option(help="Only files with these times: 0.5 or 1:2.")] = "",
    as_of: Annotated[str, typer.Option(help="The versions of this date: 2026-11-28.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace different files.")] = False,
    dry_run: DryRun = False,
    config: ConfigFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Restore files, or a part of them.

    With --variable or --box, only their bytes are read. --dry-run counts bytes and mounts.

    Example: tailrace archive restore runs/r1 --variable u --box z=0:10 --to .
    """
    from tailrace.archive.restoring import Wanted, restore_paths  # noqa: PLC0415

    output = Output(as_json, quiet)
    wanted = Wanted(_absolute([path])[0], to, variable or [], box, time, as_of, force, dry_run)
    done = restore_paths(_config(config), wanted, output)
    output.restored(done, dry_run)
    raise typer.Exit(1 if done["problems"] else 0)


@archive.command()
def verify(
    paths: SomePaths = None,
    target: Annotated[str, typer.Option(help="Only copies on this target.")] = "",
    config: ConfigFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read copies back and compare every byte.

    Reports name the damaged bundle, file and variable (or header).

    Exit status: 1 if anything is damaged or missing, 4 if a target could not be read.

    Example: tailrace archive verify runs/r1
    """
    from tailrace.archive.listing import bundles_of  # noqa: PLC0415
    from tailrace.archive.opened import writing  # noqa: PLC0415
    from tailrace.archive.verifying import verify_copies  # noqa: PLC0415

    output = Output(as_json, quiet)
    with writing(_config(config)) as opened, output.working("verify") as tell:
        bundles = bundles_of(opened, _absolute(paths or []))
        rows = list(verify_copies(opened, bundles, target, tell))
    for row in rows:
        output.verified(row)
    states = {row["state"] for row in rows}
    raise typer.Exit(1 if states & {"damaged", "missing"} else 4 if "unreadable" in states else 0)


@archive.command()
def remove(
    paths: Paths,
    target: Annotated[str, typer.Option(help="Only the copies on this target.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Also remove the last copy.")] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Remove files from the archive.

    Removes all copies (needs --force), or those on one target.

    Example: tailrace archive remove runs/old --force
    """
    from tailrace.archive.opened import writing  # noqa: PLC0415
    from tailrace.archive.remove import remove as remove_paths  # noqa: PLC0415
    from tailrace.archive.remove import remove_copy  # noqa: PLC0415

    output, names = Output(as_json), _absolute(paths)
    if not target and not force and not dry_run:
        raise TailraceError("this removes the last copies; add --force, or give a --target")
    if not yes and not dry_run and not _agreed(names, target):
        raise TailraceError("nothing was removed")
    with writing(_config(config)) as opened:
        if target:
            done = remove_copy(opened, names, target, force, dry_run)
        else:
            done = remove_paths(opened, names, dry_run)
    output.removed(done, dry_run)
    raise typer.Exit(1 if done.problems else 0)


def _agreed(names: list[str], target: str) -> bool:
    if not sys.stdin.isatty():
        raise TailraceError("there is no terminal to ask for confirmation; add --yes", 2)
    return typer.confirm(f"Remove {', '.join(names)} from {target or 'the archive'}?")


@archive.command()
def quota(config: ConfigFile = None, as_json: Json = False) -> None:
    """Print what users, groups and projects use.

    Every copy counts, on each target.

    Example: tailrace archive quota
    """
    from tailrace.archive.opened import reading  # noqa: PLC0415
    from tailrace.archive.quota import rooms, shares  # noqa: PLC0415

    with reading(_config(config)) as opened:
        Output(as_json).quota(rooms(opened), shares(opened))


@archive.command()
def status(config: ConfigFile = None, as_json: Json = False) -> None:
    """Print what is archived, and what lacks copies.

    Exit status: 1 if a bundle has fewer verified copies than requested.

    Example: tailrace archive status
    """
    from tailrace.archive.listing import summary  # noqa: PLC0415
    from tailrace.archive.opened import reading  # noqa: PLC0415

    with reading(_config(config)) as opened:
        row = summary(opened)
    Output(as_json).status(row)
    raise typer.Exit(1 if row["short_of_copies"] else 0)


@archive.command()
def copy(
    paths: Paths,
    copies: Annotated[int, typer.Option(help="Required number of copies.")] = 2,
    target: Annotated[str, typer.Option(help="Target of the new copy.")] = "",
    dry_run: DryRun = False,
    config: ConfigFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a further copy, or replace a damaged one.

    Example: tailrace archive copy runs/r1 --copies 2
    """
    from tailrace.archive.copies import complete, require_copies  # noqa: PLC0415
    from tailrace.archive.listing import bundles_of  # noqa: PLC0415
    from tailrace.archive.opened import writing  # noqa: PLC0415

    output, problems = Output(as_json, quiet), []
    with writing(_config(config)) as opened, output.working("copy") as tell:
        require_copies(opened, copies)
        bundles = bundles_of(opened, _absolute(paths))
        if dry_run:
            output.lacking(bundles, copies)
            return
        for bundle in bundles:
            problems += complete(opened, bundle, copies, target, tell)
            opened.index.want_copies(bundle.id, copies)
    output.copied(len(bundles), copies, problems)
    raise typer.Exit(1 if problems else 0)


@archive.command()
def stage(
    paths: Paths,
    dry_run: DryRun = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until all bundles can be read.")
    ] = False,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Recall bundles in advance, in one batch.

    Example: tailrace archive stage runs/r1
    """
    from tailrace.archive.listing import bundles_of, stage_bundles  # noqa: PLC0415
    from tailrace.archive.opened import reading  # noqa: PLC0415

    output = Output(as_json)
    with reading(_config(config)) as opened, output.working("stage") as tell:
        rows = stage_bundles(opened, bundles_of(opened, _absolute(paths)), dry_run, wait, tell)
    for row in rows:
        bundles = counted(row["bundles"], "bundle")
        output.row(row, f"{{target}}: {bundles}, recall of {{asked}} requested")


@archive.command()
def nightly(
    dry_run: DryRun = False,
    print_timer: Annotated[
        bool, typer.Option("--print-timer", help="Print a systemd timer and a cron line.")
    ] = False,
    config: ConfigFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Move configured folders to the archive.

    For a timer or cron (--print-timer). While one runs, a second one ends at once. The next run
    resumes a killed one.

    Example: tailrace archive nightly --dry-run
    """
    from tailrace.archive.nightly import TIMER, nightly as move_folders  # noqa: I001, PLC0415
    from tailrace.archive.opened import writing  # noqa: PLC0415

    if print_timer:
        file = _file(config)
        named = f" --config {shlex.quote(str(file.absolute()))}" if file else ""
        program = Path(sys.argv[0]).absolute()
        typer.echo(TIMER.format(command=f"{program} archive nightly{named}"), nl=False)
        return
    settings, output = _config(config), Output(as_json, quiet)
    with writing(settings, wait_s=0) as opened, output.working("nightly") as tell:
        done = move_folders(opened, dry_run, tell)
    output.added(done, 0, dry_run)
    raise typer.Exit(done.status)


@archive.command("rebuild-index")
def rebuild_index(config: ConfigFile = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Make the index again from the bundles.

    Copies that were found count once `verify` has read them.

    Example: tailrace archive rebuild-index
    """
    from tailrace.archive.opened import writing  # noqa: PLC0415
    from tailrace.archive.rebuild import rebuild  # noqa: PLC0415

    output = Output(as_json, quiet)
    with writing(_config(config)) as opened, output.working("rebuild-index") as tell:
        done = rebuild(opened, tell)
    output.rebuilt(done)
    raise typer.Exit(1 if done.problems else 0)
