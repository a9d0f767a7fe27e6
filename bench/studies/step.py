# SPDX-License-Identifier: BSD-3-Clause
"""One RK4 step of Taylor-Green, dealiased, compared with fluidsim and with its transforms alone."""

from pathlib import Path

from bench.studies import turbulence_run
from bench.studies.drivers import find_driver
from bench.studies.options import StudyOptions
from tailrace.benchmarks.drivers import arguments, parallel, serial
from tailrace.benchmarks.rounds import Entry, Measured
from tailrace.programs import SOURCE_ROOT

SUMMARY = "one RK4 step of Taylor-Green, double, dealiased, compared with fluidsim"
AXES = 3
PAIRS_PER_STEP = {"tailrace": 15.0, "fluidsim": 36 / 2}  # 15 exchanges per substage, 4 per pair
FLOOR = "floor: "


def entries(options: StudyOptions) -> list[Entry]:
    """Return our step, fluidsim's, and pairs of transforms by libraries without MPI."""
    found = []
    for n in options.sizes or [128]:
        for ranks in options.ranks or [1, 2]:
            problem = f"Taylor-Green {n}^3 RK4 {options.precision}, {ranks} rank"
            problem += "s" if ranks > 1 else ""
            own = turbulence_run.command(n, ranks, options.precision, options.threads)
            found.append(Entry("tailrace", problem, True, own, reference=True))
            if options.other_libraries and options.precision == "double":
                found += _fluidsim(options, n, ranks, problem)
                found += _floor(options, n, ranks, problem)
    return found


def _fluidsim(options: StudyOptions, n: int, ranks: int, problem: str) -> list[Entry]:
    """Return fluidsim: one process also where ours has several ranks, and its MPI class."""
    if not options.fluidsim_python:
        return []
    script = str(SOURCE_ROOT / "bench" / "other_libraries" / "fluidsim_step.py")
    words = [options.fluidsim_python, script, *arguments(n=n)]
    one = serial(Path(words[0]), words[1:])
    found = [Entry("fluidsim, 1 process", problem, False, one)]
    if ranks > 1:
        words += arguments(fft="fft3d.mpi_with_fftw1d", label="fluidsim, MPI")
        several = parallel(ranks, Path(words[0]), words[1:])
        several.environment["TRANSONIC_NO_MPI"] = "1"  # its compiler cache needs no agreement
        found.append(Entry("fluidsim, MPI", problem, False, several))
    return found


def _floor(options: StudyOptions, n: int, threads: int, problem: str) -> list[Entry]:
    found = []
    for name in ("fftw_serial", "ducc", "mkl"):
        program = find_driver(name)
        if program is None or (name == "fftw_serial" and threads > 1):
            continue
        words = arguments(n=n, repeats=options.repeats)
        if name == "fftw_serial":
            words += arguments(wisdom=options.cache / "fftw.wisdom")
        else:
            words += arguments(threads=threads)
        label = FLOOR + name
        words += arguments(label=label)
        found.append(Entry(label, problem, False, serial(program, words, threads)))
    return found


def finish(measured: Measured, _options: StudyOptions) -> None:
    """Add ns per point and transform pair, and the distance to the transforms alone.

    The limit of a row is its own number of transform pairs times the fastest pair of a library
    without MPI on as many cores.
    """
    for row in measured.rows:
        n = int(row["problem"].split("Taylor-Green ")[1].split("^")[0])
        pairs = PAIRS_PER_STEP.get(row["entry"].split(",")[0], 1.0)
        row["pairs"] = pairs
        row["ns_per_point"] = row["median_s"] / pairs / n**3 * 1e9
        floors = [
            r["median_s"]
            for r in measured.rows
            if r["problem"] == row["problem"] and r["entry"].startswith(FLOOR)
        ]
        if floors and not row["entry"].startswith(FLOOR):
            row["limit_s"] = pairs * min(floors)
            row["over_limit"] = row["median_s"] / row["limit_s"]
