# SPDX-License-Identifier: BSD-3-Clause
"""What every subcommand of ``tailrace bench`` does with its options."""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from tailrace.benchmarks import load
from tailrace.benchmarks.options import Options
from tailrace.cli.json_option import prints_json, require_json_place
from tailrace.errors import TailraceError
from tailrace.files import require_folder, require_picture, require_place


def _require_memory(axes: int, options: Options) -> None:
    """Refuse --points whose arrays fit on no node, even if each rank had one by itself."""
    ranks = max(options.ranks, default=1)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for n in options.sizes:
        share = 8.0 * float(n) ** axes / ranks
        if share > memory:
            raise TailraceError(
                f"--points {n}: an array takes {share / 2**30:.3g} GiB per rank, and this machine "
                f"has {memory / 2**30:.3g} GiB; give a smaller number",
                status=2,
            )


def measure_bench(
    name: str, options: Options, json: Path | None, picture: Path | None = None
) -> None:
    """Run a benchmark; print its table, or write its figures, or draw them."""
    if picture is not None:
        require_picture(picture)
        require_place(picture, "--picture")
    require_json_place(json)
    module = load(name)
    axes = module.num_axes(options) if hasattr(module, "num_axes") else getattr(module, "AXES", 0)
    _require_memory(axes, options)
    for folder in options.io.folders:
        require_folder(folder, "--folder")
    if getattr(module, "WRITES", False):
        require_folder(options.folder, "--folder")
    from tailrace.benchmarks.bus_load import occupied_bus  # noqa: PLC0415
    from tailrace.benchmarks.report import figures, show, write  # noqa: PLC0415
    from tailrace.benchmarks.rounds import measure, run_once  # noqa: PLC0415
    from tailrace.cli.console import make_console  # noqa: PLC0415
    from tailrace.progress import working  # noqa: PLC0415

    try:
        options.cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TailraceError(
            f"{options.cache}: {error.strerror}; run it in a folder that you may write to"
        ) from error
    rounds = 1 if options.io.count else options.rounds
    run: Callable[..., Any] = module.runner(options) if hasattr(module, "runner") else run_once
    entries = module.entries(options)
    with (
        occupied_bus(options.bus) as bus,
        working(f"bench {name}", rounds * len(entries)) as tell,
    ):
        measured = measure(entries, rounds, tell, run)
    module.finish(measured, options)
    settings = {key: str(value) for key, value in dataclasses.asdict(options).items()}
    if bus is not None:
        settings["bus_reached"] = str(bus.bytes_per_s)
    console = make_console()
    if prints_json(json):
        typer.echo(figures(name, measured, settings), nl=False)
    else:
        getattr(module, "show", show)(console, measured)
        if bus is not None:
            console.print(
                f"processor {bus.cpu} moved {bus.bytes_per_s / 1e9:.1f} GB/s during the measurement"
            )
    if picture is not None:
        module.draw(picture, measured)
        typer.echo(f"picture in {picture}", err=prints_json(json))
    if json is not None and not prints_json(json):
        write(json, name, measured, settings)
        console.print(f"figures in {json}")
    marks = ("wrong result", "ours failed")
    if any(mark in reason for mark in marks for reason in measured.failures.values()):
        raise typer.Exit(1)
