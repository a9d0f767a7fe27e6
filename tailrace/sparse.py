# SPDX-License-Identifier: BSD-3-Clause
"""Sparse matrices of SciPy as operators that multiply and solve by the kernels of Tailrace.

For `scipy.sparse.linalg` (cg, gmres, eigsh, ...) and anything else that takes a LinearOperator. One
process; needs SciPy (docs/bindings.md).

>>> import numpy as np, scipy.sparse, scipy.sparse.linalg, tailrace.sparse
>>> a = scipy.sparse.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(200, 200)).tocsr()
>>> operator = tailrace.sparse.Operator(a)
>>> preconditioner = tailrace.sparse.IncompleteLu(a)
>>> x, info = scipy.sparse.linalg.cg(operator, np.ones(200), M=preconditioner, rtol=1e-12)
>>> bool(np.allclose(a @ x, 1))
True
"""

from __future__ import annotations

import time
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

_USES_BEFORE_TIMING = 20  # the inspection of the transpose takes about as many
_LEAST_GAIN = 0.9  # of the time, for twice the memory


def _csr(matrix: Any, who: str) -> Any:
    """Return the matrix in CSR of float64, columns ascending, each once; ours alone if changed."""
    if not issparse(matrix):
        raise InvalidInput(
            f"{who}: {type(matrix).__name__} is not a matrix of scipy.sparse; see "
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
    """y = A x and y = A^T x for a matrix of scipy.sparse, in its fastest storage format.

    Integers and single precision are converted to double precision. The storage format is chosen by
    timing when the operator is created, which takes as long as about ten multiplies. A^T is
    multiplied from the same storage, in one thread, or from a separate one, which doubles the
    memory: `store_transpose` selects this. With None, a separate storage is created at the 21st
    use, timed, and kept if it is faster. Other options: format ("auto", or a name of `tailrace
    list`), expected_multiplies, bit_for_bit (sums in the order of CSR), plain_values, threads.
    Raises `tailrace.InvalidInput`. Local.
    """

    def __init__(self, matrix: Any, *, store_transpose: bool | None = None, **options: Any) -> None:
        """Store a copy of `matrix`, which may change afterwards."""
        if store_transpose not in (None, True, False):
            raise InvalidInput("Operator: store_transpose must be None, True or False")
        csr = _csr(matrix, "Operator")
        super().__init__(np.dtype(np.float64), csr.shape)
        self._options = options
        self._stored = _stored(csr, options)
        self._store_transpose = store_transpose
        self._turned: _core.SparseMatrix | None = None
        self._transposed_uses = 0

    @property
    def storage(self) -> str:
        """Storage format and types of columns and values, such as "sell, 8-bit columns, fp32"."""
        return self._stored.storage

    @property
    def memory_bytes(self) -> int:
        """Size of the storage in bytes, including that of the transpose, if there is one."""
        turned = self._turned
        return self._stored.memory_bytes + (0 if turned is None else turned.memory_bytes)

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return _product(self._stored, x)

    def _matmat(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return _product(self._stored, X)

    def _transposed_product(self, x: Any) -> NDArray[np.float64]:
        self._transposed_uses += 1
        if self._store_transpose is None and self._transposed_uses > _USES_BEFORE_TIMING:
            self._choose_transpose()
        if not self._store_transpose:
            return _product(self._stored, x, transposed=True)
        if self._turned is None:
            self._turned = self._make_turned()
        return _product(self._turned, x)

    def _make_turned(self) -> _core.SparseMatrix:
        starts, columns, values = self._stored.to_csr()
        turned = csr_matrix((values, columns, starts), self.shape).T.tocsr()
        return _stored(turned, self._options)

    def _choose_transpose(self) -> None:
        turned = self._make_turned()
        x = np.ones(self.shape[0])
        own_s, shared_s = [], []
        for _ in range(3):
            start = time.thread_time()
            _product(self._stored, x, transposed=True)
            middle = time.thread_time()
            _product(turned, x)
            own_s.append(time.thread_time() - middle)
            shared_s.append(middle - start)
        self._store_transpose = min(own_s) < _LEAST_GAIN * min(shared_s)
        self._turned = turned if self._store_transpose else None

    def _rmatvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._transposed_product(x)

    def _rmatmat(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._transposed_product(X)


def _stored(csr: Any, options: dict[str, Any]) -> _core.SparseMatrix:
    return _core.SparseMatrix(csr.shape[1], csr.indptr, csr.indices, csr.data, **options)


def _real(x: Any) -> NDArray[np.float64]:
    """Return a vector, or several in column-major order, as float64; copied only if it is not."""
    if np.asarray(x).dtype.kind not in "biufc":
        raise InvalidInput(f"the operator needs numbers, not {np.asarray(x).dtype}")
    if np.iscomplexobj(x):
        raise InvalidInput("the operator is real: apply it to x.real and x.imag")
    return np.asfortranarray(x, dtype=np.float64)


def _product(
    matrix: _core.SparseMatrix, x: Any, *, transposed: bool = False
) -> NDArray[np.float64]:
    given = _real(x)
    y = np.empty((matrix.shape[1 if transposed else 0], *given.shape[1:]), order="F")
    (matrix.multiply_transposed if transposed else matrix.multiply)(given, y)
    return y


class IncompleteLu(LinearOperator):  # type: ignore[misc]
    """x = U^-1 L^-1 b with the ILU(0) of a square matrix: `M` of SciPy's solvers.

    Each row needs an item on the diagonal. Options: schedule, bit_for_bit, single_precision (of the
    factors; sums are in double precision), and symmetric: ICC(0) of the lower triangle of a
    positive definite matrix, as `M` of cg. `shift` is then the increase of the diagonal, relative
    to itself. Raises `tailrace.InvalidInput`, naming the row, if a pivot is zero. Local.
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
        """Schedule and type of the values, such as "levels, fp64"."""
        return self._factors.storage

    @property
    def shift(self) -> float:
        """Shift that ICC(0) (`symmetric`) added to the diagonal, relative to it; otherwise 0."""
        return self._factors.shift

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        given = _real(x).reshape(-1)
        found = np.empty_like(given)
        self._factors.solve(given, found)
        return found
