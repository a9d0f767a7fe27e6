// SPDX-License-Identifier: BSD-3-Clause
#include "dense/matrix.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "dense/vector_clones.hpp"

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

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Norms not_finite{infinity, infinity, infinity, false};

/// What a pass over a column finds.
struct Column {
  double sum = 0;
  double largest = 0;
};

/// Sizes of items [0, rows) are added to `row_sums`; to = scale * from unless `to` is null. What
/// comes next is fetched: prefetchers stop where a page ends.
template <class S, class T>
inline Column pass_over(const S* from, std::ptrdiff_t rows, double* row_sums, double scale, T* to) {
  constexpr std::ptrdiff_t at_once = 64;
  constexpr std::ptrdiff_t ahead = 4096 / sizeof(S);
  double sum = 0;
  double largest = 0;
  for (std::ptrdiff_t top = 0; top < rows; top += at_once) {
    const auto end = std::min(rows, top + at_once);
    for (auto i = top; i < end; i += 64 / sizeof(S)) __builtin_prefetch(from + i + ahead);
#pragma omp simd reduction(+ : sum) reduction(max : largest)
    for (auto i = top; i < end; ++i) {
      const double size = modulus(from[i]);
      sum += size;
      row_sums[i] += size;
      largest = largest > size ? largest : size;
    }
    if (to == nullptr) continue;
#pragma omp simd
    for (auto i = top; i < end; ++i) {
      if constexpr (std::is_same_v<S, T>) {
        to[i] = from[i];
      } else {
        to[i] = narrowed(from[i] * scale);
      }
    }
  }
  return {sum, largest};
}
TAILRACE_VECTOR_CLONES Column pass_over_column(const double* from, std::ptrdiff_t rows,
                                               double* row_sums, double scale, float* to) {
  return pass_over(from, rows, row_sums, scale, to);
}
TAILRACE_VECTOR_CLONES Column pass_over_column(const Complex* from, std::ptrdiff_t rows,
                                               double* row_sums, double scale,
                                               std::complex<float>* to) {
  return pass_over(from, rows, row_sums, scale, to);
}
TAILRACE_VECTOR_CLONES Column pass_over_column(const double* from, std::ptrdiff_t rows,
                                               double* row_sums, double scale, double* to) {
  return pass_over(from, rows, row_sums, scale, to);
}
TAILRACE_VECTOR_CLONES Column pass_over_column(const Complex* from, std::ptrdiff_t rows,
                                               double* row_sums, double scale, Complex* to) {
  return pass_over(from, rows, row_sums, scale, to);
}

/// Norms, and a copy times its scale unless `copy` is null, of a general matrix. A copy in double
/// precision is not scaled.
template <class S, class T>
Norms pass_over(const Matrix<S>& matrix, Factors<T>* copy) {
  const auto n = matrix.n;
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> row_sums;
  std::vector<double> sums(size);
  double largest = 0;
#pragma omp parallel reduction(max : largest)
  {
    const auto threads = static_cast<std::size_t>(omp_get_num_threads());
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
#pragma omp single
    row_sums.resize(threads * size);
#pragma omp for schedule(static)
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      const auto column = pass_over_column(matrix.a + j * matrix.lda, n,
                                           row_sums.data() + thread * size, copy ? copy->scale : 1,
                                           copy ? copy->values.get() + j * copy->ld : nullptr);
      sums[static_cast<std::size_t>(j)] = column.sum;
      largest = std::max(largest, column.largest);
    }
  }
  Norms norms;
  norms.largest = largest;
  double total = 0;  // NaN vanishes in a maximum, not in a sum
  for (std::size_t i = 0; i < size; ++i) {
    double row = 0;
    for (std::size_t from = i; from < row_sums.size(); from += size) row += row_sums[from];
    norms.one = std::max(norms.one, sums[i]);
    norms.infinity = std::max(norms.infinity, row);
    total += row;
    norms.has_zeros = norms.has_zeros || row == 0 || sums[i] == 0;
  }
  return std::isfinite(total) ? norms : not_finite;
}

/// The same of a symmetric matrix, whose row sums are those of its columns, and of a copy in double
/// precision.
template <class S>
Norms norms_of_triangle(const Matrix<S>& matrix, Factors<S>* copy) {
  const auto n = matrix.n;
  std::vector<double> sums(static_cast<std::size_t>(n));
  Norms norms;
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    const S* column = matrix.a + j * matrix.lda;
    const auto first = matrix.triangle == 'L' ? j + 1 : 0;
    const auto rows = matrix.triangle == 'L' ? n - j - 1 : j;
    S* const to = copy ? copy->values.get() + j * copy->ld : nullptr;
    const auto rest =
        pass_over_column(column + first, rows, sums.data() + first, 1, copy ? to + first : nullptr);
    if (copy) to[j] = column[j];
    const double own = modulus(column[j]);
    sums[static_cast<std::size_t>(j)] += own + rest.sum;
    norms.largest = std::max({norms.largest, own, rest.largest});
  }
  double total = 0;
  for (const double sum : sums) {
    norms.one = std::max(norms.one, sum);
    total += sum;
    norms.has_zeros = norms.has_zeros || sum == 0;
  }
  norms.infinity = norms.one;
  return std::isfinite(total) ? norms : not_finite;
}

