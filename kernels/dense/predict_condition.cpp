// SPDX-License-Identifier: BSD-3-Clause
// Pivots fall about as singular values do. The block of the first n / 8 rows and columns is
// factored in single precision, which takes 1/512 of the operations, and its pivots by thirds say
// how fast: the logarithm of the last is the slope of the first, extrapolated to n. Where the two
// slopes between thirds differ the smaller counts, so that a block of low rank, whose pivots fall
// once to the unit, predicts nothing.
#include "dense/predict_condition.hpp"

#include <algorithm>
#include <cmath>

#include "dense/lapack.hpp"
#include "dense/matrix.hpp"

namespace tailrace::dense {

namespace {

constexpr std::ptrdiff_t part = 8;
constexpr std::ptrdiff_t least_rows = 48;  // of the block: fewer pivots tell chance

/// Mean logarithm of the sizes of pivots [first, last).
template <class T>
double mean_log_pivot(const Factors<T>& factors, std::ptrdiff_t first, std::ptrdiff_t last) {
  double sum = 0;
  for (auto k = first; k < last; ++k) {
    sum += std::log(std::abs(factors.values[static_cast<std::size_t>(k * (factors.ld + 1))]));
  }
  const double mean = sum / static_cast<double>(last - first);
  return factors.cholesky() ? 2 * mean : mean;
}

}  // namespace

template <class S>
double predicted_rcond(const Matrix<S>& matrix) {
  const auto third = matrix.n / part / 3;
  const auto rows = 3 * third;
  if (rows < least_rows) return 1;
  const Matrix<S> block{matrix.a, rows, matrix.lda, matrix.triangle};
  Norms norms;
  auto factors = low_copy_with_norms(block, norms);
  if (!factors.values) return 1;
  if (!factor_fp32(factors)) return factors.cholesky() ? 0 : 1;
  const double top = mean_log_pivot(factors, 0, third);
  const double middle = mean_log_pivot(factors, third, 2 * third);
  const double bottom = mean_log_pivot(factors, 2 * third, rows);
  const double slope = std::min(top - middle, middle - bottom) / static_cast<double>(third);
  return std::exp(-std::max(0.0, slope) * static_cast<double>(matrix.n));
}

template double predicted_rcond(const Matrix<double>& matrix);
template double predicted_rcond(const Matrix<Complex>& matrix);

}  // namespace tailrace::dense
