// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace tailrace::sparse {

/// A checked CSR matrix of the caller.
struct CsrView {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t columns = 0;
  const std::int64_t* row_starts = nullptr;
  const std::int32_t* column_indices = nullptr;
  const double* values = nullptr;

  std::ptrdiff_t num_items() const { return row_starts[rows]; }
  std::ptrdiff_t length(std::ptrdiff_t row) const { return row_starts[row + 1] - row_starts[row]; }
};

}  // namespace tailrace::sparse
