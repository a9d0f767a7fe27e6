# SPDX-License-Identifier: BSD-3-Clause
"""Forward + backward transforms of cubes and other arrays; in a clone, of other libraries, too."""

import math
from dataclasses import dataclass

from rich.console import Console

from tailrace.benchmarks import clone, report
from tailrace.benchmarks.drivers import arguments, driver, parallel
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured
from tailrace.errors import TailraceError

SUMMARY = "forward + backward transforms, compared with other libraries"
TOLERANCE = {"double": 1e-12, "single": 1e-4}
CUBE = "cube"


@dataclass(frozen=True)
class Shape:
    """An array with as many points along each axis, and how which of its axes are transformed."""

    kinds: tuple[str, ...]  # of each axis; "": a batch
    points: int  # along an axis, by default

    def words(self, n: int) -> list[str]:
        """Return the arguments of drivers."""
        axes = [axis for axis, kind in enumerate(self.kinds) if kind]
        return arguments(
            extents="x".join([str(n)] * len(self.kinds)),
            axes=",".join(map(str, axes)),
            kinds=",".join(self.kinds[axis] for axis in axes),
        )

    @property
    def is_fourier(self) -> bool:
        """Whether there are no cosine and sine transforms."""
        return set(self.kinds) <= {"", "fourier"}

    @property
    def is_whole(self) -> bool:
        """Whether all axes are transformed, either all by Fourier or all by other transforms."""
        return "" not in self.kinds and (self.is_fourier or "fourier" not in self.kinds)


# The cube has drivers of its own: Tailrace's cut-offs and stages, and libraries that do only cubes.
SHAPES = {
    CUBE: Shape(("fourier",) * 3, 256),
    "2d": Shape(("fourier",) * 2, 1024),
    "4d": Shape(("fourier",) * 4, 32),
    "batches": Shape(("", "fourier", "fourier"), 128),
    "lines": Shape(("", "", "fourier"), 128),
    "cosine": Shape(("dct2",) * 3, 128),
    "sine": Shape(("dst2",) * 3, 128),
    "channel": Shape(("fourier", "dct2", "fourier"), 128),
}


def num_axes(options: Options) -> int:
    """Return the number of axes of the array with the most."""
    return max(len(SHAPES[name].kinds) for name in _shapes(options))


def _shapes(options: Options) -> list[str]:
    unknown = [name for name in options.shapes if name not in SHAPES]
    if unknown:
        raise TailraceError(f"--shapes {unknown[0]}: known are {', '.join(SHAPES)}", status=2)
    names = list(dict.fromkeys(options.shapes)) or [CUBE]
    if names != [CUBE] and (options.grid or options.fields > 1):
        raise TailraceError("--grid and --fields are for cubes; leave --shapes out", status=2)
    return names


def entries(options: Options) -> list[Entry]:
    """Return our transforms, of cubes full and truncated, and those of each other library found."""
    others = clone.other_libraries() if options.other_libraries else None
    found = []
    for name in _shapes(options):
        for n in options.sizes or [SHAPES[name].points]:
            for ranks in options.ranks or [1, 2]:
                problem = _problem(options, name, n, ranks)
                if name == CUBE:
                    found += _ours(options, n, ranks, problem)
                    found += others.fft_entries(options, n, ranks, problem) if others else []
                else:
                    shape = SHAPES[name]
                    found += _ours_of_shape(options, shape.words(n), ranks, problem)
                    if others:
                        found += others.array_entries(options, shape, n, ranks, problem)
    return found


def _problem(options: Options, shape: str, n: int, ranks: int) -> str:
    text = f"{n}^{len(SHAPES[shape].kinds)} {options.kind} {options.precision}"
    text = text if shape == CUBE else f"{shape}, {text}"
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


def _ours_of_shape(options: Options, words: list[str], ranks: int, problem: str) -> list[Entry]:
    """Return an entry for each kernel; each gives a row of the object and one of the call."""
    program, first = driver("fft")
    found = []
    for number, kernel in enumerate(options.kernels or ["auto"]):
        name = "tailrace" if kernel == "auto" else f"tailrace, kernel {kernel}"
        more = arguments(
            repeats=options.repeats,
            precision=options.precision,
            kind=options.kind,
            kernel=kernel,
            method=options.method,
            threads=options.threads,
            label=name,
            reference="no" if number else "yes",
        )
        command = parallel(ranks, program, [*first, *words, *more], options.threads)
        found.append(Entry(name, problem, True, command, number == 0))
    return found


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
        points = row.get("points") or int(row["problem"].split("^")[0]) ** 3
        row["ns_per_point"] = row["median_s"] / points / options.fields * 1e9
        if len(row.get("round_s", ())) > 1 and "ratio_min" in row:
            row["ratio_range"] = f"{row['ratio_min']:.2f} .. {row['ratio_max']:.2f}"
        if row["ours"] and not (row["error"] or 0.0) <= TOLERANCE[options.precision]:
            measured.failures[f"{row['entry']} ({row['problem']})"] = (
                f"wrong result: round trip error {row['error']}"
            )
    for problem in {row["problem"] for row in measured.rows}:
        rows = [row for row in measured.rows if row["problem"] == problem]
        serial = ("MKL,", "ducc0,", "FFTW,", "FFTW in", "FFTW out", "scipy.fft,")
        limits = [r["median_s"] for r in rows if f"{r['entry']},".startswith(serial)]
        for row in rows:
            if row["ours"] and limits:
                row["limit_s"] = min(limits)
                row["over_limit"] = row["median_s"] / min(limits)


def show(console: Console, measured: Measured) -> None:
    """Print the tables, and for each problem how Tailrace compares with the fastest other."""
    report.show(console, measured)
    for problem in dict.fromkeys(row["problem"] for row in measured.rows):
        others = [
            row
            for row in measured.rows
            if row["problem"] == problem and not row["ours"] and "ratio" in row
        ]
        if not others:
            continue
        best = min(others, key=lambda row: row["ratio"])
        spread = f" ({best['ratio_min']:.2f} to {best['ratio_max']:.2f})"
        console.print(
            f"{problem}: Tailrace is {best['ratio']:.2f}{spread} times as fast as {best['entry']}, "
            "the fastest other library",
            highlight=False,
            soft_wrap=True,
        )
