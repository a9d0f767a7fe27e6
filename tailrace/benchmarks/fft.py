# SPDX-License-Identifier: BSD-3-Clause
"""Forward + backward 3D transform of a cube; in a clone, other libraries do the same."""

import math

from tailrace.benchmarks import clone
from tailrace.benchmarks.drivers import arguments, driver, parallel
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured

SUMMARY = "forward + backward transform of a cube, compared with other libraries"
TOLERANCE = {"double": 1e-12, "single": 1e-4}
AXES = 3


def entries(options: Options) -> list[Entry]:
    """Return our transforms, full and truncated, and every other library that was built."""
    others = clone.other_libraries() if options.other_libraries else None
    found = []
    for n in options.sizes or [256]:
        for ranks in options.ranks or [1, 2]:
            problem = _problem(options, n, ranks)
            found += _ours(options, n, ranks, problem)
            if others:
                found += others.fft_entries(options, n, ranks, problem)
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
    program, first = driver("fft")
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
            command = parallel(ranks, program, [*first, *words], options.threads)
            found.append(Entry(name, problem, True, command, reference))
    return found


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
