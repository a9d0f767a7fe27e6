# SPDX-License-Identifier: BSD-3-Clause
"""BLAS calls by shape: the choice compared with BLAS libraries, on one thread, in CPU time."""

import ctypes.util
import math
import os
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.studies.drivers import need_driver
from tailrace.benchmarks.drivers import arguments, serial
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured
from tailrace.errors import TailraceError

SUMMARY = "BLAS calls of many shapes, compared with BLAS libraries (CPU time, one thread)"
SHAPES = {  # class -> routine (dgemm), m x n x k, letters
    "tiny": ["4x4x4", "8x8x8", "12x12x12"],
    "small": ["32x32x32", "64x64x64", "128x128x128"],
    "large": ["512x512x512", "2000x2000x2000"],
    "skinny": [
        "100000x8x8",
        "8x8x100000",
        "8x8x100000:TN",
        "64x64x20000",
        "64x64x20000:TN",
        "2000x2000x16",
        "2000x2000x16:NT",
        "2000x2000x64",
        "2000x16x2000",
        "16x2000x2000",
        "64x2000x64",
        "1000x4x1000",
        "1000x4x1000:TN",
    ],
    "others": [
        "dgemv:2000x2000:N",
        "dgemv:2000x2000:T",
        "dgemv:200x200:T",
        "dgemv:100000x20:T",
        "zgemv:1000x1000:N",
        "dtrsm:500x500:LLN",
        "dtrsm:64x2000:LLN",
        "dtrsm:2000x64:RUN",
        "ztrsm:200x200:LLN",
        "dsyrk:500x500:LN",
        "dsyrk:32x20000:LT",
        "ssyrk:1000x64:UN",
        "cgemm:200x200x200",
        "zgemm:2000x16x2000",
        "ddot:20000",
        "ddot:1000000",
        "sdot:100000",
        "daxpy:20000",
        "zaxpy:100000",
    ],
}
# routine -> names of its extents, its letters if none are given, the letters at each place
ROUTINES = {
    "gemm": ("mnk", "NN", ("NTC", "NTC")),
    "gemv": ("mn", "N", ("NTC",)),
    "trsm": ("mn", "LLN", ("LR", "LU", "NTC")),
    "syrk": ("nk", "LN", ("LU", "NT")),
    "axpy": ("n", "", ()),
    "dot": ("n", "", ()),
}
TOLERANCE = 1e-14  # of a product's sums, for each of its terms


def libraries() -> dict[str, str]:
    """Return the BLAS libraries found here by their names; the first is the reference."""
    found = {"OpenBLAS": "linked"}
    numpy_libraries = Path(np.__file__).parent.parent / "numpy.libs"
    given = [Path(f) for f in os.environ.get("LD_LIBRARY_PATH", "").split(":") if f]
    for name, folders, pattern in (
        ("OpenBLAS of NumPy", [numpy_libraries], "libscipy_openblas64_*.so"),
        ("BLIS", given, "libblis.so.*"),
        ("BLIS", [Path("/usr/lib")], "*/blis-*/libblis.so.*"),
        ("MKL", [*given, Path(sys.prefix) / "lib"], "libmkl_rt.so*"),
    ):
        paths = [path for folder in folders for path in folder.glob(pattern)]
        if paths:
            found.setdefault(name, str(paths[0]))
    blis = ctypes.util.find_library("blis")
    if blis:
        found.setdefault("BLIS", blis)
    return found


def entries(options: Options) -> list[Entry]:
    """Return one entry a shape; its driver runs all libraries in turn."""
    program = need_driver("blas_ours")
    known = libraries() if options.other_libraries else {"OpenBLAS": "linked"}
    found = []
    for shape in options.moving.patterns or [s for shapes in SHAPES.values() for s in shapes]:
        routine, extents, form = _parse(shape)
        words = arguments(
            routine=routine,
            **extents,
            form=form or "-",
            repeats=options.repeats,
            names=",".join(known),
            libraries=",".join(known.values()),
        )
        size = " x ".join(str(extent) for extent in extents.values())
        problem = f"{routine} {size} {form}".rstrip() + ", CPU time"
        found.append(Entry("tailrace", problem, True, serial(program, words, 1)))
    return found


