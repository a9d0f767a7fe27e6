// SPDX-License-Identifier: BSD-3-Clause
// Solves with triangular factors for one right-hand side: the factors are read once, in their own
// precision, the sums are in double. Four columns at a time, so x is read and written a quarter as
// often; the cost is that of reading the factors from memory.
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

template <class T>
inline void lower(const T* a, std::ptrdiff_t n, std::ptrdiff_t ld, bool unit, Wide<T>* x) {
  std::ptrdiff_t j = 0;
  for (; j + 4 <= n; j += 4) {
    const T* column = a + j * ld;
    for (std::ptrdiff_t k = 0; k < 4; ++k) {
      if (!unit) x[j + k] /= widened(column[j + k + k * ld]);
      subtract_column(column + k * ld, x[j + k], j + k + 1, j + 4, x);
    }
    subtract_columns(column, ld, x + j, j + 4, n, x);
  }
  for (; j < n; ++j) {
    if (!unit) x[j] /= widened(a[j + j * ld]);
    subtract_column(a + j * ld, x[j], j + 1, n, x);
  }
}

template <class T>
inline void upper(const T* a, std::ptrdiff_t n, std::ptrdiff_t ld, Wide<T>* x) {
  std::ptrdiff_t j = n;
  for (; j >= 4; j -= 4) {
    const T* column = a + (j - 4) * ld;
    for (std::ptrdiff_t k = 3; k >= 0; --k) {
      const auto i = j - 4 + k;
      x[i] /= widened(column[i + k * ld]);
      subtract_column(column + k * ld, x[i], j - 4, i, x);
    }
    subtract_columns(column, ld, x + j - 4, 0, j - 4, x);
  }
  while (j-- > 0) {
    x[j] /= widened(a[j + j * ld]);
    subtract_column(a + j * ld, x[j], 0, j, x);
  }
}

template <class T>
inline void lower_transposed(const T* a, std::ptrdiff_t n, std::ptrdiff_t ld, bool unit,
                             Wide<T>* x) {
  for (auto end = n; end > 0; end -= std::min<std::ptrdiff_t>(4, end)) {
    const auto start = std::max<std::ptrdiff_t>(0, end - 4);
    if (end - start == 4) subtract_products(a + start * ld, ld, end, n, x, x + start);
    for (auto j = end - 1; j >= start; --j) {
      x[j] -= scalar_product(a + j * ld, j + 1, end - start == 4 ? end : n, x);
      if (!unit) x[j] /= conjugate(widened(a[j + j * ld]));
    }
  }
}

template <class T>
inline void upper_transposed(const T* a, std::ptrdiff_t n, std::ptrdiff_t ld, Wide<T>* x) {
  for (std::ptrdiff_t start = 0; start < n; start += 4) {
    const auto end = std::min(n, start + 4);
    if (end - start == 4) subtract_products(a + start * ld, ld, 0, start, x, x + start);
    for (auto j = start; j < end; ++j) {
      x[j] -= scalar_product(a + j * ld, end - start == 4 ? start : 0, j, x);
      x[j] /= conjugate(widened(a[j + j * ld]));
    }
  }
}

template <class T>
inline void apply(const Factors<T>& f, Wide<T>* x) {
  const auto n = f.n;
  const T* a = f.values.get();
  if (f.cholesky()) {
    lower(a, n, f.ld, false, x);
    lower_transposed(a, n, f.ld, false, x);
    return;
  }
  for (std::ptrdiff_t i = 0; i < n; ++i)
    std::swap(x[i], x[f.pivots[static_cast<std::size_t>(i)] - 1]);
  lower(a, n, f.ld, true, x);
  upper(a, n, f.ld, x);
}

template <class T>
inline void apply_transposed(const Factors<T>& f, Wide<T>* x) {
  if (f.cholesky()) return apply(f, x);
  upper_transposed(f.values.get(), f.n, f.ld, x);
  lower_transposed(f.values.get(), f.n, f.ld, true, x);
  for (auto i = f.n - 1; i >= 0; --i) std::swap(x[i], x[f.pivots[static_cast<std::size_t>(i)] - 1]);
}

}  // namespace

template <>
TAILRACE_VECTOR_CLONES void apply_inverse(const Factors<float>& factors, double* x) {
  apply(factors, x);
}
template <>
TAILRACE_VECTOR_CLONES void apply_inverse(const Factors<double>& factors, double* x) {
  apply(factors, x);
}
template <>
TAILRACE_VECTOR_CLONES void apply_inverse(const Factors<std::complex<float>>& factors, Complex* x) {
  apply(factors, x);
}
template <>
TAILRACE_VECTOR_CLONES void apply_inverse(const Factors<Complex>& factors, Complex* x) {
  apply(factors, x);
}
template <>
TAILRACE_VECTOR_CLONES void apply_inverse_transposed(const Factors<float>& factors, double* x) {
  apply_transposed(factors, x);
}
template <>
TAILRACE_VECTOR_CLONES void apply_inverse_transposed(const Factors<double>& factors, double* x) {
  apply_transposed(factors, x);
}
template <>
TAILRACE_VECTOR_CLONES void apply_inverse_transposed(const Factors<std::complex<float>>& factors,
                                                     Complex* x) {
  apply_transposed(factors, x);
}
template <>
TAILRACE_VECTOR_CLONES void apply_inverse_transposed(const Factors<Complex>& factors, Complex* x) {
  apply_transposed(factors, x);
}

}  // namespace tailrace::dense
