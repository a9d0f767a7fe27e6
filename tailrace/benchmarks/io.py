# SPDX-License-Identifier: BSD-3-Clause
"""Every way to write one file from many ranks: Tailrace's, MPI-IO, plain POSIX, parallel HDF5.

Parallel HDF5 takes part in a clone, where a driver of bench/ has it.

A round of an access pattern is one process run for each MPI-IO of the MPI library (Open MPI has
two, OMPIO and ROMIO) and one that measures the raw limit of the device. Within a process they
take turns; each time is that of open, write, flush to disk and close, on the slowest rank. What
was written is checked in every round. With ``--read``, reading is measured too, after the file was
dropped from the page cache (which a file system in memory cannot do). With ``--count`` system
calls are counted in place of seconds (`io_count`).
"""

import importlib
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from tailrace.benchmarks import io_count
from tailrace.benchmarks.drivers import Command, arguments, driver, parallel
from tailrace.benchmarks.io_table import show
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured, run_once
from tailrace.errors import TailraceError
from tailrace.launch.launcher import find_launcher

__all__ = ["SUMMARY", "choose", "draw", "entries", "finish", "list_variants", "runner", "show"]

SUMMARY = "writing and reading shared files: every strategy and back end, MPI-IO, HDF5, raw limit"
PATTERNS = ("segmented", "strided", "contiguous", "blocks3d", "triangle")
GRID = re.compile(r"slabs|pencils|blocks|\d+x\d+x\d+")
BLOCKLESS = ("contiguous", "blocks3d")  # patterns whose pieces follow from other sizes
STANDARD = ("mpiio", "hdf5")  # families that count as "the best of MPI-IO and HDF5"
READING = ", reading"
TOTAL_BYTES = 20_000_000


def entries(options: Options) -> list[Entry]:
    """Return the processes of a round: for each problem the limit, then each MPI-IO."""
    program, first = driver("io")
    variants = choose(list_variants(program, *first), options.io.entries)
    found = []
    for folder in options.io.folders or [options.folder]:
        for ranks in options.ranks or [2]:
            for pattern in options.io.patterns or ["segmented", "blocks3d"]:
                for problem, words in _problems(options, pattern, ranks, folder):
                    found += _entries(
                        options, variants, ranks, problem, [str(program), *first, *words]
                    )
    return found


def runner(options: Options) -> Callable[[Command], list[dict[str, Any]]]:
    """Return what runs a command and reads its records."""
    return io_count.run_counted if options.io.count else run_once


def draw(path: Path, measured: Measured) -> None:
    """Draw the speeds into a file."""
    # matplotlib takes a second to load: only here.
    importlib.import_module("tailrace.benchmarks.io_picture").draw(path, measured)


def list_variants(program: Path, *first: str) -> list[dict[str, Any]]:
    """Ask the driver which variants this build has."""
    return run_once(Command([str(program), *first, "--what", "list"]))


def choose(variants: list[dict[str, Any]], wanted: list[str]) -> list[dict[str, Any]]:
    """Keep the variants whose name holds one of the words; a full name means that variant alone.

    Variants for tests are kept only by their full name.
    """
    names = {variant["name"] for variant in variants}
    usual = [variant for variant in variants if variant["family"] != "test"]
    if not wanted:
        return usual
    kept: set[str] = set()
    for word in wanted:
        fitting = {word} & names or {
            variant["name"] for variant in usual if word in variant["name"]
        }
        if not fitting:
            known = "; ".join(variant["name"] for variant in usual)
            divided = "entries are divided by semicolons; " if "," in word else ""
            raise TailraceError(
                f"--entries {word}: {divided}no entry contains this word ({known})", status=2
            )
        kept |= fitting
    return [variant for variant in variants if variant["name"] in kept]


def _problems(
    options: Options, pattern: str, ranks: int, folder: Path
) -> list[tuple[str, list[str]]]:
    """Return the title and the driver's words of each size of a pattern."""
    name, _, grid = pattern.partition(":")
    if name not in PATTERNS or (grid and (name != "blocks3d" or not GRID.fullmatch(grid))):
        known = ", ".join(PATTERNS)
        raise TailraceError(
            f"no pattern {pattern} (there are: {known}; blocks3d:slabs, blocks3d:pencils, "
            "blocks3d:blocks and blocks3d:AxBxC select how the cube is divided)",
            status=2,
        )
    total = options.io.total_bytes or TOTAL_BYTES
    where = f"{ranks} rank{'s' if ranks > 1 else ''}, {file_system(folder)} {folder}"
    common = {"pattern": name, "dir": folder.absolute(), "transfer": options.io.transfer}
    if name == "blocks3d":
        grid = grid or "blocks"
        sizes = options.sizes or ([] if options.io.total_bytes else [128])
        sizes = sizes or [max(1, round((total / 8) ** (1 / 3)))]
        return [
            (f"{n}^3 doubles in {grid}, {where}", arguments(**common, n=n, grid=grid))
            for n in sizes
        ]
    blocks = [0] if name in BLOCKLESS else options.io.blocks or [10_000, 1_000_000]
    return [
        (
            f"{name}, {f'{block:,}-byte blocks, ' if block else ''}{total / 1e6:.4g} MB, {where}",
            arguments(**common, bytes=total, **({"block": block} if block else {})),
        )
        for block in blocks
    ]


