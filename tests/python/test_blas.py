# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace exec --with blas` and `tailrace bench blas`: BLAS calls by shape."""

import ctypes.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.studies import blas
from tailrace.benchmarks.rounds import Measured
from tailrace.errors import TailraceError
from tailrace.profile.job import find_dense_library
from tailrace.tuning.memory import read as read_memory

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
# Every other routine, often enough for all turns, by NumPy's CBLAS and SciPy's Fortran names.
OTHERS = """
import numpy as np
random = np.random.default_rng(2)
m, n, long = 210, 170, 40000
for kind in (np.float32, np.float64, np.complex64, np.complex128):
    draw = lambda *shape: random.normal(size=shape).astype(kind) + (
        1j * random.normal(size=shape).astype(kind) if np.dtype(kind).kind == "c" else 0)
    a, b, x, y = draw(m, n), draw(n, 40), draw(n), draw(long)
    wide = np.complex128 if np.dtype(kind).kind == "c" else np.float64
    multiply = lambda p, q: np.einsum("ik,kj->ij", p.astype(wide), q.astype(wide))
    right, square, image = multiply(a, b), multiply(a, a.T), multiply(a, x[:, None])[:, 0]
    bound = 100 * n * np.finfo(kind).eps
    for _ in range(40):
        assert abs(a @ b - right).max() < bound
        assert abs(a @ x - image).max() < bound
        assert abs(x @ a.T - image).max() < bound
        assert abs(a @ a.T - square).max() < bound
        assert abs(np.dot(y, y) / np.sum(y.astype(wide) ** 2) - 1) < 1000 * np.finfo(kind).eps
"""
SCIPY_OTHERS = """
from scipy.linalg import blas
l = np.tril(random.normal(size=(60, 60))) + 60 * np.eye(60)
z = l + 1j * np.tril(random.normal(size=(60, 60)))
b, v = random.normal(size=(60, 50)), random.normal(size=30000)
for _ in range(40):
    assert np.allclose(l @ blas.dtrsm(1.0, l, b, lower=1), b)
    assert np.allclose(z.conj().T @ blas.ztrsm(1.0, z, b, lower=1, trans_a=2), b)
    assert np.allclose(np.triu(blas.dsyrk(2.0, b)), np.triu(2 * b @ b.T))
    assert np.allclose(blas.daxpy(v, np.ones_like(v), a=2.0), 1 + 2 * v)
    assert np.isclose(blas.ddot(v, v), (v * v).sum())
    assert np.allclose(blas.dgemv(1.0, l, b[:, 0], trans=1), (l * b[:, :1]).sum(axis=0))
"""
FORK = """
import os
if (child := os.fork()) == 0:
    random.normal(size=(500, 40)) @ random.normal(size=(40, 500))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
END = "print('all is right')"


@pytest.fixture(autouse=True)
def tuning(no_tuning: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is fastest may be found out: that is the subject here."""
    monkeypatch.setenv("TAILRACE_TUNE", "first_use")


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
    words = [sys.executable, "-m", "tailrace", "exec", "--with", "blas", "--", sys.executable]
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
    found = re.search(r"BLAS: (\d+) large calls, (\d+) of them not by", lines)
    assert found
    seen, ours = map(int, found.groups())
    assert seen >= 2 * 2 * 30 * 3
    assert 0 < ours < seen


@pytest.mark.usefixtures("library")
def test_scipy_and_fortran_names() -> None:
    pytest.importorskip("scipy", reason="needs SciPy")
    assert "large calls" in run(NUMPY + SCIPY)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("others", ["none", "installed", "/nowhere/libblas.so"])
def test_other_routines_and_libraries(others: str, tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="needs SciPy")
    system = ctypes.util.find_library("openblas")  # another one than NumPy's
    if others == "installed":
        if system is None:
            pytest.skip("needs OpenBLAS")
        others = system
    settings = {"TAILRACE_BLAS_LIBRARIES": others, "TAILRACE_CACHE": str(tmp_path)}
    lines = run(OTHERS + SCIPY_OTHERS, **settings)
    found = re.search(r"BLAS: (\d+) large calls", lines)
    assert found
    assert int(found[1]) >= 4 * 40 * 5
    left_out = "not used: /nowhere/libblas.so: it cannot be opened" in lines
    assert left_out == others.startswith("/nowhere")
    winners = read_memory(tmp_path / "tune.json")
    assert {winner.operation for winner in winners} == {"blas"}
    assert all(winner.machine["processor"].endswith(others) for winner in winners)
    again = run(OTHERS + SCIPY_OTHERS, **settings)
    assert "large calls" in again


@pytest.mark.usefixtures("library")
def test_it_can_be_told_to_do_nothing() -> None:
    assert run(NUMPY, TAILRACE_BLAS="library") == ""
    assert run(NUMPY, TAILRACE_REPORT="0") == ""
    assert run(NUMPY, TAILRACE_REPORT="0", TAILRACE_TUNE="off") == ""


@pytest.mark.usefixtures("library")
def test_tuning_that_is_off_leaves_all_calls_to_the_library() -> None:
    lines = run(NUMPY, TAILRACE_TUNE="off")
    assert "TAILRACE_TUNE=off: all calls by the program's own library" in lines
    assert "large calls" not in lines


def test_a_tiny_bench(tmp_path: Path) -> None:
    file = tmp_path / "blas.json"
    words = [
        sys.executable,
        "-m",
        "tailrace",
        "bench",
        "blas",
        "--no-other-libraries",
        "--rounds",
        "1",
    ]
    shapes = "20x30x40,40x3x700:TN,zgemv:90x200:C,strsm:30x40,dsyrk:40x50:UT,caxpy:9000,ddot:20000"
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
    assert [(row["m"], row["n"], row["k"], row["form"]) for row in ours[:2]] == [
        (20, 30, 40, "NN"),
        (40, 3, 700, "TN"),
    ]
    others = ["zgemv", "strsm", "dsyrk", "caxpy", "ddot"]
    assert [row["routine"] for row in ours] == ["dgemm", "dgemm", *others]
    assert all(row["gflops"] > 0 for row in ours)
    for row in ours:
        assert row["gain"] == pytest.approx(1 / row["ratio"])
        assert row["error"] < 1e-14
    assert {row["entry"] for row in rows} == {"tailrace", "OpenBLAS"}


@pytest.mark.parametrize(
    "shape",
    ["10x10", "axbxc", "0x1x1", "4x4x4:NX", "dgemv:5", "dtrsm:5x5:LLX", "zdot:9", "ddot:9:N"],
)
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
