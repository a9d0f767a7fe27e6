# SPDX-License-Identifier: BSD-3-Clause
"""Forward + backward 3D transform of a cube, beside the libraries that people use."""

import math
from pathlib import Path

from tailrace.benchmarks.drivers import (
    Command,
    arguments,
    find_driver,
    need_driver,
    parallel,
    serial,
)
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured
from tailrace.machine_load import num_cores

SUMMARY = "forward + backward transform of a cube beside other libraries"
TOLERANCE = {"double": 1e-12, "single": 1e-4}
MPI_PEERS = ("fftw_mpi", "accfft", "heffte", "dtfft", "decomp2d")
PEER_SETTINGS = {  # those whose best setting depends on the machine run in each of them
    "fftw_mpi": ({"placement": "in"}, {"placement": "out"}),
    "heffte": ({"reorder": "no"}, {"reorder": "yes"}),
}


def entries(options: Options) -> list[Entry]:
    """Return our transforms, full and truncated, and every peer that was built."""
    found = []
    for n in options.sizes or [256]:
        for ranks in options.ranks or [1, 2]:
            problem = _problem(options, n, ranks)
            found += _ours(options, n, ranks, problem)
            if options.peers:
                found += _mpi_peers(options, n, ranks, problem)
                found += _serial_peers(options, n, ranks, problem)
    return found


def _problem(options: Options, n: int, ranks: int) -> str:
    text = f"{n}^3 {options.kind} {options.precision}"
    text += f", {options.fields} fields" if options.fields > 1 else ""
    text += f", {ranks} rank{'s' if ranks > 1 else ''}"
    return text + (f" in {options.grid}" if options.grid else "")


def _grid(options: Options, ranks: int) -> list[str]:
    """Return the grid of ranks of ours: slabs {P, 1}, pencils the squarest one."""
    if not options.grid:
        return []
    along_y = 1
    if options.grid == "pencils":
        along_y = next(y for y in range(math.isqrt(ranks), 0, -1) if ranks % y == 0)
        along_y = ranks // along_y  # the larger part, so that 2 ranks are pencils, too
    return arguments(grid_z=ranks // along_y, grid_y=along_y)


def _ours(options: Options, n: int, ranks: int, problem: str) -> list[Entry]:
    program = need_driver("fft_ours")
    found = []
    for kernel in options.kernels or ["auto"]:
        for cutoff in ("none", "2/3"):
            words = arguments(
                n=n,
                repeats=options.repeats,
                precision=options.precision,
                kind=options.kind,
                fields=options.fields,
                cutoff=cutoff,
                kernel=kernel,
                method=options.method,
                threads=options.threads,
            )
            words += _grid(options, ranks)
            name = "tailrace" + (", 2/3 truncation" if cutoff == "2/3" else "")
            if kernel != "auto":
                name += f", kernel {kernel}"
                words += arguments(label=name)
            if options.threads == 1:
                words += arguments(stages=f"{problem}: stages of {name}")
            reference = cutoff == "none" and kernel == (options.kernels or ["auto"])[0]
            command = parallel(ranks, program, words, options.threads)
            found.append(Entry(name, problem, True, command, reference))
    return found


def _mpi_peers(options: Options, n: int, ranks: int, problem: str) -> list[Entry]:
    found = []
    single = options.precision == "single"
    plain = not single and options.kind == "r2c" and options.fields == 1
    for name in MPI_PEERS if plain else ("fftw_mpi",):
        program = find_driver(name + ("_single" if single else ""))
        if program is None:
            continue
        for setting in PEER_SETTINGS.get(name, ({},)):
            words = arguments(n=n, repeats=options.repeats, **setting)
            if name == "fftw_mpi":
                words += arguments(kind=options.kind, fields=options.fields)
                record = f"fftw_mpi_{options.precision}_{options.kind}_{ranks}.wisdom"
                words += arguments(wisdom=options.cache / record)
            label = " ".join([name, *setting.values()])
            found.append(Entry(label, problem, False, parallel(ranks, program, words)))
    return found


def _serial_peers(options: Options, n: int, ranks: int, problem: str) -> list[Entry]:
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


def finish(measured: Measured, options: Options) -> None:
    """Add ns per point, and the distance to the best library without MPI on as many cores."""
    for row in measured.rows:
        if "model_s" in row:
            continue
        n = int(row["problem"].split("^")[0])
        row["ns_per_point"] = row["median_s"] / n**3 / options.fields * 1e9
        if row["ours"] and not (row["error"] or 0.0) <= TOLERANCE[options.precision]:
            measured.failures[f"{row['entry']} ({row['problem']})"] = (
                f"wrong result: round trip error {row['error']}"
            )
    for problem in {row["problem"] for row in measured.rows}:
        rows = [row for row in measured.rows if row["problem"] == problem]
        limits = [r["median_s"] for r in rows if r["entry"].startswith(("MKL", "ducc0", "FFTW "))]
        for row in rows:
            if row["ours"] and limits:
                row["limit_s"] = min(limits)
                row["over_limit"] = row["median_s"] / min(limits)
