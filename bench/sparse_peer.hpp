// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sparse_matrices.hpp"

namespace bench {

/// One way to multiply the matrix; it keeps what it needs of it.
struct SparsePeer {
  std::string entry;
  std::function<void(const double* x, double* y)> multiply;
};

SparsePeer sparse_eigen(const SparseMatrix& a);
/// AIJ, PETSc's plain format, on one process.
SparsePeer sparse_petsc(const SparseMatrix& a);
/// MatSolve with the factors of its ILU(0), rows in their own order: x is b, y the solution.
SparsePeer sparse_petsc_ilu(const SparseMatrix& a);

}  // namespace bench