def file_system(folder: Path) -> str:
    """Return the type of the file system of `folder`, as the kernel calls it."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return ""
    place = folder.resolve()
    fitting = [m for m in mounts if place.is_relative_to(m[1].replace("\\040", " "))]
    return max(fitting, key=lambda m: len(m[1]), default=["", "", ""])[2]


def mpi_ios() -> dict[str, str]:
    """Return the MPI-IO implementations to choose from: component -> name for people."""
    tool = shutil.which("ompi_info")
    if find_launcher(2, 1).kind == "MPICH" or tool is None:
        return {"": ""}
    done = subprocess.run([tool, "--parsable"], capture_output=True, text=True, check=False)
    names = dict.fromkeys(re.findall(r"^mca:io:([^:]+):version", done.stdout, re.MULTILINE))
    return {name: re.sub(r"\d+$", "", name).upper() for name in names} or {"": ""}


def _entries(
    options: Options, variants: list[dict[str, Any]], ranks: int, problem: str, words: list[str]
) -> list[Entry]:
    """Return one entry for the limit, one a MPI-IO; those without MPI-IO are in the first."""
    io = options.io
    words = [*words, "--problem", json.dumps(problem, ensure_ascii=False)[1:-1], "--round"]
    words += ["{round}", "--read", "yes" if io.read else "no"]
    words += ["--hints", io.hints] if io.hints else []
    wrapper = shlex.split(io.wrapper)
    if io.count:
        wrapper = [*wrapper, *io_count.tracer()]
        words += ["--warmup", "no", "--check", "no", "--drop-cache", "no"]
    found = []
    if not io.count:
        line = [*wrapper, *words, "--what", "limit", "--for-ranks", str(ranks)]
        found.append(Entry("limit", problem, False, parallel(1, Path(line[0]), line[1:])))
    for number, (component, label) in enumerate(mpi_ios().items()):
        chosen = [variant["name"] for variant in variants if number == 0 or variant["uses_mpi_io"]]
        for group in [[name] for name in chosen] if io.count else [chosen] if chosen else []:
            line = [*wrapper, *words, "--entries", ";".join(group), "--mpi-io", label]
            command = parallel(ranks, Path(line[0]), line[1:])
            if component:
                command.environment["OMPI_MCA_io"] = component
            name = f"{group[0] if io.count else 'entries'} {label}".strip()
            found.append(Entry(name, problem, number == 0 and not io.count, command))
    return found


def finish(measured: Measured, options: Options) -> None:
    """Add MB/s, and speeds as shares of the best of MPI-IO and HDF5 and of the raw limit.

    Shares are made within a round; their median is shown. The limit is the setting of threads,
    sizes and cache that was the fastest in the median. What failed once is left out.
    """
    if options.io.count:
        return
    failed = measured.failures
    measured.rows = [
        row
        for row in measured.rows
        if f"{row['entry']} ({row['problem'].removesuffix(READING)})" not in failed
    ]
    for problem in {row["problem"] for row in measured.rows}:
        rows = [row for row in measured.rows if row["problem"] == problem]
        for row in rows:
            for name, other in (("median", "median_s"), ("min", "max_s"), ("max", "min_s")):
                row[f"mb_per_s_{name}"] = row["bytes"] / row[other] / 1e6
        peer = _fastest(rows, STANDARD)
        limit = _fastest(rows, ("limit",))
        for row in rows:
            row["best_peer"] = row is peer
            row["best_limit"] = row is limit
            if peer is not None and row["family"] != "limit":
                row["of_peer"] = _share(row, peer)
            if limit is not None:
                row["of_limit"] = _share(row, limit)


def _fastest(rows: list[dict[str, Any]], families: tuple[str, ...]) -> dict[str, Any] | None:
    of_them = [row for row in rows if row["family"] in families]
    return min(of_them, key=lambda row: row["median_s"] / row["bytes"], default=None)


def _share(row: dict[str, Any], base: dict[str, Any]) -> float | None:
    """How many times as fast as `base` this row is, from pairs of the same round."""
    scale = row["bytes"] / base["bytes"]
    pairs = [
        scale * base["round_s"][r] / value
        for r, value in row["round_s"].items()
        if r in base["round_s"]
    ]
    return median(pairs) if pairs else None
