# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace.sparse`: SciPy's matrices as operators, against SciPy itself."""

import doctest
import importlib

import pytest

np = pytest.importorskip("numpy")
sp = pytest.importorskip("scipy.sparse", reason="needs SciPy")
try:
    ours = importlib.import_module("tailrace.sparse")
except ImportError as error:
    pytest.skip(f"the Python face is not built: {error}", allow_module_level=True)
import scipy.sparse.linalg as la  # noqa: E402

import tailrace  # noqa: E402


def drawn(rows: int, columns: int, seed: int, density: float = 0.05) -> "sp.csr_matrix":
    """A matrix with integers and fractions, empty rows among the others."""
    a = sp.random(rows, columns, density, random_state=seed, format="csr")
    a.data = np.where(a.data < 0.5, np.round(8 * a.data), a.data)
    return a


def laplacian(n: int) -> "sp.csr_matrix":
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    return (sp.kron(line, sp.eye(n)) + sp.kron(sp.eye(n), line)).tocsr()


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "lil"])
def test_products_are_those_of_scipy(kind: str) -> None:
    a = drawn(120, 80, seed=3).asformat(kind)
    operator = ours.Operator(a)
    rng = np.random.default_rng(1)
    x, several, y = rng.random(80), rng.random((80, 5)), rng.random(120)
    np.testing.assert_allclose(operator @ x, a @ x, rtol=1e-13)
    np.testing.assert_allclose(operator @ several, a @ several, rtol=1e-13)
    np.testing.assert_allclose(operator @ several[:, ::2], a @ several[:, ::2], rtol=1e-13)
    np.testing.assert_allclose(operator.T @ y, a.T @ y, rtol=1e-13)
    np.testing.assert_allclose(operator.rmatmat(y[:, None]), a.T @ y[:, None], rtol=1e-13)
    assert operator.shape == a.shape
    assert operator.storage


@pytest.mark.parametrize("form", ["auto", "csr", "sell", "sell_sorted"])
def test_the_transpose_is_stored_only_if_asked_for(form: str) -> None:
    a = drawn(300, 170, seed=4)
    beside = ours.Operator(a, format=form, store_transpose=True)
    alone = ours.Operator(a, format=form, store_transpose=False)
    chosen = ours.Operator(a, format=form)
    operators = (alone, beside, chosen)
    # Each measures for itself, so "auto" may store one and the same matrix in several formats.
    before = [operator.memory_bytes for operator in operators]
    rng = np.random.default_rng(7)
    y, several = rng.random(300), rng.random((300, 7))
    for _ in range(20):
        chosen.rmatvec(y)
    assert chosen.memory_bytes == before[2]
    for operator in (*operators, chosen):
        np.testing.assert_allclose(operator.rmatvec(y), a.T @ y, rtol=1e-13)
        np.testing.assert_allclose(operator.rmatmat(several), a.T @ several, rtol=1e-13)
    assert alone.memory_bytes == before[0]
    assert beside.memory_bytes > before[1]
    assert chosen.memory_bytes >= before[2]
    with pytest.raises(ValueError, match="dimension mismatch"):
        alone.rmatvec(np.ones(170))


def test_sparse_arrays_other_types_and_repeated_items() -> None:
    starts, columns = [0, 2, 3, 5], [2, 2, 0, 1, 0]  # (0, 2) twice, row 2 not ascending
    a = sp.csr_array((np.array([1, 2, 3, 4, 5], "int16"), columns, starts), shape=(3, 3))
    assert not a.has_canonical_format
    before = a.copy()
    x = np.array([1.0, 10.0, 100.0])
    np.testing.assert_array_equal(ours.Operator(a) @ x, a.toarray() @ x)
    assert (a.toarray() == before.toarray()).all()
    wide = sp.csr_matrix(a)
    wide.indices, wide.indptr = wide.indices.astype("int64"), wide.indptr.astype("int64")
    np.testing.assert_array_equal(ours.Operator(wide) @ x, a.toarray() @ x)


def test_what_changes_afterwards_does_not_matter() -> None:
    a = laplacian(6)
    operator, x = ours.Operator(a), np.arange(36.0)
    expected = a.T @ x
    a.data[:] = 7
    np.testing.assert_allclose(operator.T @ x, expected)
    np.testing.assert_allclose(operator @ x, expected)  # it is symmetric


