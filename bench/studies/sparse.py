# SPDX-License-Identifier: BSD-3-Clause
"""Sparse matrices: products, ILU(0) solves, conjugate gradients, compared with other libraries."""

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path

from bench.studies.blas import libraries
from bench.studies.drivers import need_driver
from tailrace.benchmarks.drivers import arguments, serial
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.rounds import Entry, Measured
from tailrace.errors import TailraceError
from tailrace.programs import SOURCE_ROOT

SUMMARY = "sparse matrices: the chosen format, Eigen, PETSc, SciPy, MKL (CPU time)"
# Matrices (bench/sparse_matrices.hpp), and points along an edge that give some 10^7 items.
MATRICES = {
    "stencil7": [100],
    "stencil7v": [100, 200],
    "blocks15": [26],
    "fem3": [52],
    "band21": [114],
    "short": [159],
    "power": [100],
}
DRAWN = {"drawn": list(range(1, 101))}  # matrices of features drawn by seed, only where asked for
# Operations: their drivers, and what these are told.
OPERATIONS: dict[str, tuple[str, dict[str, object]]] = {
    "multiply": ("sparse_ours", {}),
    "solve": ("sparse_solve", {}),
    "cg-jacobi": ("sparse_cg", {"preconditioner": "jacobi"}),
    "cg-icc0": ("sparse_cg", {"preconditioner": "icc0"}),
    "formats": ("sparse_ours", {"all": 1}),  # multiply, by all formats of ours and PETSc's
}
UNASKED = ("multiply", "solve", "cg-jacobi", "cg-icc0")
SYMMETRIC = ("stencil7", "stencil7v", "blocks15", "band21")  # in structure
WITHOUT_DIAGONAL = ("short", "power")
TOLERANCE = 1e-13  # of the sum of the sizes of a row's terms


def entries(options: Options) -> list[Entry]:
    """Return one entry a matrix, size and operation; a driver runs all libraries in turn."""
    asked = options.moving.patterns
    sizes = {**MATRICES, **(DRAWN if "drawn" in asked else {}), **_files(asked)}
    names = _chosen(asked, sizes, "--matrices")
    operations = _chosen(options.moving.methods, OPERATIONS, "--operations", UNASKED)
    mkl = libraries().get("MKL", "")
    found = []
    for operation in operations:
        driver, more = OPERATIONS[operation]
        program = need_driver(driver)
        if driver == "sparse_ours":
            more = {**more, "mkl": mkl}
        for name in names:
            if operation == "solve" and name in WITHOUT_DIAGONAL:
                continue
            if driver == "sparse_cg" and name not in SYMMETRIC:
                continue
            for n in [0] if name.endswith(".mtx") else options.sizes or sizes[name]:
                words = arguments(matrix=name, n=n, repeats=options.repeats, **more)
                size = "" if name.endswith(".mtx") else f" n = {n},"
                problem = f"{operation}, {name},{size} CPU time"
                found.append(Entry("tailrace", problem, True, serial(program, words)))
                if driver == "sparse_ours" and options.other_libraries:
                    found += _scipy(program, name, n, options.repeats, problem)
    return found


def _scipy(program: Path, name: str, n: int, repeats: int, problem: str) -> list[Entry]:
    """Return SciPy's product of a driver's matrix, where there is SciPy: a process of its own."""
    script = SOURCE_ROOT / "bench" / "other_libraries" / "scipy_sparse.py"
    if importlib.util.find_spec("scipy") is None or not script.is_file():
        return []
    words = arguments(driver=program, matrix=name, n=n, repeats=repeats)
    return [Entry("SciPy", problem, False, serial(Path(sys.executable), [str(script), *words]))]


def _files(words: list[str]) -> dict[str, list[int]]:
    """Return the Matrix Market files among the matrices that are asked for."""
    files = [word for word in words if word.endswith(".mtx")]
    for file in files:
        if not Path(file).is_file():
            raise TailraceError(f"--matrices {file}: there is no such file", status=2)
    return {file: [0] for file in files}


def _chosen(
    words: list[str], table: Iterable[str], option: str, unasked: Iterable[str] = ()
) -> list[str]:
    known = list(table)
    for word in words:
        if word not in known:
            expected = ", ".join({**MATRICES, **DRAWN} if option == "--matrices" else known)
            raise TailraceError(f"{option} {word}: expected one of {expected}", status=2)
    return words or list(unasked) or known


def draw(path: Path, measured: Measured) -> None:
    """Draw the roofline of the products that were measured."""
    importlib.import_module("bench.studies.sparse_picture").draw(path, measured)


def finish(measured: Measured, _options: Options) -> None:
    """Add how many times faster than the reference ours was; refuse wrong results."""
    for row in measured.rows:
        if not (row.get("error") or 0.0) <= row.get("tolerance", TOLERANCE):
            measured.failures[f"{row['entry']} ({row['problem']})"] = (
                f"wrong result: error {row['error']} in sizes of the terms or of b"
            )
        if row["ours"] and row.get("ratio"):
            row["gain"] = 1 / row["ratio"]
