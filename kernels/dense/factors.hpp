// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "dense/memory.hpp"
#include "dense/scalar.hpp"
#include "tailrace/dense.hpp"

namespace tailrace::dense {

/// The matrix of a system as the caller gave it, column-major.
template <class S>
struct Matrix {
  const S* a = nullptr;
  std::ptrdiff_t n = 0;
  std::ptrdiff_t lda = 0;
  char triangle =
      'A';  ///< 'L' or 'U': symmetric or Hermitian, only that triangle is read; 'A': general

  bool symmetric() const { return triangle != 'A'; }
};

/// Triangular factors of an n x n matrix, column-major: LU with row swaps, or Cholesky's L.
template <class T>
struct Factors {
  Array<T> values;
  std::ptrdiff_t n = 0;
  std::ptrdiff_t ld = 0;
  std::vector<int> pivots;  ///< as LAPACK's ipiv, from 1; empty: Cholesky
  double scale = 1;         ///< the factors are those of scale * A
  /// A factorisation may end where its pivots fall so fast that 1 / condition will be below this.
  double least_rcond = 0;
  bool given_up = false;  ///< it did

  bool cholesky() const { return pivots.empty(); }
};

/// Whether all are from 1 to `n`: LAPACK's searches return others where items are NaN.
inline bool pivots_within(std::span<const int> pivots, std::ptrdiff_t n) {
  for (int pivot : pivots) {
    if (pivot < 1 || pivot > n) return false;
  }
  return true;
}

/// x = (scale A)^-1 x, or its conjugate transpose's, for a few columns of n items. The factors are
/// read once for two, in their own precision, all sums are in double precision.
template <class T>
void apply_inverse(const Factors<T>& factors, Wide<T>* x, std::ptrdiff_t columns = 1);
template <class T>
void apply_inverse_transposed(const Factors<T>& factors, Wide<T>* x, std::ptrdiff_t columns = 1);

/// b of n items and x = A^-1 b.
template <class S>
struct Solution {
  const S* b = nullptr;
  const S* x = nullptr;
};

/// Estimate of 1 / (norm1 |A^-1|_1), at least that; `norm1` is |A|_1. 0 if an intermediate result
/// is not finite. A known solution of unscaled factors saves two thirds.
template <class T>
double reciprocal_condition(const Factors<T>& factors, double norm1,
                            const Solution<Wide<T>>& known = {});

/// Factors in single precision, in place; false: a zero pivot, not positive definite, or NaN.
template <class T>
bool factor_fp32(Factors<T>& factors);

/// One factorisation of the ladder.
struct RungEntry {
  Rung rung;
  const char* name;
  bool symmetric;  ///< it has a Cholesky factorisation, too
  bool (*available)();
  /// Overwrites the values by their factors; false: a zero pivot, or not positive definite.
  bool (*factor)(Factors<float>& factors);
  /// The same for complex systems; null: there is none.
  bool (*factor_complex)(Factors<std::complex<float>>& factors);
  /// Below this estimate the factors are of no use as a preconditioner: climb at once.
  double least_rcond;
  /// The same of what is predicted before the factorisation, of matrices whose singular values fall
  /// all the way: many of them are below the unit of the factors.
  double least_predicted;
  /// With a known condition number above this, the rung is not tried.
  double largest_condition;
};

/// The ladder without fp64, cheapest first.
std::span<const RungEntry> low_rungs();

}  // namespace tailrace::dense
