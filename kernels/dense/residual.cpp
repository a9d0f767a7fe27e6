// SPDX-License-Identifier: BSD-3-Clause
// b - A x and |A| |x| + |b| in one pass over A, which costs no more than the first alone where A
// comes from memory. Tiles of A stay in the second-level cache for all right-hand sides.
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "dense/matrix.hpp"
#include "dense/vector_clones.hpp"

namespace tailrace::dense {

namespace {

constexpr std::ptrdiff_t tile_rows = 512;
constexpr std::ptrdiff_t tile_columns = 64;
constexpr std::ptrdiff_t rows_at_once = 32;
constexpr std::ptrdiff_t rows_ahead = 64;  // that are fetched

/// Columns of a tile, as many as there are items of `x` to take, into r and w of one right-hand
/// side. What comes next of each is fetched: one core has too few loads under way otherwise.
template <std::ptrdiff_t Columns, class S>
inline void add_columns(const S* a, std::ptrdiff_t lda, std::ptrdiff_t rows, const S* x, S* r,
                        double* w) {
  constexpr std::ptrdiff_t line = 64 / sizeof(S);
  for (std::ptrdiff_t top = 0; top < rows; top += rows_at_once) {
    const auto end = std::min(rows, top + rows_at_once);
    for (std::ptrdiff_t c = 0; c < Columns; ++c) {
      for (auto i = top; i < end; i += line) __builtin_prefetch(a + i + rows_ahead + c * lda);
    }
#pragma omp simd
    for (auto i = top; i < end; ++i) {
      S sum{};
      double bound = 0;
      for (std::ptrdiff_t c = 0; c < Columns; ++c) {
        const S item = a[i + c * lda];
        const S p = product(item, x[c]);
        sum += p;
        bound += bound_of(item, x[c], p);
      }
      r[i] -= sum;
      w[i] += bound;
    }
  }
}

template <class S>
inline void add_column(const S* a, std::ptrdiff_t rows, S x, S* r, double* w) {
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    const S p = product(a[i], x);
    r[i] -= p;
    w[i] += bound_of(a[i], x, p);
  }
}

/// Rows [top, top + rows) of all columns of r and w.
template <class S>
inline void general(const Residual<S>& residual, std::ptrdiff_t top, std::ptrdiff_t rows) {
  const auto n = residual.matrix.n;
  const auto lda = residual.matrix.lda;
  for (std::ptrdiff_t left = 0; left < n; left += tile_columns) {
    const auto end = std::min(n, left + tile_columns);
    for (std::ptrdiff_t c = 0; c < residual.nrhs; ++c) {
      const S* x = residual.x + c * n;
      S* r = residual.r + c * n + top;
      double* w = residual.w + c * n + top;
      const S* a = residual.matrix.a + top;
      auto j = left;
      for (; j + 8 <= end; j += 8) add_columns<8>(a + j * lda, lda, rows, x + j, r, w);
      for (; j < end; ++j) add_column(a + j * lda, rows, x[j], r, w);
    }
  }
}

/// Rows [first, end) of four columns of a triangle, which are those of x, r and w from `j` on.
inline void symmetric_columns(const Matrix<double>& matrix, std::ptrdiff_t j, std::ptrdiff_t first,
                              std::ptrdiff_t end, const double* x, double* r, double* w) {
  const double* a0 = matrix.a + j * matrix.lda;
  const double* a1 = a0 + matrix.lda;
  const double* a2 = a1 + matrix.lda;
  const double* a3 = a2 + matrix.lda;
  const double x0 = x[j], x1 = x[j + 1], x2 = x[j + 2], x3 = x[j + 3];
  double sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
  double size0 = 0, size1 = 0, size2 = 0, size3 = 0;
#pragma omp simd reduction(+ : sum0, sum1, sum2, sum3, size0, size1, size2, size3)
  for (std::ptrdiff_t i = first; i < end; ++i) {
    const double p0 = a0[i] * x0, p1 = a1[i] * x1, p2 = a2[i] * x2, p3 = a3[i] * x3;
    r[i] -= (p0 + p1) + (p2 + p3);
    w[i] += (std::abs(p0) + std::abs(p1)) + (std::abs(p2) + std::abs(p3));
    const double q0 = a0[i] * x[i], q1 = a1[i] * x[i], q2 = a2[i] * x[i], q3 = a3[i] * x[i];
    sum0 += q0;
    sum1 += q1;
    sum2 += q2;
    sum3 += q3;
    size0 += std::abs(q0);
    size1 += std::abs(q1);
    size2 += std::abs(q2);
    size3 += std::abs(q3);
  }
  r[j] -= sum0;
  r[j + 1] -= sum1;
  r[j + 2] -= sum2;
  r[j + 3] -= sum3;
  w[j] += size0;
  w[j + 1] += size1;
  w[j + 2] += size2;
  w[j + 3] += size3;
}

/// One right-hand side: each item of the triangle serves its row and its column. Four columns at a
/// time, so that x, r and w pass a quarter as often; fewer where no rows are beyond their block.
inline void symmetric(const Matrix<double>& matrix, const double* x, double* r, double* w) {
  const auto n = matrix.n;
  const bool lower = matrix.triangle == 'L';
  for (auto top = lower || n % 4 == 0 ? 0 : n % 4 - 4; top < n; top += 4) {
    const auto begin = std::max<std::ptrdiff_t>(0, top);
    const auto end = std::min(n, top + 4);
    for (auto j = begin; j < end; ++j) {  // the block on the diagonal
      for (auto i = begin; i < end; ++i) {
        const bool given = lower ? i >= j : i <= j;
        const double item = matrix.a[given ? i + j * matrix.lda : j + i * matrix.lda];
        r[i] -= item * x[j];
        w[i] += std::abs(item * x[j]);
      }
    }
    if (end - begin < 4) continue;
    symmetric_columns(matrix, begin, lower ? end : 0, lower ? n : begin, x, r, w);
  }
}

inline void symmetric(const Matrix<Complex>& matrix, const Complex* x, Complex* r, double* w) {
  for (std::ptrdiff_t j = 0; j < matrix.n; ++j) {
    const Complex* a = matrix.a + j * matrix.lda;
    const auto first = matrix.triangle == 'L' ? j + 1 : 0;
    const auto end = matrix.triangle == 'L' ? matrix.n : j;
    const Complex xj = x[j];
    const Complex own = product(real_part(a[j]), xj);
    double real = own.real();
    double imaginary = own.imag();
    double size = bound_of(real_part(a[j]), xj, own);
#pragma omp simd reduction(+ : real, imaginary, size)
    for (std::ptrdiff_t i = first; i < end; ++i) {
      const Complex down = product(a[i], xj);
      const Complex across = product(conjugate(a[i]), x[i]);
      r[i] -= down;
      w[i] += bound_of(a[i], xj, down);
      real += across.real();
      imaginary += across.imag();
      size += bound_of(a[i], x[i], across);
    }
    r[j] -= Complex(real, imaginary);
    w[j] += size;
  }
}

TAILRACE_VECTOR_CLONES void general_rows(const Residual<double>& residual, std::ptrdiff_t top,
                                         std::ptrdiff_t rows) {
  general(residual, top, rows);
}
TAILRACE_VECTOR_CLONES void symmetric_column(const Matrix<double>& matrix, const double* x,
                                             double* r, double* w) {
  symmetric(matrix, x, r, w);
}
TAILRACE_VECTOR_CLONES void general_rows(const Residual<Complex>& residual, std::ptrdiff_t top,
                                         std::ptrdiff_t rows) {
  general(residual, top, rows);
}
TAILRACE_VECTOR_CLONES void symmetric_column(const Matrix<Complex>& matrix, const Complex* x,
                                             Complex* r, double* w) {
  symmetric(matrix, x, r, w);
}

}  // namespace

template <class S>
void compute(const Residual<S>& residual) {
  const auto n = residual.matrix.n;
  for (std::ptrdiff_t c = 0; c < residual.nrhs; ++c) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      residual.r[i + c * n] = residual.b[i + c * residual.ldb];
      residual.w[i + c * n] = size_of(residual.r[i + c * n]);
    }
  }
  if (residual.matrix.symmetric()) {
#pragma omp parallel for
    for (std::ptrdiff_t c = 0; c < residual.nrhs; ++c) {
      symmetric_column(residual.matrix, residual.x + c * n, residual.r + c * n, residual.w + c * n);
    }
    return;
  }
  // A single right-hand side reads A once whatever the tiles: long columns suit the prefetchers.
  const auto share = n / omp_get_max_threads();
  const auto rows = residual.nrhs > 1 ? tile_rows : std::clamp(share, tile_rows, 8 * tile_rows);
#pragma omp parallel for
  for (std::ptrdiff_t top = 0; top < n; top += rows) {
    general_rows(residual, top, std::min(rows, n - top));
  }
}

template void compute(const Residual<double>& residual);
template void compute(const Residual<Complex>& residual);

}  // namespace tailrace::dense
