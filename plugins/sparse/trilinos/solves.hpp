// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "watched_arrays.hpp"

namespace tailrace::trilinos {

/// One call of Epetra for x = T^-1 b, or (T^T)^-1 b, of a triangle T with ones on its diagonal that
/// are not stored, as the factors of Ifpack.
struct Solve {
  bool upper = false;
  bool transposed = false;
  WatchedArrays arrays;
  const double* b = nullptr;
  double* x = nullptr;

  /// Whether the matrix of the system is a lower triangle.
  bool is_lower() const { return upper == transposed; }
};

/// Solves a triangle, by Tailrace or by `epetra`.
void solve(const Solve& solve, const std::function<void()>& epetra);

}  // namespace tailrace::trilinos
