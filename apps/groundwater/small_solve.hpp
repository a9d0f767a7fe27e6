// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

namespace tailrace::groundwater {

/// Solves a x = b by Gaussian elimination with partial pivoting for `count` right sides; `a` (n x
/// n, row-major) is destroyed, `b` (n x count, row-major) becomes x. False if `a` is singular or
/// not finite. Local.
inline bool solve_small(std::span<double> a, std::span<double> b, std::size_t count = 1) {
  const std::size_t n = b.size() / count;
  const auto take_row = [&](std::size_t from, double factor, std::size_t to) {
    for (std::size_t c = 0; c < count; ++c) b[to * count + c] -= factor * b[from * count + c];
  };
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
    }
    const double top = a[pivot * n + k];
    if (top == 0 || !std::isfinite(top)) return false;
    if (pivot != k) {
      for (std::size_t j = k; j < n; ++j) std::swap(a[k * n + j], a[pivot * n + j]);
      for (std::size_t c = 0; c < count; ++c) std::swap(b[k * count + c], b[pivot * count + c]);
    }
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / top;
      if (factor == 0) continue;
      for (std::size_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
      take_row(k, factor, i);
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) take_row(j, a[k * n + j], k);
    for (std::size_t c = 0; c < count; ++c) b[k * count + c] /= a[k * n + k];
  }
  return true;
}

}  // namespace tailrace::groundwater
