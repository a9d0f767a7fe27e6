// SPDX-License-Identifier: BSD-3-Clause
// Solves with triangular factors for a few right-hand sides: the factors are read once, in their own
// precision, the sums are in double. Four columns at a time, so x is read and written a quarter as
// often; they stay in a near cache for all right-hand sides, so the cost is that of reading the
// factors from memory.
#include <algorithm>
#include <utility>

#include "dense/factors.hpp"
#include "dense/vector_clones.hpp"

namespace tailrace::dense {

namespace {

/// x[first, last) -= the columns c .. c+3 of `a` times `s`.
template <class T>
inline void subtract_columns(const T* a, std::ptrdiff_t ld, const Wide<T>* s, std::ptrdiff_t first,
                             std::ptrdiff_t last, Wide<T>* x) {
  const T* a1 = a + ld;
  const T* a2 = a1 + ld;
  const T* a3 = a2 + ld;
#pragma omp simd
  for (std::ptrdiff_t i = first; i < last; ++i) {
    x[i] -= product(s[0], widened(a[i])) + product(s[1], widened(a1[i])) +
            product(s[2], widened(a2[i])) + product(s[3], widened(a3[i]));
  }
}

template <class T>
inline void subtract_column(const T* a, Wide<T> s, std::ptrdiff_t first, std::ptrdiff_t last,
                            Wide<T>* x) {
#pragma omp simd
  for (std::ptrdiff_t i = first; i < last; ++i) x[i] -= product(s, widened(a[i]));
}

/// The scalar product of a column, conjugated, and x[first, last).
inline double scalar_product(const auto* a, std::ptrdiff_t first, std::ptrdiff_t last,
                             const double* x) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::ptrdiff_t i = first; i < last; ++i) sum += x[i] * widened(a[i]);
  return sum;
}
inline Complex scalar_product(const auto* a, std::ptrdiff_t first, std::ptrdiff_t last,
                              const Complex* x) {
  double real = 0;
  double imaginary = 0;
#pragma omp simd reduction(+ : real, imaginary)
  for (std::ptrdiff_t i = first; i < last; ++i) {
    const Complex item = product(x[i], conjugate(widened(a[i])));
    real += item.real();
    imaginary += item.imag();
  }
  return {real, imaginary};
}

/// to[0, 4) -= the scalar products of four columns and x[first, last).
template <class T>
inline void subtract_products(const T* a, std::ptrdiff_t ld, std::ptrdiff_t first,
                              std::ptrdiff_t last, const double* x, double* to) {
  const T* a1 = a + ld;
  const T* a2 = a1 + ld;
  const T* a3 = a2 + ld;
  double sum = 0;
  double sum1 = 0;
  double sum2 = 0;
  double sum3 = 0;
#pragma omp simd reduction(+ : sum, sum1, sum2, sum3)
  for (std::ptrdiff_t i = first; i < last; ++i) {
    sum += x[i] * widened(a[i]);
    sum1 += x[i] * widened(a1[i]);
    sum2 += x[i] * widened(a2[i]);
    sum3 += x[i] * widened(a3[i]);
  }
  to[0] -= sum;
  to[1] -= sum1;
  to[2] -= sum2;
  to[3] -= sum3;
}
template <class T>
inline void subtract_products(const T* a, std::ptrdiff_t ld, std::ptrdiff_t first,
                              std::ptrdiff_t last, const Complex* x, Complex* to) {
  for (std::ptrdiff_t k = 0; k < 4; ++k) to[k] -= scalar_product(a + k * ld, first, last, x);
}

/// A triangle of a matrix of n columns, and whether its diagonal counts as ones.
template <class T>
struct Triangle {
  const T* a;
  std::ptrdiff_t n, ld;
  bool unit;
};

// Each solves with four columns, or fewer at the end, for one right-hand side.

template <class T>
inline void lower_part(const Triangle<T>& t, std::ptrdiff_t j, std::ptrdiff_t end, Wide<T>* x) {
  const T* column = t.a + j * t.ld;
  for (std::ptrdiff_t k = 0; j + k < end; ++k) {
    if (!t.unit) x[j + k] /= widened(column[j + k + k * t.ld]);
    subtract_column(column + k * t.ld, x[j + k], j + k + 1, end, x);
  }
  if (end < t.n) subtract_columns(column, t.ld, x + j, end, t.n, x);
}

template <class T>
inline void upper_part(const Triangle<T>& t, std::ptrdiff_t j, std::ptrdiff_t end, Wide<T>* x) {
  const T* column = t.a + j * t.ld;
  for (auto i = end - 1; i >= j; --i) {
    x[i] /= widened(column[i + (i - j) * t.ld]);
    subtract_column(column + (i - j) * t.ld, x[i], j, i, x);
  }
  if (j > 0) subtract_columns(column, t.ld, x + j, 0, j, x);
}

template <class T>
inline void lower_transposed_part(const Triangle<T>& t, std::ptrdiff_t start, std::ptrdiff_t end,
                                  Wide<T>* x) {
  if (end < t.n) subtract_products(t.a + start * t.ld, t.ld, end, t.n, x, x + start);
  for (auto j = end - 1; j >= start; --j) {
    x[j] -= scalar_product(t.a + j * t.ld, j + 1, end, x);
    if (!t.unit) x[j] /= conjugate(widened(t.a[j + j * t.ld]));
  }
}

