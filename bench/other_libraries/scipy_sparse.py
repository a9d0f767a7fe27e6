# SPDX-License-Identifier: BSD-3-Clause
"""Seconds of y = A x by SciPy, printed as lines of JSON of a driver.

Run by ``tailrace bench sparse`` where SciPy is found. The matrix is the driver's own, which writes
it to a file first: ``bench_sparse_ours --matrix NAME --n N --save FILE``.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse

BLOCKS = {"blocks15": 15, "fem3": 3}  # unknowns a point, for BSR


def main() -> None:
    """Time `--repeats` products by each format after one that does not count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("--matrix", default="stencil7")
    parser.add_argument("--n", default="100")
    parser.add_argument("--repeats", type=int, default=10)
    args = parser.parse_args()
    starts, columns, values = read(args.driver, args.matrix, args.n)
    n = len(starts) - 1
    csr = scipy.sparse.csr_matrix((values, columns, starts), shape=(n, n))
    matrices = {"SciPy": csr}
    block = BLOCKS.get(args.matrix)
    if block:
        matrices["SciPy BSR"] = csr.tobsr(blocksize=(block, block))
    x = np.random.default_rng(1).uniform(-1, 1, n)
    rows = np.repeat(np.arange(n), np.diff(starts))
    terms = values * x[columns]
    expected = np.bincount(rows, weights=terms, minlength=n)
    sizes = np.bincount(rows, weights=np.abs(terms), minlength=n)
    for name, matrix in matrices.items():
        y, seconds = timed(matrix, x, args.repeats)
        error = float(np.max(np.abs(y - expected) / np.where(sizes > 0, sizes, 1)))
        line = {"entry": name, "matrix": args.matrix, "seconds": seconds, "error": error}
        line["items"] = float(len(values))
        if name == "SciPy":
            line["bytes_moved"] = 12.0 * len(values) + 20.0 * n
        print(json.dumps(line), flush=True)


def read(driver: str, matrix: str, n: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row starts, columns and values of the driver's matrix."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matrix"
        subprocess.run([driver, "--matrix", matrix, "--n", n, "--save", str(path)], check=True)
        with path.open("rb") as file:
            rows, items = np.fromfile(file, np.int64, 2)
            starts = np.fromfile(file, np.int32, rows + 1)
            return starts, np.fromfile(file, np.int32, items), np.fromfile(file, float, items)


def timed(matrix, x: np.ndarray, repeats: int) -> tuple[np.ndarray, list[float]]:
    """Return A x and the CPU time of each product, the first apart."""
    y, seconds = matrix @ x, []
    for _ in range(repeats):
        start = time.thread_time()
        y = matrix @ x
        seconds.append(time.thread_time() - start)
    return y, seconds


if __name__ == "__main__":
    main()
