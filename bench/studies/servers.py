# SPDX-License-Identifier: BSD-3-Clause
"""A run that writes a field every few steps, by I/O servers of every kind and by others.

Each variant is a process run of its own; they take turns within a round. The run without output
is the reference: what output costs is the ratio to it. Every file is read back and compared.
Disks can be slowed: to a given speed (``--throttle``), or to fractions of the speed at which a
run here writes synchronously (``--fractions``). With ``--competitor`` each run is made once more
while another process writes to the same disk.
"""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.studies.competitor import competing
from bench.studies.drivers import need_driver
from bench.studies.options import StudyOptions
from bench.studies.servers_table import show
from tailrace.benchmarks import slow_disk
from tailrace.benchmarks.drivers import Command, arguments, parallel
from tailrace.benchmarks.io import choose, file_system, list_variants
from tailrace.benchmarks.rounds import Entry, Measured, run_once
from tailrace.errors import TailraceError

__all__ = ["SUMMARY", "draw", "entries", "finish", "runner", "show"]

SUMMARY = "what output costs a run: I/O servers of every kind, a toy server, HDF5, POSIX, ADIOS2"
AXES = 3
WRITES = True
NO_OUTPUT = "no output"
SYNCHRONOUS = "tailrace, synchronous"
SHAPES = ("slab", "pencil")
LIKE_A_COPY = 30  # a call that takes longer does something else
ALONE = ", alone"
BESIDE = ", beside a competing writer"


def entries(options: StudyOptions) -> list[Entry]:
    """Return one entry for each disk, shape of data, with and without competitor, and variant."""
    program = need_driver("servers_ours")
    ours = options.servers
    unknown = [shape for shape in ours.shapes if shape not in SHAPES]
    if unknown:
        raise TailraceError(f"--shapes {unknown[0]}: expected slab or pencil", status=2)
    if options.throttle and ours.fractions:
        raise TailraceError("--throttle and --fractions: give one of them", status=2)
    if options.steps < ours.every:
        raise TailraceError(
            f"--steps {options.steps}: no output within --every {ours.every} steps", status=2
        )
    variants = [
        variant
        for variant in list_variants(program)
        if options.other_libraries or variant["family"] == "ours"
    ]
    chosen = choose(variants, options.io.entries)
    if NO_OUTPUT not in {variant["name"] for variant in chosen}:
        chosen = [variant for variant in variants if variant["name"] == NO_OUTPUT] + chosen
    passes = _calibrate(program, options) if options.compute == "work" else 0
    found = []
    for folder, rate in _disks(program, options):
        for n in options.sizes or [256]:
            for shape in ours.shapes or SHAPES:
                for ranks in options.ranks or [4]:
                    for beside in (False, True) if ours.competitor else (None,):
                        words = _words(options, folder, n, shape, passes)
                        problem = _problem(options, folder, rate, n, shape, ranks)
                        if beside is not None:
                            problem += BESIDE if beside else ALONE
                            words += ["--competitor", "yes" if beside else "no"]
                        text = json.dumps(problem, ensure_ascii=False)[1:-1]
                        words += arguments(problem=text, rate=rate)
                        found += [
                            _entry(options, program, ranks, words, variant) for variant in chosen
                        ]
    return found


def _entry(
    options: StudyOptions, program: Path, ranks: int, words: list[str], variant: dict[str, Any]
) -> Entry:
    """Return the entry of a variant; a failure of one of ours must not end the others."""
    name = str(variant["name"])
    problem = words[words.index("--problem") + 1]
    own = options.servers.servers if variant["family"] == "ours" else 1
    total = ranks + (own if variant["own_ranks"] else 0)
    command = parallel(total, program, [*words, "--entry", name])
    return Entry(name, problem, False, command, name == NO_OUTPUT)


def _words(options: StudyOptions, folder: Path, n: int, shape: str, passes: int) -> list[str]:
    ours = options.servers
    return arguments(
        n=n,
        shape=shape,
        steps=options.steps,
        every=ours.every,
        compute=options.compute,
        compute_s=options.compute_s,
        passes=passes,
        calls=ours.calls,
        halo=ours.halo,
        servers=ours.servers,
        idle_s=ours.idle_s,
        folder=folder.resolve(),
    )


def _problem(
    options: StudyOptions, folder: Path, rate: float, n: int, shape: str, ranks: int
) -> str:
    disk = f"disk of {rate / 1e6:.0f} MB/s" if rate else f"{file_system(folder)} {folder}"
    every = options.servers.every
    output = f"output each {every} steps" if every > 1 else "output each step"
    halo = ", messages" if options.servers.halo else ""
    return (
        f"{shape} data, {n}^3 doubles, {ranks} ranks, {options.steps} steps of "
        f"{options.compute_s:g} s ({options.compute}{halo}), {output}, {disk}"
    )


def _calibrate(program: Path, options: StudyOptions) -> int:
    """How much work a step is, the same for every variant."""
    words = arguments(what="calibrate", compute="work", compute_s=options.compute_s)
    (record,) = run_once(parallel(min(options.ranks or [4]), program, words))
    return int(record["passes"])


