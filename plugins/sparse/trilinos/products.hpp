// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>

#include "watched_arrays.hpp"

namespace tailrace::trilinos {

/// One call of Epetra for a product of the rank's part of a matrix.
struct Product {
  bool transposed = false;
  WatchedArrays arrays;
  std::ptrdiff_t result_items = 0;  ///< of each vector of y
  std::ptrdiff_t vectors = 1;
  const double* x = nullptr;
  std::ptrdiff_t ldx = 0;
  double* y = nullptr;
  std::ptrdiff_t ldy = 0;
};

/// Computes a product, by Tailrace or by `epetra`.
void multiply(const Product& product, const std::function<void()>& epetra);

}  // namespace tailrace::trilinos
