// SPDX-License-Identifier: BSD-3-Clause
// Gauss-Jordan with partial pivoting (Golub and Van Loan, Matrix Computations, 3.4).
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tailrace/more/block_incomplete_lu.hpp"

namespace tailrace::sparse {

bool invert_block(int b, double* block) {
  const auto n = static_cast<std::size_t>(b);
  std::vector<std::size_t> pivots(n);
  for (std::size_t k = 0; k < n; ++k) {
    double* row = block + k * n;
    std::size_t best = k;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (std::abs(block[i * n + k]) > std::abs(block[best * n + k])) best = i;
    }
    pivots[k] = best;
    if (best != k) std::swap_ranges(row, row + n, block + best * n);
    const double inverse = 1 / row[k];
    if (row[k] == 0 || !std::isfinite(row[k]) || !std::isfinite(inverse)) return false;
    row[k] = 1;
    for (std::size_t j = 0; j < n; ++j) row[j] *= inverse;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      double* other = block + i * n;
      const double factor = std::exchange(other[k], 0.0);
      for (std::size_t j = 0; j < n; ++j) other[j] -= factor * row[j];
    }
  }
  // Rows were exchanged on the left: columns of the inverse change back, the last first.
  for (std::size_t k = n; k-- > 0;) {
    if (pivots[k] == k) continue;
    for (std::size_t i = 0; i < n; ++i) std::swap(block[i * n + k], block[i * n + pivots[k]]);
  }
  for (std::size_t i = 0; i < n * n; ++i) {
    if (!std::isfinite(block[i])) return false;
  }
  return true;
}

}  // namespace tailrace::sparse