def _disks(program: Path, options: StudyOptions) -> list[tuple[Path, float]]:
    """Return the folders to write to, with their speeds [bytes/s]; 0: as they are."""
    folder = options.folder
    largest = max(options.sizes or [256])
    outputs = 2 * (options.steps // options.servers.every) + 4
    size = outputs * largest**3 * 8 + 2**28 + 2**29 * options.servers.competitor
    if options.throttle:
        if not options.throttle.isdigit():
            raise TailraceError(f"--throttle {options.throttle}: expected bytes/s", status=2)
        slow_disk.mount(folder, options.throttle, size)
        return [(folder, float(options.throttle))]
    folder.mkdir(parents=True, exist_ok=True)
    if not options.servers.fractions:
        return [(folder, 0.0)]
    full = folder / "full_speed"
    slow_disk.mount(full, "0", size, "--fractions")
    words = _words(options, full, largest, "slab", 0)
    words += arguments(compute_s=0, compute="sleep", idle_s=0, entry=SYNCHRONOUS)
    (record,) = run_once(parallel((options.ranks or [4])[0], program, words))
    speed = record["bytes_per_output"] / record["seen_s"]
    disks = []
    for fraction in options.servers.fractions:
        slowed = folder / f"one_of_{fraction}"
        rate = round(speed / fraction)
        slow_disk.mount(slowed, str(rate), size, "--fractions")
        disks.append((slowed, float(rate)))
    return disks


def runner(_options: StudyOptions) -> Callable[[Command], list[dict[str, Any]]]:
    """Return what runs a command, beside a competitor if its words say so."""

    def run(command: Command) -> list[dict[str, Any]]:
        words = command.words
        settings = {
            name: words[words.index(f"--{name}") + 1]
            for name in ("rate", "folder", "competitor", "compute-s", "steps")
            if f"--{name}" in words
        }
        if settings.get("competitor") == "yes":
            with competing(Path(settings["folder"])) as other:
                records = run_once(command)
            extra = {"competitor_bytes_per_s": other.bytes_per_s}
        else:
            records, extra = run_once(command, needs_result=True), {}
        for record in records:
            record |= {"disk_bytes_per_s": float(settings.get("rate", 0)), **extra}
        return records

    return run


def finish(measured: Measured, options: StudyOptions) -> None:
    """Add what follows from several rows: ratios to no output, to the ideal, to being alone."""
    measured.failures = {
        name: f"ours failed: {reason}" if name.startswith("tailrace") else reason
        for name, reason in measured.failures.items()
    }
    by_name = {(row["problem"], row["entry"]): row for row in measured.rows}
    for row in measured.rows:
        base = by_name.get((row["problem"], NO_OUTPUT))
        if base is None:
            continue
        row["compute_s"] = base["median_s"]
        row["steps"] = options.steps
        if row is not base:
            row["loop_overhead"] = (row["median_s"] - row["drain_s"]) / base["median_s"]
            ratio = row["seen_s"] / row["memcpy_s"]
            row["of_memcpy"] = ratio if ratio < LIKE_A_COPY else None
            _compare(row, base, by_name.get((row["problem"], SYNCHRONOUS)))
        if row["problem"].endswith(BESIDE):
            _add_slowed(
                row, by_name.get((row["problem"].removesuffix(BESIDE) + ALONE, row["entry"]))
            )


def _compare(
    row: dict[str, Any],
    base: dict[str, Any],
    synchronous: dict[str, Any] | None,
) -> None:
    """Add the ideal, the share of synchronous output that is hidden, and the disturbance."""
    for phase in ("busy", "idle"):
        if f"{phase}_step_s" in row and "idle_step_s" in base:
            row[f"{phase}_slower"] = row[f"{phase}_step_s"] / base["idle_step_s"] - 1
    if row["disk_bytes_per_s"] and not row["problem"].endswith(BESIDE):
        writing = row["bytes_per_output"] / row["disk_bytes_per_s"]
        interval = base["median_s"] / row["outputs"]
        # Nothing is computed behind the last output: its writing cannot be hidden.
        row["ideal_s"] = interval + (row["outputs"] - 1) * max(interval, writing) + writing
        row["over_ideal"] = row["median_s"] / row["ideal_s"]
    if synchronous is not None and row is not synchronous:
        cost = synchronous["median_s"] - base["median_s"]
        row["hidden"] = 1 - (row["median_s"] - base["median_s"]) / cost if cost > 0 else None


def _add_slowed(row: dict[str, Any], alone: dict[str, Any] | None) -> None:
    if alone is None:
        return
    pairs = [
        value / alone["round_s"][number]
        for number, value in row["round_s"].items()
        if number in alone["round_s"]
    ]
    if pairs:
        row["slowed"] = sorted(pairs)[len(pairs) // 2]


def draw(path: Path, measured: Measured) -> None:
    """Draw the times into a file."""
    # matplotlib takes a second to load: only here.
    importlib.import_module("bench.studies.servers_picture").draw(path, measured)
