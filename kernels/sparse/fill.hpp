// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "sparse/kernels.hpp"

namespace tailrace::sparse {

/// Calls `pass` with the number of vectors as a constant, after Y (length x vectors) is cleared.
template <class Pass>
void from_zero(const Vectors& vectors, std::ptrdiff_t length, Pass pass) {
  for (int i = 0; i < (vectors.block ? block_vectors : 1); ++i) {
    std::fill_n(vectors.y + i * vectors.ldy, length, 0.0);
  }
  if (vectors.block) {
    pass(std::integral_constant<int, block_vectors>());
  } else {
    pass(std::integral_constant<int, 1>());
  }
}

/// Whether no item of rows [first, first + count) of X is infinite or NaN.
template <int n>
bool all_finite(const Vectors& vectors, std::ptrdiff_t first, std::ptrdiff_t count) {
  double zero = 0;  // 0 * x, which is NaN where x is not finite
  for (int i = 0; i < n; ++i) {
    const double* x = vectors.x + first + i * vectors.ldx;
    for (std::ptrdiff_t j = 0; j < count; ++j) zero += 0.0 * x[j];
  }
  return zero == 0;
}

/// Formats with fill multiply slots that are no items of the matrix: 0 * x adds nothing, unless x
/// is infinite or NaN. Then the sum is NaN, and `row_sum(row, x)` finds it anew from items alone.
/// (A sum that began at +0 is never -0, so adding a zero of either sign changes no bit.)
template <class RowSum>
void repair_rows(std::ptrdiff_t first, std::ptrdiff_t last, const Vectors& vectors,
                 RowSum row_sum) {
  for (int i = 0; i < (vectors.block ? block_vectors : 1); ++i) {
    double* y = vectors.y + i * vectors.ldy;
    bool all_numbers = true;
    for (auto row = first; row < last; ++row) all_numbers &= !std::isnan(y[row]);
    if (all_numbers) continue;
    for (auto row = first; row < last; ++row) {
      if (std::isnan(y[row])) y[row] = row_sum(row, vectors.x + i * vectors.ldx);
    }
  }
}

}  // namespace tailrace::sparse
