// SPDX-License-Identifier: BSD-3-Clause
#include "dense/matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tailrace::dense {

namespace {

/// Rows of column j that the caller gave: all, or those of the triangle.
template <class S>
std::ptrdiff_t first_row(const Matrix<S>& matrix, std::ptrdiff_t j) {
  return matrix.triangle == 'L' ? j : 0;
}
template <class S>
std::ptrdiff_t end_row(const Matrix<S>& matrix, std::ptrdiff_t j) {
  return matrix.triangle == 'U' ? j + 1 : matrix.n;
}

}  // namespace

template <class S>
Norms norms_of(const Matrix<S>& matrix) {
  const auto n = matrix.n;
  std::vector<double> rows(static_cast<std::size_t>(n));
  std::vector<double> columns(static_cast<std::size_t>(n));
  double largest = 0;
  double* const row = rows.data();
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    const S* column = matrix.a + j * matrix.lda;
    double sum = 0;
    const auto end = end_row(matrix, j);
#pragma omp simd reduction(+ : sum) reduction(max : largest)
    for (std::ptrdiff_t i = first_row(matrix, j); i < end; ++i) {
      const double item = modulus(column[i]);
      sum += item;
      row[i] += item;
      largest = largest > item ? largest : item;
    }
    columns[static_cast<std::size_t>(j)] += sum;
    if (matrix.symmetric()) columns[static_cast<std::size_t>(j)] -= modulus(column[j]);
  }
  Norms norms;
  double total = 0;  // NaN vanishes in a maximum, not in a sum
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (matrix.symmetric()) rows[i] = columns[i] = rows[i] + columns[i];
    norms.one = std::max(norms.one, columns[i]);
    norms.infinity = std::max(norms.infinity, rows[i]);
    total += rows[i];
    norms.has_zeros = norms.has_zeros || rows[i] == 0 || columns[i] == 0;
  }
  norms.largest = largest;
  if (!std::isfinite(total)) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    norms = {infinity, infinity, infinity, false};
  }
  return norms;
}

template <class S>
Factors<Low<S>> low_copy(const Matrix<S>& matrix, double largest) {
  const auto n = matrix.n;
  Factors<Low<S>> copy;
  copy.n = n;
  // Not a multiple of 512 bytes, so that neighbouring columns do not share sets of the caches.
  copy.ld = (n + 15) / 16 * 16 + (((n + 15) / 16) % 8 == 0 ? 16 : 0);
  copy.values = make_array<Low<S>>(static_cast<std::size_t>(n * copy.ld));
  const int exponent = std::clamp(-std::ilogb(largest), -1000, 1000);
  copy.scale = std::ldexp(1.0, exponent);
  if (!matrix.symmetric()) copy.pivots.resize(static_cast<std::size_t>(n));
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    const S* from = matrix.a + j * matrix.lda;
    Low<S>* const to = copy.values.get();
    const auto end = end_row(matrix, j);
    const auto step = matrix.triangle == 'U' ? copy.ld : 1;  // the upper triangle is transposed
    Low<S>* const start = to + (matrix.triangle == 'U' ? j : j * copy.ld);
    for (std::ptrdiff_t i = first_row(matrix, j); i < end; ++i) {
      const S item = matrix.triangle == 'U' ? conjugate(from[i]) : from[i];
      start[i * step] = narrowed(item * copy.scale);
    }
    if (matrix.symmetric()) {
      to[j + j * copy.ld] = narrowed(real_part(from[j]) * copy.scale);
    }
  }
  return copy;
}

template Norms norms_of(const Matrix<double>& matrix);
template Norms norms_of(const Matrix<Complex>& matrix);
template Factors<float> low_copy(const Matrix<double>& matrix, double largest);
template Factors<std::complex<float>> low_copy(const Matrix<Complex>& matrix, double largest);

}  // namespace tailrace::dense