def test_bit_for_bit_products_are_those_of_rows_in_order() -> None:
    a = drawn(200, 150, seed=5, density=0.2)
    x = np.random.default_rng(2).random(150)
    expected = np.zeros(200)
    for row in range(200):
        for at in range(a.indptr[row], a.indptr[row + 1]):
            expected[row] = expected[row] + a.data[at] * x[a.indices[at]]
    found = ours.Operator(a, bit_for_bit=True) @ x
    assert (found == expected).all()


def test_scipys_solvers_take_both() -> None:
    a = laplacian(30)
    b = np.random.default_rng(3).random(900)
    preconditioner = ours.IncompleteLu(a)
    steps = {"plain": 0, "ilu": 0}

    def count(name: str) -> None:
        steps[name] += 1

    operator = ours.Operator(a)
    x, info = la.cg(operator, b, rtol=1e-10, callback=lambda _: count("plain"))
    y, more = la.cg(operator, b, rtol=1e-10, M=preconditioner, callback=lambda _: count("ilu"))
    assert info == more == 0
    exact = la.spsolve(a.tocsc(), b)
    np.testing.assert_allclose(x, exact, rtol=1e-8)
    np.testing.assert_allclose(y, exact, rtol=1e-8)
    assert steps["ilu"] < 0.6 * steps["plain"]
    largest = la.eigsh(operator, k=1, which="LA", return_eigenvectors=False)
    assert largest[0] == pytest.approx(8 * np.cos(np.pi / 62) ** 2)


def test_cg_takes_incomplete_cholesky_of_what_has_no_incomplete_lu() -> None:
    # Kershaw's matrix, four unknowns in a circle, along a line: ILU(0) has a pivot below zero.
    circle = sp.csr_matrix([[3.0, -2, 0, 2], [-2, 3, -2, 0], [0, -2, 3, -2], [2, 0, -2, 3]])
    a = (
        sp.block_diag([circle] * 50) + 0.05 * sp.diags([1.0, 1], [-4, 4], shape=(200, 200))
    ).tocsr()
    assert np.linalg.eigvalsh(a.toarray())[0] > 0.01
    preconditioner = ours.IncompleteLu(a, symmetric=True)
    assert preconditioner.shift > 0
    assert ours.IncompleteLu(laplacian(9), symmetric=True).shift == 0
    m = preconditioner @ np.eye(200)
    np.testing.assert_allclose(m, m.T, rtol=1e-12, atol=1e-12)
    assert np.linalg.eigvalsh(m)[0] > 0
    b = np.random.default_rng(3).random(200)
    x, info = la.cg(ours.Operator(a), b, rtol=1e-10, M=preconditioner)
    assert info == 0
    np.testing.assert_allclose(a @ x, b, atol=1e-8)
    with pytest.raises(tailrace.InvalidInput, match="row 1 has -2"):
        ours.IncompleteLu(sp.csr_matrix([[1.0, 0], [0, -2]]), symmetric=True)


def test_wrong_matrices_and_vectors_are_refused() -> None:
    a = laplacian(4)
    with pytest.raises(tailrace.InvalidInput, match=r"ndarray is not a matrix of scipy\.sparse"):
        ours.Operator(np.eye(3))
    with pytest.raises(tailrace.InvalidInput, match="complex128; needs two axes and real numbers"):
        ours.Operator(a.astype(complex))
    with pytest.raises(tailrace.InvalidInput, match="the operator is real"):
        ours.Operator(a) @ (1j * np.ones(16))
    with pytest.raises(tailrace.InvalidInput, match="format"):
        ours.Operator(a, format="cst")
    with pytest.raises(ValueError, match="dimension mismatch"):
        ours.Operator(a) @ np.ones(15)
    with pytest.raises(tailrace.InvalidInput, match=r"shape \(3, 4\); needs a square matrix"):
        ours.IncompleteLu(sp.csr_matrix(np.ones((3, 4))))
    singular = sp.csr_matrix(np.array([[1.0, 1.0], [1.0, 1.0]]))
    with pytest.raises(tailrace.InvalidInput, match="row 1"):
        ours.IncompleteLu(singular)


def test_the_examples_of_the_module_are_right() -> None:
    found = doctest.testmod(ours)
    assert found.attempted >= 5
    assert found.failed == 0
