// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>

#include "sparse/kernels.hpp"

namespace tailrace::sparse {

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
