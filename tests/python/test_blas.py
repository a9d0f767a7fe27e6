# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace run --with blas` and `tailrace bench blas`: products by shape."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.benchmarks import blas
from tailrace.benchmarks.rounds import Measured
from tailrace.errors import TailraceError
from tailrace.profile.job import find_dense_library

# Each product often enough that every method has its turns, in both orders and precisions.
NUMPY = """
import numpy as np
random = np.random.default_rng(1)
for m, k, n in ((30, 500, 20), (300, 9, 300), (2, 40, 3)):
    for kind in (np.float64, np.float32):
        a, b = random.normal(size=(m, k)).astype(kind), random.normal(size=(k, n)).astype(kind)
        right = np.einsum("ik,kj->ij", a.astype(float), b.astype(float))
        bound = 20 * k * np.finfo(kind).eps
        for _ in range(30):
            assert abs(a @ b - right).max() < bound
            assert abs(np.asfortranarray(a) @ np.asfortranarray(b) - right).max() < bound
            assert abs((b.T @ a.T).T - right).max() < bound
            assert abs(a @ np.asfortranarray(b) - right).max() < bound
assert np.isnan(np.full((40, 40), np.nan) @ np.ones((40, 40))).all()
assert (np.ones((40, 0)) @ np.ones((0, 40)) == 0).all()
"""
SCIPY = """
from scipy.linalg.blas import dgemm
a = np.asfortranarray(random.normal(size=(60, 400)))
c = np.asfortranarray(random.normal(size=(60, 60)))
for _ in range(20):
    assert np.allclose(dgemm(2.0, a, a, beta=0.5, c=c, trans_b=True), 2 * (a @ a.T) + c / 2)
"""
FORK = """
import os
if (child := os.fork()) == 0:
    random.normal(size=(500, 40)) @ random.normal(size=(40, 500))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
END = "print('all is right')"


@pytest.fixture
def library() -> Path:
    """Return the library, or skip; where all is to be built it may not be missing."""
    try:
        return find_dense_library("blas")
    except TailraceError as error:
        if "TAILRACE_BIN_DIR" in os.environ:
            raise
        pytest.skip(str(error))


def run(code: str, **settings: str) -> str:
    """Run Python code by the command, with these settings; return what the library says."""
    words = [sys.executable, "-m", "tailrace", "run", "--with", "blas", "--", sys.executable]
    done = subprocess.run(
        [*words, "-c", code + END],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **settings},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all is right\n")
    return done.stderr


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("threads", ["1", "2"])
def test_numpy_is_right_by_every_method(threads: str) -> None:
    lines = run(NUMPY + FORK, OPENBLAS_NUM_THREADS=threads)
    found = re.search(r"(\d+) products of some size, (\d+) of them by methods of ours", lines)
    assert found
    seen, ours = map(int, found.groups())
    assert seen >= 2 * 2 * 30 * 3
    assert 0 < ours < seen


@pytest.mark.usefixtures("library")
def test_scipy_and_fortran_names() -> None:
    pytest.importorskip("scipy", reason="needs SciPy")
    assert "products of some size" in run(NUMPY + SCIPY)


@pytest.mark.usefixtures("library")
def test_it_can_be_told_to_do_nothing() -> None:
    assert run(NUMPY, TAILRACE_BLAS="library") == ""
    assert run(NUMPY, TAILRACE_BLAS_SUMMARY="0") == ""


def test_a_tiny_bench(tmp_path: Path) -> None:
    file = tmp_path / "blas.json"
    words = [sys.executable, "-m", "tailrace", "bench", "blas", "--no-peers", "--rounds", "1"]
    shapes = "20x30x40,40x3x700:TN"
    done = subprocess.run(
        [*words, "--repeats", "2", "--shapes", shapes, "--json", str(file)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(file.read_text())["rows"]
    ours = [row for row in rows if row["ours"]]
    assert [(row["m"], row["n"], row["k"], row["form"]) for row in ours] == [
        (20, 30, 40, "NN"),
        (40, 3, 700, "TN"),
    ]
    for row in ours:
        assert row["gain"] == pytest.approx(1 / row["ratio"])
        assert row["error"] < 1e-15
    assert {row["entry"] for row in rows} == {"tailrace", "OpenBLAS"}


@pytest.mark.parametrize("shape", ["10x10", "axbxc", "0x1x1", "4x4x4:NX"])
def test_wrong_shapes_are_refused(shape: str) -> None:
    words = [sys.executable, "-m", "tailrace", "bench", "blas", "--shapes", shape]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"--shapes {shape}: " in done.stderr
    assert "Traceback" not in done.stderr


def test_means_by_class() -> None:
    def row(m: int, n: int, k: int, gain: float) -> dict[str, object]:
        return {"ours": True, "m": m, "n": n, "k": k, "gain": gain}

    rows = [row(8, 8, 8, 1), row(2000, 16, 2000, 2), row(8, 8, 9000, 8), row(512, 512, 512, 1)]
    assert blas.geometric_means(Measured(rows, {})) == pytest.approx(
        {"tiny": 1, "skinny": 4, "large": 1, "all": 2}
    )