template <class T>
inline void upper_transposed_part(const Triangle<T>& t, std::ptrdiff_t start, std::ptrdiff_t end,
                                  Wide<T>* x) {
  if (start > 0) subtract_products(t.a + start * t.ld, t.ld, 0, start, x, x + start);
  for (auto j = start; j < end; ++j) {
    x[j] -= scalar_product(t.a + j * t.ld, start, j, x);
    x[j] /= conjugate(widened(t.a[j + j * t.ld]));
  }
}

// Each part for all right-hand sides. Fewer than four columns are the last of L, the first of U.

template <class T>
inline void lower(const Triangle<T>& t, Wide<T>* x, std::ptrdiff_t columns) {
  for (std::ptrdiff_t j = 0; j < t.n; j += 4) {
    const auto end = std::min(t.n, j + 4);
    for (std::ptrdiff_t c = 0; c < columns; ++c) lower_part(t, j, end, x + c * t.n);
  }
}

template <class T>
inline void lower_transposed(const Triangle<T>& t, Wide<T>* x, std::ptrdiff_t columns) {
  for (auto j = (t.n - 1) / 4 * 4; j >= 0; j -= 4) {
    const auto end = std::min(t.n, j + 4);
    for (std::ptrdiff_t c = 0; c < columns; ++c) lower_transposed_part(t, j, end, x + c * t.n);
  }
}

template <class T>
inline void upper(const Triangle<T>& t, Wide<T>* x, std::ptrdiff_t columns) {
  for (auto end = t.n; end > 0; end -= 4) {
    const auto j = std::max<std::ptrdiff_t>(0, end - 4);
    for (std::ptrdiff_t c = 0; c < columns; ++c) upper_part(t, j, end, x + c * t.n);
  }
}

template <class T>
inline void upper_transposed(const Triangle<T>& t, Wide<T>* x, std::ptrdiff_t columns) {
  for (auto end = (t.n - 1) % 4 + 1; end <= t.n; end += 4) {
    const auto j = std::max<std::ptrdiff_t>(0, end - 4);
    for (std::ptrdiff_t c = 0; c < columns; ++c) upper_transposed_part(t, j, end, x + c * t.n);
  }
}

template <class T>
inline void apply(const Factors<T>& f, Wide<T>* x, std::ptrdiff_t columns) {
  const Triangle<T> all{f.values.get(), f.n, f.ld, !f.cholesky()};
  if (f.cholesky()) {
    lower(all, x, columns);
    lower_transposed(all, x, columns);
    return;
  }
  for (std::ptrdiff_t c = 0; c < columns; ++c) {
    Wide<T>* const column = x + c * f.n;
    for (std::ptrdiff_t i = 0; i < f.n; ++i)
      std::swap(column[i], column[f.pivots[static_cast<std::size_t>(i)] - 1]);
  }
  lower(all, x, columns);
  upper(all, x, columns);
}

template <class T>
inline void apply_transposed(const Factors<T>& f, Wide<T>* x, std::ptrdiff_t columns) {
  if (f.cholesky()) return apply(f, x, columns);
  const Triangle<T> all{f.values.get(), f.n, f.ld, true};
  upper_transposed(all, x, columns);
  lower_transposed(all, x, columns);
  for (std::ptrdiff_t c = 0; c < columns; ++c) {
    Wide<T>* const column = x + c * f.n;
    for (auto i = f.n - 1; i >= 0; --i)
      std::swap(column[i], column[f.pivots[static_cast<std::size_t>(i)] - 1]);
  }
}

}  // namespace

template <>
TAILRACE_VECTOR_CLONES void apply_inverse(const Factors<float>& factors, double* x,
                                          std::ptrdiff_t columns) {
  apply(factors, x, columns);
}
template <>
TAILRACE_VECTOR_CLONES void apply_inverse_transposed(const Factors<float>& factors, double* x,
                                                     std::ptrdiff_t columns) {
  apply_transposed(factors, x, columns);
}
template <>
TAILRACE_VECTOR_CLONES void apply_inverse(const Factors<double>& factors, double* x,
                                          std::ptrdiff_t columns) {
  apply(factors, x, columns);
}
template <>
TAILRACE_VECTOR_CLONES void apply_inverse_transposed(const Factors<double>& factors, double* x,
                                                     std::ptrdiff_t columns) {
  apply_transposed(factors, x, columns);
}
template <>
TAILRACE_VECTOR_CLONES void apply_inverse(const Factors<std::complex<float>>& factors, Complex* x,
                                          std::ptrdiff_t columns) {
  apply(factors, x, columns);
}
template <>
TAILRACE_VECTOR_CLONES void apply_inverse_transposed(const Factors<std::complex<float>>& factors, Complex* x,
                                                     std::ptrdiff_t columns) {
  apply_transposed(factors, x, columns);
}
template <>
TAILRACE_VECTOR_CLONES void apply_inverse(const Factors<Complex>& factors, Complex* x,
                                          std::ptrdiff_t columns) {
  apply(factors, x, columns);
}
template <>
TAILRACE_VECTOR_CLONES void apply_inverse_transposed(const Factors<Complex>& factors, Complex* x,
                                                     std::ptrdiff_t columns) {
  apply_transposed(factors, x, columns);
}

}  // namespace tailrace::dense
