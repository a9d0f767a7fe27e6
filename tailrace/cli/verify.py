# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace verify``: compares files with the checksums that they carry."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from tailrace.cli.json_option import JsonOption, prints_json, put_json, require_json_place
from tailrace.errors import TailraceError
from tailrace.launch.captured import Captured, run_captured
from tailrace.launch.launcher import ASKED_RANKS, Launch
from tailrace.launch.stderr_filter import without_noise
from tailrace.profile.job import choose_launcher
from tailrace.programs import find_program
from tailrace.progress import working

Line = dict[str, Any]

#: Exit statuses of ``tailrace verify`` and of ``tailrace-verify``.
DAMAGED, UNREADABLE = 1, 4


def _start(launch: Launch, program: Path, files: list[Path]) -> Captured:
    command = [*launch.prefix, str(program), *map(str, files)]
    with working("verify", len(files)) as tell:
        left = iter(files)
        tell(str(next(left)))

        def follow(line: str) -> None:
            if line.startswith("{") and "dataset" not in json.loads(line):
                tell(str(next(left, "")))

        return run_captured(command, launch.environment, follow)


def verify_files(files: list[Path], ranks: int = 1) -> list[Line]:
    """Return what ``tailrace-verify`` says: a line a dataset, then one of the file, and so on."""
    program = find_program("tailrace-verify")
    alone = Launch("none", [], {ASKED_RANKS: "1"})
    done = _start(alone if ranks == 1 else choose_launcher(ranks, program)[1], program, files)
    known = (0, DAMAGED, UNREADABLE)
    if ranks == 1 and done.status not in known:
        # Some MPI libraries start no program without their launcher.
        done = _start(choose_launcher(1, program)[1], program, files)
    lines: list[Line] = [json.loads(line) for line in done.lines if line.startswith("{")]
    ended = sum("dataset" not in line for line in lines)
    if done.status not in known or ended < len(files):
        noise_free = "".join(without_noise(done.errors.splitlines(keepends=True)))
        words = noise_free.strip() or f"tailrace-verify ended with status {done.status}"
        raise TailraceError(f"{program} failed: {words}")
    return lines


def _size(count: int) -> str:
    value = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def _what_was_done(line: Line) -> str:
    number, size = line["checked"], _size(line["bytes"])
    return {
        "pieces": f"{number} pieces, {size}, match their checksums",
        "boxes": f"{number} boxes, {size}, match their checksums",
        "read": f"{size} can be read; no checksums",
        "structure": f"{size} found; no checksums: structure only",
        "header": f"{size} match their checksum",
    }[line["check"]]


def _damage_text(damage: Line, path: str) -> str:
    text = f"box {damage['box']}"
    if damage["bytes"] > 0:
        text += f", bytes {damage['first_byte']} to {damage['first_byte'] + damage['bytes'] - 1}"
    if damage["file_offset"] >= 0:
        other = "" if damage["file"] == path else f" of {damage['file']}"
        text += f" (file offset {damage['file_offset']}{other})"
    return text


def _show_dataset(console: Console, line: Line) -> None:
    name = escape(line["dataset"])
    count = line["num_damages"]
    if line["problem"]:
        verdict = "[yellow]UNREADABLE[/yellow]" if line["unreadable"] else "[red]DAMAGED[/red]"
        console.print(f"  {verdict} {name}: {escape(line['problem'])}")
    elif count == 0:
        console.print(f"  [green]ok[/green]      {name}: {_what_was_done(line)}")
    if count > 0:
        kind = "boxes" if line["check"] == "boxes" else "pieces"
        console.print(f"  [red]DAMAGED[/red] {name}: {count} of {line['checked']} {kind}")
    for damage in line["damages"]:
        console.print(f"          dataset {name}, {escape(_damage_text(damage, line['path']))}")
    if count > len(line["damages"]):
        console.print(f"          and {count - len(line['damages'])} more")


def _show_file(console: Console, line: Line) -> None:
    path = escape(line["path"])
    if line["problem"]:
        known = line["problem"].startswith(line["path"])
        problem = escape(line["problem"]) if known else f"{path}: {escape(line['problem'])}"
        verdict = "DAMAGED" if line["damaged"] else "UNREADABLE"
        console.print(f"[red]{verdict}[/red] {problem}")
    elif line["damaged"]:
        console.print(f"[red]DAMAGED[/red] {path}")
    elif line["unreadable"]:
        console.print(
            f"[yellow]UNREADABLE[/yellow] {path}: a part of this file could not be checked"
        )
    elif not line["checksums"]:
        console.print(f"[yellow]ok[/yellow] {path}: no checksums: structure only")
    else:
        console.print(f"[green]ok[/green] {path}")


def _require_files(files: list[Path]) -> None:
    for file in files:
        if file.is_dir():
            within = f"{file}/fields" if Path(file, "fields").is_dir() else file
            raise TailraceError(f"{file} is a folder; give files, e.g. {within}/*.h5")
        if not file.exists():
            raise TailraceError(f"{file}: no such file")


def _show(lines: list[Line]) -> None:
    console = Console(soft_wrap=True, highlight=False)
    datasets: list[Line] = []
    for line in lines:
        if "dataset" in line:
            datasets.append(line)
            continue
        _show_file(console, line)
        for dataset in datasets:
            _show_dataset(console, dataset)
        datasets = []


def verify(
    files: Annotated[list[Path], typer.Argument(help="Files to check.", metavar="FILE...")],
    ranks: Annotated[int, typer.Option("-n", "--ranks", help="Number of ranks.")] = 1,
    json_to: JsonOption = None,
) -> None:
    """Compare files with their checksums; report each damaged dataset and box.

    The exit status is 1 if anything is damaged, truncated or missing. It is 4 if nothing is
    damaged, but something could not be checked: a file that is locked, or a dataset whose filter
    is not installed.

    Example: tailrace verify runs/*/fields/*.h5
    """
    require_json_place(json_to)
    _require_files(files)
    lines = verify_files(files, ranks)
    put_json(json_to, "\n".join(map(json.dumps, lines)))
    if not prints_json(json_to):
        _show(lines)
    ends = [line for line in lines if "dataset" not in line]
    if any(line["damaged"] for line in ends):
        raise typer.Exit(DAMAGED)
    if any(line["unreadable"] for line in ends):
        raise typer.Exit(UNREADABLE)
