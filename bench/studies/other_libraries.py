# SPDX-License-Identifier: BSD-3-Clause
"""Entries of other libraries, for the benchmarks ``fft`` and ``exchange`` of the package."""

import importlib.util
from pathlib import Path

from bench.studies.drivers import find_driver, python_module
from tailrace.benchmarks import fake_cluster
from tailrace.benchmarks.drivers import Command, arguments, parallel, serial
from tailrace.benchmarks.exchange import QUICK_EDGE
from tailrace.benchmarks.fft import Shape
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry
from tailrace.launch.machine_load import num_cores

# Benchmarks of which a driver of bench/ also measures other libraries, in the same process.
JOINED = ("io", "exchange")
MPI_LIBRARIES = ("fftw_mpi", "accfft", "heffte", "dtfft", "decomp2d")
SETTINGS = {  # those whose best setting depends on the machine run in each of them
    "fftw_mpi": ({"placement": "in"}, {"placement": "out"}),
    "heffte": ({"reorder": "no"}, {"reorder": "yes"}),
}
PYTHON_LIBRARIES = {"scipy.fft": "scipy", "mpi4py-fft": "mpi4py_fft"}
TRANSPOSERS = {  # driver -> the transposes that it can do
    "exchange_dtfft": ("pencils",),
    "exchange_heffte": ("pencils", "kept", "slabs"),
    "exchange_accfft": ("kept", "slabs"),
    "exchange_decomp2d": ("kept",),
    "exchange_fftw": ("slabs",),
}


def fft_entries(options: Options, n: int, ranks: int, problem: str) -> list[Entry]:
    """Return an entry of each library that was built, of some with several settings."""
    return _over_ranks(options, n, ranks, problem) + _serial(options, n, ranks, problem)


def array_entries(options: Options, shape: Shape, n: int, ranks: int, problem: str) -> list[Entry]:
    """Return an entry of each library that transforms arrays of this shape.

    Those without MPI run on one core, or on as many threads as the others have ranks.
    """
    words = [*shape.words(n), *arguments(repeats=options.repeats, kind=options.kind)]
    cores = min(ranks, num_cores())
    found = []
    fftw = find_driver("fftw_arrays")
    if fftw and ranks == 1 and options.precision == "double":
        record = options.cache / f"fftw_arrays_{options.kind}.wisdom"
        command = serial(fftw, [*words, *arguments(wisdom=record)])
        found.append(Entry("FFTW", problem, False, command))
    fftw_mpi = find_driver("fftw_mpi" + ("_single" if options.precision == "single" else ""))
    if fftw_mpi and shape.is_whole and ranks > 1:
        name = f"fftw_mpi_{options.precision}_{options.kind}_{ranks}.wisdom"
        more = [*words, *arguments(wisdom=options.cache / name)]
        for setting in SETTINGS["fftw_mpi"]:
            command = parallel(ranks, fftw_mpi, [*more, *arguments(**setting)])
            label = " ".join(["fftw_mpi", *setting.values()])
            found.append(Entry(label, problem, False, command))
    words += arguments(precision=options.precision)
    for name, is_able in (("mkl", shape.is_fourier), ("ducc", True)):
        program = find_driver(name)
        if program and is_able:
            command = serial(program, [*words, *arguments(threads=cores)], cores)
            found.append(Entry(name, problem, False, command))
    for library, module in PYTHON_LIBRARIES.items():
        if importlib.util.find_spec(module) is None:
            continue
        more = arguments(library=library, label=library)
        if library == "scipy.fft":
            more = arguments(library=library, label=f"{library}, {cores} threads", threads=cores)
            more = more if cores > 1 else arguments(library=library, label=library)
            command = python_module("array_libraries", [*words, *more])
        else:
            command = python_module("array_libraries", [*words, *more], ranks)
        found.append(Entry(library, problem, False, command))
    return found


def _over_ranks(options: Options, n: int, ranks: int, problem: str) -> list[Entry]:
    found = []
    single = options.precision == "single"
    plain = not single and options.kind == "r2c" and options.fields == 1
    for name in MPI_LIBRARIES if plain else ("fftw_mpi",):
        program = find_driver(name + ("_single" if single else ""))
        if program is None:
            continue
        for setting in SETTINGS.get(name, ({},)):
            words = arguments(n=n, repeats=options.repeats, **setting)
            if name == "fftw_mpi":
                words += arguments(kind=options.kind, fields=options.fields)
                record = f"fftw_mpi_{options.precision}_{options.kind}_{ranks}.wisdom"
                words += arguments(wisdom=options.cache / record)
            label = " ".join([name, *setting.values()])
            found.append(Entry(label, problem, False, parallel(ranks, program, words)))
    return found


def _serial(options: Options, n: int, ranks: int, problem: str) -> list[Entry]:
    """Libraries without MPI: on one core, or on as many threads as the others have ranks."""
    found = []
    fftw = find_driver("fftw_serial")
    plain = options.precision == "double" and options.kind == "r2c" and options.fields == 1
    if fftw and ranks == 1 and plain:
        for placement in ("in", "out"):
            words = arguments(
                n=n,
                repeats=options.repeats,
                placement=placement,
                wisdom=options.cache / "fftw.wisdom",
            )
            found.append(Entry(f"FFTW {placement}", problem, False, serial(fftw, words)))
    for name in ("mkl", "ducc"):
        program = find_driver(name)
        if program:
            command = _threaded(program, n, min(ranks, num_cores()), options)
            found.append(Entry(name, problem, False, command))
    return found


def _threaded(program: Path, n: int, threads: int, options: Options) -> Command:
    words = arguments(
        n=n,
        threads=threads,
        repeats=options.repeats,
        precision=options.precision,
        kind=options.kind,
        fields=options.fields,
    )
    return serial(program, words, threads)


def exchange_entries(options: Options, pattern: str, ranks: int, label: str) -> list[Entry]:
    """Return an entry of each library and size that can do the transpose."""
    found = []
    for driver, patterns in TRANSPOSERS.items():
        program = find_driver(driver)
        if program is None or pattern not in patterns:
            continue
        for n in options.sizes or [QUICK_EDGE]:
            words = arguments(n=n, pattern=pattern, repeats=options.repeats)
            command = fake_cluster.on_nodes(ranks, options.moving.nodes, program, words)
            found.append(Entry(f"{driver.removeprefix('exchange_')} {n}", label, False, command))
    return found
