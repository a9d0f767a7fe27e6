// SPDX-License-Identifier: BSD-3-Clause
#include "dense/matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tailrace::dense {

namespace {

/// Rows of column j that the caller gave: all, or those of the triangle.
std::ptrdiff_t first_row(const Matrix& matrix, std::ptrdiff_t j) {
  return matrix.triangle == 'L' ? j : 0;
}
std::ptrdiff_t end_row(const Matrix& matrix, std::ptrdiff_t j) {
  return matrix.triangle == 'U' ? j + 1 : matrix.n;
}

}  // namespace

Norms norms_of(const Matrix& matrix) {
  const auto n = matrix.n;
  std::vector<double> rows(static_cast<std::size_t>(n));
  std::vector<double> columns(static_cast<std::size_t>(n));
  double largest = 0;
  double* const row = rows.data();
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    const double* column = matrix.a + j * matrix.lda;
    double sum = 0;
    const auto end = end_row(matrix, j);
#pragma omp simd reduction(+ : sum) reduction(max : largest)
    for (std::ptrdiff_t i = first_row(matrix, j); i < end; ++i) {
      const double item = std::abs(column[i]);
      sum += item;
      row[i] += item;
      largest = largest > item ? largest : item;
    }
    columns[static_cast<std::size_t>(j)] += sum;
    if (matrix.symmetric()) columns[static_cast<std::size_t>(j)] -= std::abs(column[j]);
  }
  Norms norms;
  double total = 0;  // NaN vanishes in a maximum, not in a sum
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (matrix.symmetric()) rows[i] = columns[i] = rows[i] + columns[i];
    norms.one = std::max(norms.one, columns[i]);
    norms.infinity = std::max(norms.infinity, rows[i]);
    total += rows[i];
  }
  norms.largest = largest;
  if (!std::isfinite(total)) {
    norms = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
             std::numeric_limits<double>::infinity()};
  }
  return norms;
}

Factors<float> low_copy(const Matrix& matrix, double largest) {
  const auto n = matrix.n;
  Factors<float> copy;
  copy.n = n;
  // Not a multiple of 512 bytes, so that neighbouring columns do not share sets of the caches.
  copy.ld = (n + 15) / 16 * 16 + (((n + 15) / 16) % 8 == 0 ? 16 : 0);
  copy.values = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(n * copy.ld));
  const int exponent = std::clamp(-std::ilogb(largest), -1000, 1000);
  copy.scale = std::ldexp(1.0, exponent);
  if (!matrix.symmetric()) copy.pivots.resize(static_cast<std::size_t>(n));
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    const double* from = matrix.a + j * matrix.lda;
    float* const to = copy.values.get();
    const auto end = end_row(matrix, j);
    const auto step = matrix.triangle == 'U' ? copy.ld : 1;  // the upper triangle is transposed
    float* const start = to + (matrix.triangle == 'U' ? j : j * copy.ld);
    for (std::ptrdiff_t i = first_row(matrix, j); i < end; ++i) {
      start[i * step] = static_cast<float>(from[i] * copy.scale);
    }
  }
  return copy;
}

}  // namespace tailrace::dense