int scale_exponent(double largest) { return std::clamp(-std::ilogb(largest), -1000, 1000); }

/// Memory for a copy, and its scale.
template <class T, class S>
Factors<T> empty_copy(const Matrix<S>& matrix, int exponent) {
  const auto n = matrix.n;
  Factors<T> copy;
  copy.n = n;
  // Not a multiple of 512 bytes, so that neighbouring columns do not share sets of the caches.
  copy.ld = (n + 15) / 16 * 16 + (((n + 15) / 16) % 8 == 0 ? 16 : 0);
  copy.values = make_array<T>(static_cast<std::size_t>(n * copy.ld));
  copy.scale = std::ldexp(1.0, exponent);
  if (!matrix.symmetric()) copy.pivots.resize(static_cast<std::size_t>(n));
  return copy;
}

}  // namespace

template <class S>
Norms norms_of(const Matrix<S>& matrix) {
  Factors<S>* const no_copy = nullptr;
  return matrix.symmetric() ? norms_of_triangle(matrix, no_copy) : pass_over(matrix, no_copy);
}

template <class S>
Factors<Low<S>> low_copy(const Matrix<S>& matrix, double largest) {
  const auto n = matrix.n;
  auto copy = empty_copy<Low<S>>(matrix, scale_exponent(largest));
  if (!matrix.symmetric()) {
    pass_over(matrix, &copy);
    return copy;
  }
  Low<S>* const to = copy.values.get();
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    const S* from = matrix.a + j * matrix.lda;
    const auto end = end_row(matrix, j);
    const auto step = matrix.triangle == 'U' ? copy.ld : 1;  // the upper triangle is transposed
    Low<S>* const start = to + (matrix.triangle == 'U' ? j : j * copy.ld);
    for (std::ptrdiff_t i = first_row(matrix, j); i < end; ++i) {
      const S item = matrix.triangle == 'U' ? conjugate(from[i]) : from[i];
      start[i * step] = narrowed(item * copy.scale);
    }
    to[j + j * copy.ld] = narrowed(real_part(from[j]) * copy.scale);
  }
  return copy;
}

template <class S>
Factors<Low<S>> low_copy_with_norms(const Matrix<S>& matrix, Norms& norms) {
  constexpr int near = 20;  // exponents of 2 by which the largest item may be off 1
  if (matrix.symmetric()) {
    norms = norms_of(matrix);
    return std::isfinite(norms.largest) && norms.largest > 0 ? low_copy(matrix, norms.largest)
                                                             : Factors<Low<S>>{};
  }
  double guess = 0;
  for (std::ptrdiff_t i = 0; i < matrix.n; ++i) guess = std::max(guess, modulus(matrix.a[i]));
  const int exponent = guess > 0 && std::isfinite(guess) ? scale_exponent(guess) : 0;
  auto copy = empty_copy<Low<S>>(matrix, exponent);
  norms = pass_over(matrix, &copy);
  if (!std::isfinite(norms.largest) || norms.has_zeros) return {};
  if (std::abs(scale_exponent(norms.largest) - exponent) <= near) return copy;
  return low_copy(matrix, norms.largest);
}

template <class S>
Factors<S> copy_with_norms(const Matrix<S>& matrix, Norms* norms) {
  auto copy = empty_copy<S>(matrix, 0);
  if (norms != nullptr) {
    *norms = matrix.symmetric() ? norms_of_triangle(matrix, &copy) : pass_over(matrix, &copy);
    return copy;
  }
  for (std::ptrdiff_t j = 0; j < matrix.n; ++j) {
    const auto first = first_row(matrix, j);
    const auto rows = end_row(matrix, j) - first;
    std::copy_n(matrix.a + first + j * matrix.lda, rows, copy.values.get() + first + j * copy.ld);
  }
  return copy;
}

template Norms norms_of(const Matrix<double>& matrix);
template Norms norms_of(const Matrix<Complex>& matrix);
template Factors<float> low_copy(const Matrix<double>& matrix, double largest);
template Factors<std::complex<float>> low_copy(const Matrix<Complex>& matrix, double largest);
template Factors<double> copy_with_norms(const Matrix<double>& matrix, Norms* norms);
template Factors<Complex> copy_with_norms(const Matrix<Complex>& matrix, Norms* norms);
template Factors<float> low_copy_with_norms(const Matrix<double>& matrix, Norms& norms);
template Factors<std::complex<float>> low_copy_with_norms(const Matrix<Complex>& matrix,
                                                          Norms& norms);

}  // namespace tailrace::dense
