# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace bench``: ours beside others, measured in the same run."""

import dataclasses
import difflib
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from tailrace.benchmarks import BENCHES, load
from tailrace.benchmarks.options import (
    FULL_SIZES,
    IoOptions,
    MovingOptions,
    Options,
    ServersOptions,
)
from tailrace.benchmarks.report import make_console, show, write
from tailrace.benchmarks.rounds import Measured, measure, run_once
from tailrace.errors import TailraceError
from tailrace.files import require_picture


def _numbers(text: str, option: str) -> list[int]:
    words = [word for word in text.replace(",", " ").split() if word]
    if not all(word.isdigit() and int(word) > 0 for word in words):
        raise TailraceError(f"{option} {text}: expected positive integers, as in 1,2,4", status=2)
    return [int(word) for word in words]


def _byte_counts(text: str, option: str) -> list[int]:
    """Read sizes such as 8,4k,1M: powers of 1024."""
    units = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    sizes = []
    for word in _words(text):
        digits = word.rstrip("kMG")
        unit = units.get(word[len(digits) :])
        if not digits.isdigit() or int(digits) == 0 or unit is None:
            raise TailraceError(f"{option} {text}: expected sizes, as in 8,4k,1M", status=2)
        sizes.append(int(digits) * unit)
    return sizes


