// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What stands for ScaLAPACK's pdgesv, pdposv, pzgesv, pzposv and pdgels, and for what may follow
// the solvers of systems. All ranks of a grid do the same: they agree on every step by BLACS, and
// the first rank of the grid decides, times and counts. Items are of type S, double or
// std::complex<double>.

#include <functional>

#include "scalapack.hpp"

namespace tailrace::lapack {

inline char upper(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter;
}

/// A matrix argument of ScaLAPACK.
template <class S>
struct Argument {
  S* items;
  const int* i;
  const int* j;
  const int* descriptor;

  /// Whether the descriptor is of a matrix of at least rows x columns that this rank has memory of.
  bool holds(int rows, int columns) const;
  bool begins() const { return *i == 1 && *j == 1; }
};

/// pdgesv, pdposv, pzgesv and pzposv.
template <class S>
struct ParallelCall {
  const Scalapack& scalapack;
  void* caller;
  char triangle;  ///< 'A': pdgesv
  int n, nrhs;
  Argument<S> a;
  int* pivots;
  Argument<S> b;

  /// Of matrices that pdgesv takes; false: it shall say what is wrong.
  bool valid() const;
  /// Whole matrices in square blocks, of which each rank has some.
  bool ours() const;
};

/// The call's info; `real` does it as it would have been without us, and returns its info.
template <class S>
int solve_parallel(const ParallelCall<S>& call, const std::function<int()>& real);

/// pdgetrf and pzgetrf of square matrices with TAILRACE_REFINE=pairs: B of the call is not used.
template <class S>
int factor_parallel(ParallelCall<S> call, const std::function<int()>& real);

/// pdgels: of full rank, least squares or least norm.
struct ParallelLeastSquares {
  const Scalapack& scalapack;
  void* caller;
  char trans;
  int m, n, nrhs;
  Argument<double> a, b;
  const double* work;  ///< its first item, after a question, is the size it must have
  const int* lwork;

  bool valid() const;
  bool ours() const;
};

/// Likewise; `real` takes `lwork`, and -1 asks for the size of `work`.
int solve_parallel(const ParallelLeastSquares& call, const std::function<int(const int*)>& real);

/// Factors that a later call brings.
template <class S>
struct ParallelFactors {
  const Scalapack& scalapack;
  char triangle;
  int n;
  Argument<S> a;
  int* pivots;
};

/// Answers a later solve by refinement; false: not so, and the factors are in double precision now,
/// or were not ours.
template <class S>
bool solve_later(const ParallelFactors<S>& factors, bool transposed, int nrhs,
                 const Argument<S>& b);

/// Before a routine that needs factors in double precision: puts them there.
template <class S>
void need(const ParallelFactors<S>& factors);

}  // namespace tailrace::lapack
