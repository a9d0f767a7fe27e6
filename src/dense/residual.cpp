// SPDX-License-Identifier: BSD-3-Clause
// b - A x and |A| |x| + |b| in one pass over A, which costs no more than the first alone where A
// comes from memory. Tiles of A stay in the second-level cache for all right-hand sides.
#include <algorithm>
#include <cmath>

#include "dense/matrix.hpp"
#include "dense/vector_clones.hpp"

namespace tailrace::dense {

namespace {

constexpr std::ptrdiff_t tile_rows = 512;
constexpr std::ptrdiff_t tile_columns = 64;

/// Four columns of a tile into r and w of one right-hand side.
inline void add_columns(const double* a, std::ptrdiff_t lda, std::ptrdiff_t rows, const double* x,
                        double* r, double* w) {
  const double* a1 = a + lda;
  const double* a2 = a1 + lda;
  const double* a3 = a2 + lda;
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    const double p0 = a[i] * x[0];
    const double p1 = a1[i] * x[1];
    const double p2 = a2[i] * x[2];
    const double p3 = a3[i] * x[3];
    r[i] -= (p0 + p1) + (p2 + p3);
    w[i] += (std::abs(p0) + std::abs(p1)) + (std::abs(p2) + std::abs(p3));
  }
}

inline void add_column(const double* a, std::ptrdiff_t rows, double x, double* r, double* w) {
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    const double p = a[i] * x;
    r[i] -= p;
    w[i] += std::abs(p);
  }
}

/// Rows [top, top + rows) of all columns of r and w.
TAILRACE_VECTOR_CLONES void general_rows(const Residual& residual, std::ptrdiff_t top,
                                         std::ptrdiff_t rows) {
  const auto n = residual.matrix.n;
  const auto lda = residual.matrix.lda;
  for (std::ptrdiff_t left = 0; left < n; left += tile_columns) {
    const auto end = std::min(n, left + tile_columns);
    for (std::ptrdiff_t c = 0; c < residual.nrhs; ++c) {
      const double* x = residual.x + c * n;
      double* r = residual.r + c * n + top;
      double* w = residual.w + c * n + top;
      const double* a = residual.matrix.a + top;
      auto j = left;
      for (; j + 4 <= end; j += 4) add_columns(a + j * lda, lda, rows, x + j, r, w);
      for (; j < end; ++j) add_column(a + j * lda, rows, x[j], r, w);
    }
  }
}

/// One right-hand side: each item of the triangle serves its row and its column.
TAILRACE_VECTOR_CLONES void symmetric_column(const Matrix& matrix, const double* x, double* r,
                                             double* w) {
  for (std::ptrdiff_t j = 0; j < matrix.n; ++j) {
    const double* a = matrix.a + j * matrix.lda;
    const auto first = matrix.triangle == 'L' ? j + 1 : 0;
    const auto end = matrix.triangle == 'L' ? matrix.n : j;
    const double xj = x[j];
    double sum = a[j] * xj;
    double size = std::abs(sum);
#pragma omp simd reduction(+ : sum, size)
    for (std::ptrdiff_t i = first; i < end; ++i) {
      const double down = a[i] * xj;
      const double across = a[i] * x[i];
      r[i] -= down;
      w[i] += std::abs(down);
      sum += across;
      size += std::abs(across);
    }
    r[j] -= sum;
    w[j] += size;
  }
}

}  // namespace

void compute(const Residual& residual) {
  const auto n = residual.matrix.n;
  for (std::ptrdiff_t c = 0; c < residual.nrhs; ++c) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      residual.r[i + c * n] = residual.b[i + c * residual.ldb];
      residual.w[i + c * n] = std::abs(residual.r[i + c * n]);
    }
  }
  if (residual.matrix.symmetric()) {
#pragma omp parallel for
    for (std::ptrdiff_t c = 0; c < residual.nrhs; ++c) {
      symmetric_column(residual.matrix, residual.x + c * n, residual.r + c * n, residual.w + c * n);
    }
    return;
  }
#pragma omp parallel for
  for (std::ptrdiff_t top = 0; top < n; top += tile_rows) {
    general_rows(residual, top, std::min(tile_rows, n - top));
  }
}

}  // namespace tailrace::dense
