// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <span>

#include "tailrace/dense.hpp"

// Dense systems in ScaLAPACK's arrays, factored in single precision and refined. Library
// tailrace::pdense. It calls BLACS and ScaLAPACK, not MPI.
namespace tailrace::dense {

/// The number of rows and columns on this rank of a rows x columns matrix at the start of its
/// array; `descriptor` is a ScaLAPACK descriptor of a sufficiently large array. Local.
std::array<int, 2> local_extents(const int* descriptor, int rows, int columns);

/// An n x n matrix over the ranks of a BLACS grid with factors in single precision, with which
/// further right-hand sides are solved to double precision. The matrix is an entire array in square
/// blocks, with at least one on each rank; B is an entire array whose rows are distributed like
/// those of the matrix. Arguments are not checked. `solve` and `solve_again` are collective over
/// the grid and return the same on all its ranks; the other functions are local. S is double or
/// std::complex<double>, whose matrices with a triangle are Hermitian.
template <class S>
class DistributedLowFactors {
 public:
  /// General ('A') or symmetric positive definite with the triangle 'L' or 'U'. Allocates memory
  /// for the factors and a copy of the matrix; throws std::bad_alloc.
  DistributedLowFactors(char triangle, int n, const int* descriptor);
  ~DistributedLowFactors();
  DistributedLowFactors(const DistributedLowFactors&) = delete;
  DistributedLowFactors& operator=(const DistributedLowFactors&) = delete;

  /// Allocates memory for the next solve, with n x nrhs items; throws std::bad_alloc. `a` describes
  /// the array with the matrix, or one on another grid of that shape.
  void prepare(const int* a, int nrhs, const int* b);
  /// Factors A and solves with at most `max_steps` steps of refinement. If refinement fails,
  /// `Certificate::info` is -1 and `b` is unchanged.
  Certificate solve(const S* a, S* b, int max_steps);
  /// Keeps a copy of the matrix, which `a` still holds, and writes the factors over it and their
  /// pivots in the form of pdgesv or pdposv (pzgesv or pzposv).
  void exchange(S* a, int* pivots);

  // After `exchange`:
  /// Solves with these factors. Returns false, with `b` unchanged, if refinement fails.
  bool solve_again(S* b, int max_steps);
  /// Writes the matrix into an array with leading dimension `lda`.
  void write_matrix(S* a, int lda) const;
  /// Whether an n x n matrix is of this kind and has the same distribution of blocks on this rank.
  bool has_shape(char triangle, int n, const int* descriptor) const;
  /// This rank's columns, and the rows of a column in the triangle: [first, second).
  int num_columns() const;
  std::array<int, 2> rows(int column) const;
  /// An item of this rank's factors as written by `exchange`.
  S item(int row, int column) const;
  /// Pivots of this rank's rows, from 1; empty for a positive definite matrix.
  std::span<const int> pivots() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class DistributedLowFactors<double>;
extern template class DistributedLowFactors<std::complex<double>>;

/// The problem of ScaLAPACK's pdgels over the ranks of a BLACS grid: least squares |B - op(A) X|,
/// or, if op(A) has fewer rows than columns, the minimum-norm X with op(A) X = B; op(A) is A^T if
/// `transposed`, otherwise A. A is factored (QR or LQ) in single precision; residual and solution
/// are refined together in at most `max_steps` steps, plus further ones while they halve the error.
/// A is m x n, an entire array in square blocks, with at least one on each rank; B is an entire
/// array of max(m, n) x nrhs items whose rows have the same block size and begin in the grid row
/// where A begins. On return, B contains X and, for least squares, below it one item whose square
/// is the sum of squares; A contains the factors in the form of pdgels, accurate to single
/// precision. If refinement fails, or A is too ill-conditioned, `Certificate::info` is -1, and A
/// and B are unchanged. Arguments are not checked. Collective over the grid: all its ranks return
/// the same, or throw std::bad_alloc if any rank lacks memory.
Certificate pgels_in_place(bool transposed, int m, int n, double* a, const int* descriptor_of_a,
                           int nrhs, double* b, const int* descriptor_of_b, int max_steps);

}  // namespace tailrace::dense
