# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace exec --with refine`: programs that call LAPACK, unchanged."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.errors import TailraceError
from tailrace.profile.job import find_dense_library
from tailrace.profile.symbols import defines

NUMPY = """
import numpy as np
random = np.random.default_rng(1)
a, b = random.normal(size=(160, 160)), random.normal(size=160)
x = np.linalg.solve(a, b)
error = abs(a @ x - b).max() / (abs(a).sum(1).max() * abs(x).max())
assert error < 2.0**-51, error
stack = np.linalg.solve(np.stack([a, 2 * a]), np.stack([b, b])[..., None])
assert np.allclose(stack[0, :, 0], x) and np.allclose(2 * stack[1, :, 0], x)
c, d = a + 1j * a[::-1], b + 1j * b[::-1]
z = np.linalg.solve(c, d)
error = abs(c @ z - d).max() / (abs(c).sum(1).max() * abs(z).max())
assert error < 2.0**-51, error
try:
    np.linalg.solve(np.ones((150, 150)), np.ones(150))
except np.linalg.LinAlgError as error:
    print(error)
assert np.isnan(np.linalg.solve(np.full((150, 150), np.nan), np.ones(150))).all()
print("all is right")
"""

SCIPY = """
import numpy as np
from scipy.linalg import cho_solve, lapack, lu_solve, solve
random = np.random.default_rng(2)
a, b = random.normal(size=(160, 160)), random.normal(size=(160, 1))
factors, pivots, x, info = lapack.dgesv(a, b)
assert info == 0 and np.allclose(a @ x, b) and np.allclose(solve(a, b), x)
for seed in range(4):
    c = np.random.default_rng(seed).normal(size=(160, 1))
    y, info = lapack.dgetrs(factors, pivots, c)
    assert info == 0 and abs(a @ y - c).max() < 1e-10
    assert abs(a @ lu_solve((factors, pivots), c) - c).max() < 1e-10
definite = a @ a.T + np.eye(160)
triangle, x, info = lapack.dposv(definite, b)
assert info == 0 and abs(definite @ x - b).max() < 1e-9
assert abs(definite @ cho_solve((triangle, False), b) - b).max() < 1e-9
print("all is right")
"""

COMPLEX = """
import numpy as np
from scipy.linalg import cho_solve, lapack, lu_solve
random = np.random.default_rng(2)
a = random.normal(size=(160, 160)) + 1j * random.normal(size=(160, 160))
b = random.normal(size=(160, 1)) + 1j * random.normal(size=(160, 1))
factors, pivots, x, info = lapack.zgesv(a, b)
assert info == 0 and abs(a @ x - b).max() < 1e-10
assert abs(a @ lu_solve((factors, pivots), b.conj()) - b.conj()).max() < 1e-10
assert abs(a.T @ lu_solve((factors, pivots), b, trans=1) - b).max() < 1e-10
definite = a @ a.conj().T + np.eye(160)
for lower in False, True:
    triangle, x, info = lapack.zposv(definite, b, lower=lower)
    assert info == 0 and abs(definite @ x - b).max() < 1e-9
    assert abs(definite @ cho_solve((triangle, lower), b) - b).max() < 1e-9
print("all is right")
"""

LEAST_SQUARES = """
import numpy as np
from scipy.linalg import lapack
random = np.random.default_rng(2)
a, b = random.normal(size=(300, 160)), random.normal(size=(300, 1))
for gels, a, b in (lapack.dgels, a, b), (lapack.zgels, a + 1j * a[::-1, ::-1], b + 1j * b[::-1]):
    factors, x, info = gels(a, b)
    assert info == 0 and np.allclose(x[:160], np.linalg.lstsq(a, b)[0], rtol=1e-11, atol=1e-13)
    triangle = np.triu(factors[:160])
    assert np.allclose(triangle.conj().T @ triangle, a.conj().T @ a, atol=1e-3)
    residual = np.linalg.norm(b - a @ x[:160])
    assert abs(np.linalg.norm(x[160:]) - residual) < 1e-11
    wide, y, info = gels(a.T.copy(), b)
    assert info == 0 and np.allclose(a.T @ y, b[:160])
print("all is right")
"""


@pytest.fixture(autouse=True)
def tuning(no_tuning: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is fastest may be found out: that is the subject here."""
    monkeypatch.setenv("TAILRACE_TUNE", "first_use")


@pytest.fixture
def library() -> Path:
    """Return the library, or skip; where all is to be built it may not be missing."""
    try:
        return find_dense_library("lapack")
    except TailraceError as error:
        if "TAILRACE_BIN_DIR" in os.environ:
            raise
        pytest.skip(str(error))


def run(code: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    """Run Python code by the command, with these settings of the library."""
    words = [sys.executable, "-m", "tailrace", "exec", "--with", "refine", "--", sys.executable]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **settings}
    return subprocess.run(
        [*words, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def check(done: "subprocess.CompletedProcess[str]") -> str:
    """Return the library's lines of a run in which all was right."""
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all is right\n")
    return done.stderr


@pytest.mark.usefixtures("library")
def test_numpy_is_seen_and_right() -> None:
    """Six calls of NumPy's own LAPACK: four are solved, one is singular, one has NaN."""
    done = run(NUMPY, TAILRACE_REFINE="least=100,always")
    assert "Singular matrix" in done.stdout
    lines = check(done)
    assert "6 calls seen, 4 taken" in lines
    assert "2 tried in vain" in lines


@pytest.mark.usefixtures("library")
def test_small_systems_are_left_alone() -> None:
    lines = check(run(NUMPY))
    assert "6 calls seen, 0 taken; left to LAPACK: 6 small" in lines
    assert check(run(NUMPY, TAILRACE_REPORT="0")) == ""


@pytest.mark.usefixtures("library")
def test_scipy_goes_on_with_the_factors() -> None:
    pytest.importorskip("scipy", reason="needs SciPy")
    lines = check(run(SCIPY, TAILRACE_REFINE="least=100,always"))
    assert re.search(r"2 calls seen, [12] taken", lines)


@pytest.mark.usefixtures("library")
def test_complex_factors_are_kept() -> None:
    """One zgesv and two zposv are taken; one later solve is with the transpose."""
    pytest.importorskip("scipy", reason="needs SciPy")
    lines = check(run(COMPLEX, TAILRACE_REFINE="least=100,always"))
    assert "3 calls seen, 3 taken (fp32 3)" in lines
    assert re.search(r"with these factors: [1-3] refined, [1-3] matrices factored again", lines)


@pytest.mark.usefixtures("library")
def test_least_squares_of_scipy() -> None:
    """One dgels and one zgels are taken; the least norms of two wide systems are LAPACK's."""
    pytest.importorskip("scipy", reason="needs SciPy")
    lines = check(run(LEAST_SQUARES, TAILRACE_REFINE="least=100,always"))
    assert "2 calls seen, 2 taken (fp32 2)" in lines


def test_symbols_of_a_program(tmp_path: Path) -> None:
    """A LAPACK in the program itself is found."""
    source = tmp_path / "program.c"
    source.write_text("void dgesv_(void) {}\nint main(void) { dgesv_(); return 0; }\n")
    program = tmp_path / "program"
    subprocess.run(["cc", "-o", str(program), str(source)], check=True)
    assert defines(program, ["dposv_", "dgesv_"])
    assert not defines(program, ["dposv_"])
    assert not defines(source, ["dgesv_"])
    assert not defines(Path(sys.executable).resolve(), ["dgesv_"])