def _check_name(name: str) -> None:
    if name in BENCHES:
        return
    near = difflib.get_close_matches(name, BENCHES, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise TailraceError(f"no bench {name}{hint} (there are: {', '.join(BENCHES)})", status=2)


def _words(text: str, separator: str = ",") -> list[str]:
    return [word.strip() for word in text.split(separator) if word.strip()]


def _draw(module: ModuleType, path: Path, measured: Measured) -> None:
    if not hasattr(module, "draw"):
        raise TailraceError("--picture: this bench draws none", status=2)
    module.draw(path, measured)


def bench(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(BENCHES)}.")],
    json: Annotated[Path | None, typer.Option(help="Write the figures to this file.")] = None,
    n: Annotated[str, typer.Option("--n", help="Points along an edge, as in 128,256.")] = "",
    ranks: Annotated[str, typer.Option(help="Numbers of ranks, as in 1,2.")] = "",
    rounds: Annotated[int, typer.Option(min=1, help="Rounds; every entry runs once in each.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="Timed runs within one process.")] = 5,
    precision: Annotated[str, typer.Option(help="double or single (ours only).")] = "double",
    kernel: Annotated[str, typer.Option(help="1D kernels of ours, as in auto,fftw,ducc0.")] = "",
    method: Annotated[
        str,
        typer.Option(
            help="Exchange method of ours; exchange, allreduce: methods to time besides those of "
            "the table, as in 'pull:chunk=4k;pull:chunk=512' (divided by ;)."
        ),
    ] = "auto",
    threads: Annotated[int, typer.Option(min=1, help="OpenMP threads of a rank of ours.")] = 1,
    peers: Annotated[bool, typer.Option(help="Run other libraries too.")] = True,
    folder: Annotated[Path, typer.Option(help="output, servers: where files go.")] = Path(
        "bench-output"
    ),
    throttle: Annotated[
        str, typer.Option(help="output, servers: slow a disk to so many bytes/s (needs root).")
    ] = "",
    steps: Annotated[int, typer.Option(min=1, help="output, servers: steps of a run.")] = 4,
    compute_s: Annotated[
        float, typer.Option(min=0, help="output, servers: compute of a step [s].")
    ] = 0.7,
    compute: Annotated[
        str, typer.Option(help="output, servers: work (keeps cores busy) or sleep.")
    ] = "work",
    fluidsim_python: Annotated[
        str, typer.Option(help="step: a Python that has fluidsim, to compare with.")
    ] = "",
    dirs: Annotated[
        list[Path] | None, typer.Option("--dir", help="io: a folder for files; may be repeated.")
    ] = None,
    patterns: Annotated[
        str,
        typer.Option(
            help="io: segmented, strided, contiguous, blocks3d[:slabs...], triangle; exchange: "
            "uniform, fat, zipf, pencils, kept, slabs; allreduce: allreduce, reduce, barrier, "
            "many; scale: torus, dragonfly, fat_tree, slab, pull."
        ),
    ] = "",
    sizes: Annotated[
        str,
        typer.Option(
            help="exchange, scale: bytes a pair, allreduce: bytes, as in 8,4k,1M; full: 8 to 64M."
        ),
    ] = "",
    nodes: Annotated[
        int,
        typer.Option(min=1, help="exchange, allreduce: so many nodes, made up on this machine."),
    ] = 1,
    block: Annotated[str, typer.Option(help="io: bytes of a block, as in 10000,1000000.")] = "",
    transfer: Annotated[
        int, typer.Option(min=0, help="io: bytes of a call where each piece is a call.")
    ] = 0,
    total: Annotated[
        int, typer.Option("--bytes", min=0, help="io: bytes of a file, about (0 = 20 MB).")
    ] = 0,
    ways: Annotated[
        str,
        typer.Option(help="Only ways with such words in their names (divided by ;; io: by ,)."),
    ] = "",
    hints: Annotated[str, typer.Option(help="io: hints of ours, name=value:name=value.")] = "",
    wrapper: Annotated[str, typer.Option(help="io: a command put before the driver.")] = "",
    read: Annotated[bool, typer.Option(help="io: measure reading too.")] = False,
    count: Annotated[
        bool, typer.Option(help="io: count system calls with strace in place of measuring.")
    ] = False,
    servers: Annotated[int, typer.Option(min=1, help="servers: ranks that serve.")] = 1,
    shapes: Annotated[str, typer.Option(help="servers: slab, pencil or both.")] = "",
    every: Annotated[int, typer.Option(min=1, help="servers: steps between outputs.")] = 1,
    calls: Annotated[int, typer.Option(min=1, help="servers: calls of progress in a step.")] = 4,
    halo: Annotated[
        int, typer.Option(min=0, help="servers: doubles sent to neighbours at each such call.")
    ] = 0,
    fractions: Annotated[
        str,
        typer.Option(help="servers: disks of 1/2, 1/4, ... of the synchronous speed, as in 2,4,8."),
    ] = "",
    competitor: Annotated[
        bool, typer.Option(help="servers: again beside another writer on the same disk.")
    ] = False,
    idle_s: Annotated[
        float, typer.Option(min=0, help="servers: watch idle servers for so long [s].")
    ] = 1,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the figures (.png, .svg), where the bench can.")
    ] = None,
) -> None:
    """Measure ours beside others in interleaved rounds: medians, spread, ratios of pairs."""
    _check_name(name)
    if precision not in ("double", "single") or compute not in ("work", "sleep"):
        raise TailraceError("--precision is double or single, --compute is work or sleep", status=2)
    if picture is not None:
        require_picture(picture)
    if json is not None and json.is_dir():
        raise TailraceError(f"--json {json}: is a folder; name a file", status=2)
    options = Options(
        sizes=_numbers(n, "--n"),
        ranks=_numbers(ranks, "--ranks"),
        rounds=rounds,
        repeats=repeats,
        precision=precision,
        kernels=kernel.replace(",", " ").split(),
        method=method,
        threads=threads,
        peers=peers,
        folder=folder,
        throttle=throttle,
        steps=steps,
        compute_s=compute_s,
        compute=compute,
        fluidsim_python=fluidsim_python,
        io=IoOptions(
            folders=dirs or [],
            patterns=_words(patterns),
            blocks=_numbers(block, "--block"),
            transfer=transfer,
            total_bytes=total,
            ways=_words(ways, ";" if name == "servers" else ","),
            hints=hints,
            wrapper=wrapper,
            read=read,
            count=count,
        ),
        servers=ServersOptions(
            servers=servers,
            shapes=_words(shapes),
            every=every,
            calls=calls,
            halo=halo,
            fractions=_numbers(fractions, "--fractions"),
            competitor=competitor,
            idle_s=idle_s,
        ),
        moving=MovingOptions(
            sizes=FULL_SIZES if sizes == "full" else _byte_counts(sizes, "--sizes"),
            patterns=_words(patterns),
            methods=[] if method == "auto" else _words(method, ";"),
            ways=_words(ways, ";"),
            nodes=nodes,
        ),
    )
    options.cache.mkdir(parents=True, exist_ok=True)
    module = load(name)
    console = make_console()
    with console.status("starting") as status:
        run = module.runner(options) if hasattr(module, "runner") else run_once
        measured = measure(module.entries(options), 1 if count else rounds, status.update, run)
    module.finish(measured, options)
    getattr(module, "show", show)(console, measured)
    if picture is not None:
        _draw(module, picture, measured)
        console.print(f"picture in {picture}")
    if json is not None:
        settings = {key: str(value) for key, value in dataclasses.asdict(options).items()}
        write(json, name, measured, settings)
        console.print(f"figures in {json}")
    marks = ("wrong result", "ours failed")
    if any(mark in reason for mark in marks for reason in measured.failures.values()):
        raise typer.Exit(1)
