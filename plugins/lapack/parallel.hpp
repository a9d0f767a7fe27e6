// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What stands for ScaLAPACK's pdgesv, pdposv and pdgels, and for what may follow the first two. All
// ranks of a grid do the same: they agree on every step by BLACS, and the first rank of the grid
// decides, times and counts.

#include <functional>

#include "scalapack.hpp"

namespace tailrace::lapack {

/// A matrix argument of ScaLAPACK.
struct Argument {
  double* items;
  const int* i;
  const int* j;
  const int* descriptor;

  /// Whether the descriptor is of a matrix of at least rows x columns that this rank has memory of.
  bool holds(int rows, int columns) const;
  bool begins() const { return *i == 1 && *j == 1; }
};

/// pdgesv and pdposv.
struct ParallelCall {
  const Scalapack& scalapack;
  void* caller;
  char triangle;  ///< 'A': pdgesv
  int n, nrhs;
  Argument a;
  int* pivots;
  Argument b;

  /// Of matrices that pdgesv takes; false: it shall say what is wrong.
  bool valid() const;
  /// Whole matrices in square blocks, of which each rank has some.
  bool ours() const;
};

/// The call's info; `real` does it as it would have been without us, and returns its info.
int solve_parallel(const ParallelCall& call, const std::function<int()>& real);

/// pdgels: of full rank, least squares or least norm.
struct ParallelLeastSquares {
  const Scalapack& scalapack;
  void* caller;
  char trans;
  int m, n, nrhs;
  Argument a, b;
  const double* work;  ///< its first item, after a question, is the size it must have
  const int* lwork;

  bool valid() const;
  bool ours() const;
};

/// Likewise; `real` takes `lwork`, and -1 asks for the size of `work`.
int solve_parallel(const ParallelLeastSquares& call, const std::function<int(const int*)>& real);

/// Factors that a later call brings.
struct ParallelFactors {
  const Scalapack& scalapack;
  char triangle;
  int n;
  Argument a;
  int* pivots;
};

/// Answers a later solve by refinement; false: not so, and the factors are in double precision now,
/// or were not ours.
bool solve_later(const ParallelFactors& factors, bool transposed, int nrhs, const Argument& b);

/// Before a routine that needs factors in double precision: puts them there.
void need(const ParallelFactors& factors);

}  // namespace tailrace::lapack
