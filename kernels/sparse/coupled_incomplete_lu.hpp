// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sparse/kernels.hpp"
#include "sparse/values.hpp"
#include "tailrace/sparse.hpp"

namespace tailrace::sparse {

/// Incomplete factors (D + L) D^-1 (D + U) of block rows that numbers couple, `CoupledArrays`: L
/// and U are what lies beside A's diagonal, numbers still, and D_i = A_ii - sum over j < i of
/// a_ij a_ji D_j^-1. Where no three block rows are coupled with each other, as on 5 and 7 points,
/// that is ILU(0) by blocks; elsewhere it is what Barrett et al., Templates for the Solution of
/// Linear Systems (1994), 3.4.4, call D-ILU. A block row costs an inverse, of b x b numbers, in
/// place of one block each for all that it is coupled with. All members are local.
class CoupledIncompleteLu {
 public:
  static constexpr int largest_block = 16;

  /// Columns of each row ascend. The arrays must outlive it.
  CoupledIncompleteLu(int block, std::span<const std::int64_t> row_starts,
                      std::span<const std::int32_t> columns,
                      InstructionSet highest = InstructionSet::avx512);
  /// Throws std::domain_error with the block row if a block of D is singular or not finite; `solve`
  /// may not be called then.
  void factor(const double* couplings, const double* blocks);
  /// x = M^-1 b, which may be the same array, else apart. `couplings` are those of the factors.
  void solve(const double* couplings, const double* b, double* x) const;

 private:
  CoupledArrays arrays(const double* couplings, const double* blocks) const;

  int block_;
  const Kernels* kernels_;
  std::span<const std::int64_t> row_starts_;
  std::span<const std::int32_t> columns_;
  std::vector<std::int64_t> mirror_;  ///< place of (j, i) for each (i, j), j < i; -1: none
  std::vector<double> mirrored_;
  Aligned<double> inverses_;
};

}  // namespace tailrace::sparse
