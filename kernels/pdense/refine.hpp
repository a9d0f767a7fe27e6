// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Systems where ScaLAPACK has them, by its factorisation in single precision and refinement. All of
// it is collective over the grid, and what is returned is the same on all its ranks. It calls BLACS
// and ScaLAPACK alone, not MPI.

#include <cmath>
#include <complex>
#include <vector>

#include "dense/scalar.hpp"
#include "pdense/block_cyclic.hpp"
#include "tailrace/dense.hpp"

namespace tailrace::dense {

/// Array arguments of ScaLAPACK are addresses.
inline constexpr int one = 1;

/// The largest of each number over the grid, on all ranks; none is negative. NaN counts as
/// infinite.
void largest_of_grid(int context, double* values, std::size_t count);
/// The sum of each number over the grid, the same on all ranks.
void sum_of_grid(int context, double* values, std::size_t count);

/// The absolute value of an item; infinite for NaN.
template <class S>
double size_or_infinity(S item) {
  return is_finite(item) ? std::abs(item) : HUGE_VAL;
}

// Items of a system are of type S, double or std::complex<double>.

/// A X = B; A is square in square blocks, and B's rows are distributed as A's.
template <class S>
struct DistributedSystem {
  char triangle = 'A';  ///< 'L' or 'U': Hermitian positive definite, only that triangle is read
  BlockCyclic a, b;
  const S* a_items = nullptr;
  int lda = 1;
  const S* b_items = nullptr;
  int ldb = 1;

  bool definite() const { return triangle != 'A'; }
  int n() const { return a.rows.extent; }
  int nrhs() const { return b.columns.extent; }
};

/// This rank's rows of local column `j` that are read: [first, end).
struct RowRange {
  int first, end;
};
RowRange rows_read(const BlockCyclic& a, char triangle, int j);

struct DistributedNorms {
  double infinity = 0;
  double one = 0;
  /// Item of A; infinite if one of A or B is not finite, or squares of complex items are not.
  double largest = 0;

  /// Whether a factorisation may be tried.
  bool usable() const;
};

/// Throws std::bad_alloc in its constructor alone.
template <class S>
struct DistributedFactors {
  explicit DistributedFactors(const BlockCyclic& a, char triangle);

  std::vector<Low<S>> values;  ///< without gaps
  std::vector<int> pivots;     ///< empty: Cholesky
  double scale = 1;            ///< the factors are those of scale * A
};

/// Memory of a refinement. Throws std::bad_alloc in its constructor alone.
template <class S>
struct DistributedWork {
  explicit DistributedWork(const DistributedSystem<S>& system);

  std::vector<S> x, r, before;  ///< as B, without gaps
  std::vector<Low<S>> low;
  std::vector<double> sizes;  ///< of each column of r, x and B
  std::vector<double> sums;   ///< of A's rows and columns
  std::vector<double> own;    ///< of this rank's rows
};

template <class S>
DistributedNorms norms_of(const DistributedSystem<S>& system, DistributedWork<S>& work);
/// False: a zero pivot, or not positive definite.
template <class S>
bool factor(const DistributedSystem<S>& system, const DistributedNorms& norms,
            DistributedFactors<S>& factors);
struct DistributedRefinement {
  int steps = 0;
  double error = 0;  ///< normwise, of the worst column
  /// 1 / (|A| |x| / |b|) of the first answer, infinity norms, of the worst column: at least 1 /
  /// condition, and no more than some sqrt(n) times that but for a special B.
  double rcond = 0;
  const char* why_not = nullptr;  ///< null: it converged
};
/// Solves from x = 0 to `work.x` until the normwise backward error is at most 2^-53 and one step
/// more does not halve it. Stops where the factors show a condition number that they cannot refine,
/// and after two steps that do not contract.
template <class S>
DistributedRefinement refine(const DistributedSystem<S>& system, const DistributedNorms& norms,
                             const DistributedFactors<S>& factors, int max_steps,
                             DistributedWork<S>& work);
/// Factors and refines to `work.x`. The certificate's `info` is -1 where that fails.
template <class S>
Certificate solve_low(const DistributedSystem<S>& system, const DistributedNorms& norms,
                      DistributedFactors<S>& factors, int max_steps, DistributedWork<S>& work);
/// The normwise backward error of x as B, without gaps.
template <class S>
double backward_error(const DistributedSystem<S>& system, const DistributedNorms& norms,
                      const std::vector<S>& x, DistributedWork<S>& work);

}  // namespace tailrace::dense
