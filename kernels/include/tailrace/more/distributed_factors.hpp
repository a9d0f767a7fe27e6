// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "tailrace/dense.hpp"

// Dense systems in ScaLAPACK's arrays, factored in single precision and refined. Library
// tailrace::pdense. It calls BLACS and ScaLAPACK, not MPI.
namespace tailrace::dense {

/// This rank's rows and columns of a rows x columns matrix that begins its array; `descriptor` is
/// ScaLAPACK's, of an array that is large enough. Local.
std::array<int, 2> local_extents(const int* descriptor, int rows, int columns);

/// An n x n matrix over the ranks of a BLACS grid with its factors in single precision, by which
/// further right-hand sides are solved to double precision. The matrix is a whole array in square
/// blocks, of which each rank has some; B is a whole array whose rows are distributed as its rows.
/// Arguments are not checked. `solve` and `solve_again` are collective over the grid and return the
/// same on all its ranks; the others are local.
class DistributedLowFactors {
 public:
  /// General ('A') or symmetric positive definite with the triangle 'L' or 'U'. Takes memory for
  /// the factors and a copy of the matrix; throws std::bad_alloc.
  DistributedLowFactors(char triangle, int n, const int* descriptor);
  ~DistributedLowFactors();
  DistributedLowFactors(const DistributedLowFactors&) = delete;
  DistributedLowFactors& operator=(const DistributedLowFactors&) = delete;

  /// Takes memory for the next solve, of n x nrhs items; throws std::bad_alloc. `a` describes the
  /// array with the matrix, or one on another grid of that shape.
  void prepare(const int* a, int nrhs, const int* b);
  /// Factors A and solves in at most `max_steps` steps of refinement. Where refinement fails,
  /// `Certificate::info` is -1 and `b` is unchanged.
  Certificate solve(const double* a, double* b, int max_steps);
  /// Keeps a copy of the matrix, which `a` still holds, and writes the factors over it and their
  /// pivots in the form of pdgesv or pdposv.
  void exchange(double* a, int* pivots);

  // After `exchange`:
  /// Solves by these factors. False: refinement fails, and `b` is unchanged.
  bool solve_again(double* b, int max_steps);
  /// Writes the matrix into an array with leading dimension `lda`.
  void write_matrix(double* a, int lda) const;
  /// Whether an n x n matrix is of this kind and has this rank's blocks at the same places.
  bool has_shape(char triangle, int n, const int* descriptor) const;
  /// This rank's columns; and the rows of one that the triangle has: [first, second).
  int num_columns() const;
  std::array<int, 2> rows(int column) const;
  /// This rank's item of the factors, as `exchange` has written it.
  double item(int row, int column) const;
  /// Those of this rank's rows, from 1; none of a definite matrix.
  std::span<const int> pivots() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The problem of ScaLAPACK's pdgels over the ranks of a BLACS grid: least squares |B - op(A) X|,
/// or, where op(A) has fewer rows than columns, the X of least norm with op(A) X = B; op(A) is A^T
/// if `transposed`, else A. QR or LQ of A in single precision, refined as one system in the
/// residual and the solution, in at most `max_steps` steps and some that still halve the error. A
/// is m x n, a whole array in square blocks, of which each rank has some; B is a whole array of
/// max(m, n) x nrhs items whose rows have blocks of that size, the first in the row of the grid
/// where A begins. Then B holds X and, of least squares, below it one item whose square is the sum
/// of squares; A holds the factors in pdgels' form with the digits of single precision. Where
/// refinement fails, or A is too ill-conditioned for it, `Certificate::info` is -1, and A and B are
/// unchanged. Arguments are not checked. Collective over the grid: all its ranks return the same,
/// or throw std::bad_alloc where memory lacks on one.
Certificate pgels_in_place(bool transposed, int m, int n, double* a, const int* descriptor_of_a,
                           int nrhs, double* b, const int* descriptor_of_b, int max_steps);

}  // namespace tailrace::dense
