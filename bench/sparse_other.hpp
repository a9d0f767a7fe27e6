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
/// The other formats that PETSc makes of it; BAIJ where `block` is above 1.
std::vector<SparsePeer> sparse_petsc_types(const SparseMatrix& a, int block);
/// MatSolve with the factors of its ILU(0), rows in their own order: x is b, y the solution.
SparsePeer sparse_petsc_ilu(const SparseMatrix& a);
/// MKL's inspector-executor from that libmkl_rt, or nothing, with a line why.
std::vector<SparsePeer> sparse_mkl(const std::string& path, const SparseMatrix& a);

/// Conjugate gradients from 0, from the arrays of a matrix to x with |b - A x| <= 1e-8 |b|: all
/// that a program would do is in it. `preconditioner` is "jacobi" or "icc0". Returns iterations.
struct SparseSolver {
  std::string entry;
  std::function<int(const double* b, double* x)> solve;
};
constexpr double sparse_tolerance = 1e-8;

SparseSolver sparse_eigen_cg(const SparseMatrix& a, const std::string& preconditioner);
SparseSolver sparse_petsc_cg(const SparseMatrix& a, const std::string& preconditioner);

}  // namespace bench
