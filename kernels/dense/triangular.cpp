// SPDX-License-Identifier: BSD-3-Clause
// Solves with triangular factors for a few right-hand sides: the factors are read in their own
// precision, once for two of them, the sums are in double. Four columns at a time, so x is read and
// written a quarter as often; the cost is that of reading the factors from memory.
#include <algorithm>
#include <utility>

#include "dense/factors.hpp"
#include "dense/vector_clones.hpp"

namespace tailrace::dense {

namespace {

/// Rows that a line of the caches holds of a column.
template <class T>
constexpr std::ptrdiff_t line_rows = 64 / sizeof(T);

/// Asks for a line of each of four columns, some lines on: one core has too few loads under way
/// otherwise.
template <class T>
inline void fetch(const T* a, std::ptrdiff_t ld) {
  constexpr std::ptrdiff_t lines_ahead = 16;
  for (std::ptrdiff_t c = 0; c < 4; ++c) {
    __builtin_prefetch(a + lines_ahead * line_rows<T> + c * ld);
  }
}

/// x[first, last) -= the columns j .. j+3 of `a`, which starts there, times x[j, j+4), for
/// right-hand sides that are n items apart.
template <int Columns, class T>
inline void subtract_columns(const T* a, std::ptrdiff_t ld, std::ptrdiff_t j, std::ptrdiff_t first,
                             std::ptrdiff_t last, Wide<T>* x, std::ptrdiff_t n) {
  Wide<T> s[Columns][4];
  for (int c = 0; c < Columns; ++c) std::copy_n(x + j + c * n, 4, s[c]);
  const auto subtract = [&](std::ptrdiff_t i) {
    const auto a0 = widened(a[i]), a1 = widened(a[i + ld]), a2 = widened(a[i + 2 * ld]),
               a3 = widened(a[i + 3 * ld]);
    for (int c = 0; c < Columns; ++c) {
      x[i + c * n] -=
          product(s[c][0], a0) + product(s[c][1], a1) + product(s[c][2], a2) + product(s[c][3], a3);
    }
  };
  auto i = first;
  for (; i + line_rows<T> <= last; i += line_rows<T>) {
    fetch(a + i, ld);
#pragma omp simd
    for (std::ptrdiff_t k = 0; k < line_rows<T>; ++k) subtract(i + k);
  }
  for (; i < last; ++i) subtract(i);
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

/// x[j, j+4) -= the scalar products of four columns of `a`, which starts there, and x[first, last).
template <int Columns, class T>
inline void subtract_products(const T* a, std::ptrdiff_t ld, std::ptrdiff_t j, std::ptrdiff_t first,
                              std::ptrdiff_t last, double* x, std::ptrdiff_t n) {
  double sums[Columns][4][8] = {};
  auto i = first;
  for (; i + 8 <= last; i += 8) {
    fetch(a + i, ld);
#pragma omp simd
    for (std::ptrdiff_t k = 0; k < 8; ++k) {
      const auto at = i + k;
      const auto a0 = widened(a[at]), a1 = widened(a[at + ld]), a2 = widened(a[at + 2 * ld]),
                 a3 = widened(a[at + 3 * ld]);
      for (int c = 0; c < Columns; ++c) {
        sums[c][0][k] += x[at + c * n] * a0;
        sums[c][1][k] += x[at + c * n] * a1;
        sums[c][2][k] += x[at + c * n] * a2;
        sums[c][3][k] += x[at + c * n] * a3;
      }
    }
  }
  for (int c = 0; c < Columns; ++c) {
    double* const y = x + c * n;
    for (std::ptrdiff_t k = 0; k < 4; ++k) {
      for (auto at = i; at < last; ++at) sums[c][k][0] += y[at] * widened(a[at + k * ld]);
      for (const double sum : sums[c][k]) y[j + k] -= sum;
    }
  }
}
template <int Columns, class T>
inline void subtract_products(const T* a, std::ptrdiff_t ld, std::ptrdiff_t j, std::ptrdiff_t first,
                              std::ptrdiff_t last, Complex* x, std::ptrdiff_t n) {
  for (int c = 0; c < Columns; ++c) {
    for (std::ptrdiff_t k = 0; k < 4; ++k) {
      x[j + k + c * n] -= scalar_product(a + k * ld, first, last, x + c * n);
    }
  }
}

/// A triangle of a matrix of n columns, and whether its diagonal counts as ones.
template <class T>
struct Triangle {
  const T* a;
  std::ptrdiff_t n, ld;
  bool unit;
};

// Each solves with columns [j, end) of the triangle: four, or fewer where there are no more rows.

template <int Columns, class T>
inline void lower_part(const Triangle<T>& t, std::ptrdiff_t j, std::ptrdiff_t end, Wide<T>* x) {
  const T* column = t.a + j * t.ld;
  for (auto* y = x; y < x + Columns * t.n; y += t.n) {
    for (auto i = j; i < end; ++i) {
      if (!t.unit) y[i] /= widened(column[i + (i - j) * t.ld]);
      subtract_column(column + (i - j) * t.ld, y[i], i + 1, end, y);
    }
  }
  if (end < t.n) subtract_columns<Columns>(column, t.ld, j, end, t.n, x, t.n);
}

template <int Columns, class T>
inline void upper_part(const Triangle<T>& t, std::ptrdiff_t j, std::ptrdiff_t end, Wide<T>* x) {
  const T* column = t.a + j * t.ld;
  for (auto* y = x; y < x + Columns * t.n; y += t.n) {
    for (auto i = end - 1; i >= j; --i) {
      y[i] /= widened(column[i + (i - j) * t.ld]);
      subtract_column(column + (i - j) * t.ld, y[i], j, i, y);
    }
  }
  if (j > 0) subtract_columns<Columns>(column, t.ld, j, 0, j, x, t.n);
}

template <int Columns, class T>
inline void lower_transposed_part(const Triangle<T>& t, std::ptrdiff_t j, std::ptrdiff_t end,
                                  Wide<T>* x) {
  const T* column = t.a + j * t.ld;
  if (end < t.n) subtract_products<Columns>(column, t.ld, j, end, t.n, x, t.n);
  for (auto* y = x; y < x + Columns * t.n; y += t.n) {
    for (auto i = end - 1; i >= j; --i) {
      y[i] -= scalar_product(column + (i - j) * t.ld, i + 1, end, y);
      if (!t.unit) y[i] /= conjugate(widened(column[i + (i - j) * t.ld]));
    }
  }
}

template <int Columns, class T>
inline void upper_transposed_part(const Triangle<T>& t, std::ptrdiff_t j, std::ptrdiff_t end,
                                  Wide<T>* x) {
  const T* column = t.a + j * t.ld;
  if (j > 0) subtract_products<Columns>(column, t.ld, j, 0, j, x, t.n);
  for (auto* y = x; y < x + Columns * t.n; y += t.n) {
    for (auto i = j; i < end; ++i) {
      y[i] -= scalar_product(column + (i - j) * t.ld, j, i, y);
      y[i] /= conjugate(widened(column[i + (i - j) * t.ld]));
    }
  }
}

// All columns of the triangle. Fewer than four are the last of L, the first of U.

template <int Columns, class T>
inline void lower(const Triangle<T>& t, Wide<T>* x) {
  for (std::ptrdiff_t j = 0; j < t.n; j += 4) lower_part<Columns>(t, j, std::min(t.n, j + 4), x);
}
template <int Columns, class T>
inline void lower_transposed(const Triangle<T>& t, Wide<T>* x) {
  for (auto j = (t.n - 1) / 4 * 4; j >= 0; j -= 4) {
    lower_transposed_part<Columns>(t, j, std::min(t.n, j + 4), x);
  }
}
template <int Columns, class T>
inline void upper(const Triangle<T>& t, Wide<T>* x) {
  for (auto end = t.n; end > 0; end -= 4) {
    upper_part<Columns>(t, std::max<std::ptrdiff_t>(0, end - 4), end, x);
  }
}
template <int Columns, class T>
inline void upper_transposed(const Triangle<T>& t, Wide<T>* x) {
  for (auto end = (t.n - 1) % 4 + 1; end <= t.n; end += 4) {
    upper_transposed_part<Columns>(t, std::max<std::ptrdiff_t>(0, end - 4), end, x);
  }
}

template <int Columns, class T>
inline void apply_to(const Factors<T>& f, Wide<T>* x) {
  const Triangle<T> all{f.values.get(), f.n, f.ld, !f.cholesky()};
  if (f.cholesky()) {
    lower<Columns>(all, x);
    lower_transposed<Columns>(all, x);
    return;
  }
  for (auto* y = x; y < x + Columns * f.n; y += f.n) {
    for (std::ptrdiff_t i = 0; i < f.n; ++i) {
      std::swap(y[i], y[f.pivots[static_cast<std::size_t>(i)] - 1]);
    }
  }
  lower<Columns>(all, x);
  upper<Columns>(all, x);
}

template <int Columns, class T>
inline void apply_transposed_to(const Factors<T>& f, Wide<T>* x) {
  if (f.cholesky()) return apply_to<Columns>(f, x);
  const Triangle<T> all{f.values.get(), f.n, f.ld, true};
  upper_transposed<Columns>(all, x);
  lower_transposed<Columns>(all, x);
  for (auto* y = x; y < x + Columns * f.n; y += f.n) {
    for (auto i = f.n - 1; i >= 0; --i) {
      std::swap(y[i], y[f.pivots[static_cast<std::size_t>(i)] - 1]);
    }
  }
}

// Two right-hand sides at a time.

template <class T>
inline void apply(const Factors<T>& f, Wide<T>* x, std::ptrdiff_t columns) {
  for (; columns >= 2; columns -= 2, x += 2 * f.n) apply_to<2>(f, x);
  if (columns > 0) apply_to<1>(f, x);
}

template <class T>
inline void apply_transposed(const Factors<T>& f, Wide<T>* x, std::ptrdiff_t columns) {
  for (; columns >= 2; columns -= 2, x += 2 * f.n) apply_transposed_to<2>(f, x);
  if (columns > 0) apply_transposed_to<1>(f, x);
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
TAILRACE_VECTOR_CLONES void apply_inverse_transposed(const Factors<std::complex<float>>& factors,
                                                     Complex* x, std::ptrdiff_t columns) {
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