def _parse(shape: str) -> tuple[str, dict[str, int], str]:
    """Return routine, extents by name, and letters of ROUTINE:MxNxK:LETTERS."""
    parts = shape.split(":")
    routine = parts.pop(0).lower() if not parts[0][:1].isdigit() else "dgemm"
    names, form, letters = ROUTINES.get(routine[1:], ("", "", ()))
    if routine[:1] not in tuple("sdcz") or not names or routine in ("cdot", "zdot"):
        raise TailraceError(
            f"--shapes {shape}: {routine} is not known: s, d, c or z with gemm, gemv, trsm, syrk, "
            "axpy; sdot, ddot",
            status=2,
        )
    words = parts[0].lower().split("x") if parts else []
    if len(words) != len(names) or not all(word.isdigit() and int(word) for word in words):
        expected = "x".join(names.upper())
        raise TailraceError(f"--shapes {shape}: expected {expected} for {routine}", status=2)
    form = parts[1].upper() if len(parts) > 1 else form
    right = len(form) == len(letters) and all(
        letter in known for letter, known in zip(form, letters, strict=True)
    )
    if len(parts) > 2 or not right:
        known = ", then ".join(f"one of {' '.join(place)}" for place in letters) or "nothing"
        raise TailraceError(f"--shapes {shape}: after the extents {known}", status=2)
    return routine, dict(zip(names, map(int, words), strict=True)), form


def finish(measured: Measured, _options: Options) -> None:
    """Add GF/s and, to our rows, how many times faster than the reference; refuse wrong results."""
    for row in measured.rows:
        row["gflops"] = row["flops"] / row["median_s"] / 1e9
        if row["ours"] and row.get("ratio"):
            row["gain"] = 1 / row["ratio"]
        if not (row.get("error") or 0.0) <= TOLERANCE:
            measured.failures[f"{row['entry']} ({row['problem']})"] = (
                f"wrong result: {row['error']} of a term"
            )


def class_of(row: dict[str, object]) -> str:
    """Return the class of shapes of a row: by its extents where it is a product's."""
    if not str(row.get("routine", "dgemm")).endswith("gemm"):
        return "others"
    least, most = (f(int(str(row[e])) for e in "mnk") for f in (min, max))
    if most <= 16:
        return "tiny"
    if most >= 8 * least:
        return "skinny"
    return "small" if most <= 128 else "large"


def geometric_means(measured: Measured) -> dict[str, float]:
    """Return the gain over the reference by class of shapes, and of all."""
    gains: dict[str, list[float]] = {}
    for row in measured.rows:
        if row["ours"] and row.get("gain"):
            gains.setdefault(class_of(row), []).append(row["gain"])
    if len(gains) > 1:
        gains["all"] = [gain for group in gains.values() for gain in group]
    return {name: math.exp(sum(map(math.log, g)) / len(g)) for name, g in gains.items()}


def show(console: Console, measured: Measured) -> None:
    """Print GF/s of each library by shape, and the means of our gain."""
    names = list(dict.fromkeys(row["entry"] for row in measured.rows))
    table = Table(title="BLAS, GF/s on one thread (median)")
    for column in ("call", *names, "gain (smallest .. largest)", "by"):
        table.add_column(column, justify="left" if column in ("call", "by") else "right")
    for problem in dict.fromkeys(row["problem"] for row in measured.rows):
        rows = {row["entry"]: row for row in measured.rows if row["problem"] == problem}
        ours = rows.get("tailrace", {})
        spread = ""
        if ours.get("gain"):
            low, high = (1 / ours[end] for end in ("ratio_max", "ratio_min"))
            spread = f"{ours['gain']:.2f} ({low:.2f} .. {high:.2f})"
        cells = [f"{rows[name]['gflops']:.1f}" if name in rows else "-" for name in names]
        call = problem.removesuffix(", CPU time")
        table.add_row(call, *cells, spread, str(ours.get("chosen", "")))
    console.print(table)
    means = ", ".join(f"{name} {gain:.2f}" for name, gain in geometric_means(measured).items())
    console.print(f"Times as fast as {names[1]}, geometric mean: {means}", highlight=False)
