# SPDX-License-Identifier: BSD-3-Clause
"""Sparse matrices of SciPy as operators that multiply and solve by the kernels of Tailrace.

For `scipy.sparse.linalg` (cg, gmres, eigsh, ...) and anything else that takes a LinearOperator. One
process; needs SciPy (docs/python.md).

>>> import numpy as np, scipy.sparse, scipy.sparse.linalg, tailrace.sparse
>>> a = scipy.sparse.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(200, 200)).tocsr()
>>> operator = tailrace.sparse.Operator(a)
>>> preconditioner = tailrace.sparse.IncompleteLu(a)
>>> x, info = scipy.sparse.linalg.cg(operator, np.ones(200), M=preconditioner, rtol=1e-12)
>>> bool(np.allclose(a @ x, 1))
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

try:
    from scipy.sparse import csr_matrix, issparse
    from scipy.sparse.linalg import LinearOperator
except ImportError:
    raise ImportError("tailrace.sparse needs SciPy: pip install scipy") from None

from tailrace.errors import InvalidInput
from tailrace.extension import load

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailrace import _core
else:
    _core = load()

__all__ = ["IncompleteLu", "Operator"]


def _csr(matrix: Any, who: str) -> Any:
    """Return the matrix in CSR of float64, columns ascending, each once; ours alone if changed."""
    if not issparse(matrix):
        raise InvalidInput(
            f"{who}: {type(matrix).__name__} is no matrix of scipy.sparse; see "
            "scipy.sparse.csr_array"
        )
    if matrix.ndim != 2 or np.dtype(matrix.dtype).kind not in "fiub":
        raise InvalidInput(
            f"{who}: shape {matrix.shape}, {matrix.dtype}; needs two axes and real numbers"
        )
    csr = matrix.tocsr()
    if csr.dtype != np.float64:
        csr = csr.astype(np.float64)
    if not csr.has_canonical_format:
        csr = csr.copy() if csr is matrix else csr
        csr.sum_duplicates()
    return csr


class Operator(LinearOperator):  # type: ignore[misc]
    """y = A x and y = A^T x for a matrix of scipy.sparse, stored as it multiplies fastest.

    Integers and single precision become double. The storage is chosen when the operator is made,
    by timing, which costs some ten multiplies; that of the transpose at its first use. Options:
    format ("auto", or a name of `tailrace list`), expected_multiplies, bit_for_bit (the sums of
    CSR in order), plain_values, threads. Raises `tailrace.InvalidInput`. Local.
    """

    def __init__(self, matrix: Any, **options: Any) -> None:
        """Store a copy of `matrix`, which may change afterwards."""
        csr = _csr(matrix, "Operator")
        super().__init__(np.dtype(np.float64), csr.shape)
        self._options = options
        self._stored = _stored(csr, options)
        self._turned: _core.SparseMatrix | None = None

    @property
    def storage(self) -> str:
        """Format, columns and values in words, as in "sell, 8-bit columns, fp32"."""
        return self._stored.storage

    @property
    def memory_bytes(self) -> int:
        """Bytes that a multiply reads of the matrix."""
        return self._stored.memory_bytes

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return _product(self._stored, x)

    def _matmat(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return _product(self._stored, X)

    def _transposed(self) -> _core.SparseMatrix:
        if self._turned is None:
            starts, columns, values = self._stored.to_csr()
            turned = csr_matrix((values, columns, starts), self.shape).T.tocsr()
            self._turned = _stored(turned, self._options)
        return self._turned

    def _rmatvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return _product(self._transposed(), x)

    def _rmatmat(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return _product(self._transposed(), X)


def _stored(csr: Any, options: dict[str, Any]) -> _core.SparseMatrix:
    return _core.SparseMatrix(csr.shape[1], csr.indptr, csr.indices, csr.data, **options)


def _real(x: Any) -> NDArray[np.float64]:
    """Return a vector, or several in column-major order, as float64; copied only if it is not."""
    if np.iscomplexobj(x):
        raise InvalidInput("the operator is real: apply it to x.real and x.imag")
    return np.asfortranarray(x, dtype=np.float64)


def _product(matrix: _core.SparseMatrix, x: Any) -> NDArray[np.float64]:
    given = _real(x)
    y = np.empty((matrix.shape[0], *given.shape[1:]), order="F")
    matrix.multiply(given, y)
    return y


class IncompleteLu(LinearOperator):  # type: ignore[misc]
    """x = U^-1 L^-1 b with the ILU(0) of a square matrix: `M` of SciPy's solvers.

    Each place of the diagonal needs an item. Options: schedule, bit_for_bit, single_precision (the
    factors; sums stay in double). Raises `tailrace.InvalidInput`, naming the row, where a pivot is
    zero. Local.
    """

    def __init__(self, matrix: Any, **options: Any) -> None:
        """Factor a copy of `matrix`."""
        csr = _csr(matrix, "IncompleteLu")
        if csr.shape[0] != csr.shape[1]:
            raise InvalidInput(f"IncompleteLu: shape {csr.shape}; needs a square matrix")
        super().__init__(np.dtype(np.float64), csr.shape)
        self._factors = _core.IncompleteLu(csr.indptr, csr.indices, csr.data, **options)

    @property
    def storage(self) -> str:
        """Schedule and values in words, as in "levels, fp64"."""
        return self._factors.storage

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        given = _real(x).reshape(-1)
        found = np.empty_like(given)
        self._factors.solve(given, found)
        return found
