// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// BLAS routines as plain loops: what results are compared with, and another library of tests.

#include <complex>
#include <type_traits>
#include <vector>

namespace plain_blas {

template <class T>
T conjugate(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return std::conj(x);
  }
}

/// Item i, j of op(A).
template <class T>
T item(char trans, const T* a, int lda, int i, int j) {
  if (trans == 'N') return a[i + j * lda];
  const T x = a[j + i * lda];
  return trans == 'C' ? conjugate(x) : x;
}

template <class T>
T scaled(T beta, T old) {
  return beta == T{} ? T{} : beta * old;
}

template <class T>
void gemm(char ta, char tb, int m, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb,
          T beta, T* c, int ldc) {
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      T sum{};
      for (int p = 0; p < k; ++p) sum += item(ta, a, lda, i, p) * item(tb, b, ldb, p, j);
      c[i + j * ldc] = alpha * sum + scaled(beta, c[i + j * ldc]);
    }
  }
}

/// Items of a vector from the end where the step is negative.
template <class T>
T& at(T* x, int n, int step, int i) {
  return x[step > 0 ? i * step : (i - n + 1) * step];
}

template <class T>
void gemv(char trans, int m, int n, T alpha, const T* a, int lda, const T* x, int incx, T beta,
          T* y, int incy) {
  const int rows = trans == 'N' ? m : n, columns = trans == 'N' ? n : m;
  for (int i = 0; i < rows; ++i) {
    T sum{};
    for (int j = 0; j < columns; ++j) {
      sum += item(trans, a, lda, i, j) * at(x, columns, incx, j);
    }
    T& out = at(y, rows, incy, i);
    out = alpha * sum + scaled(beta, out);
  }
}

template <class T>
void trsm(char side, char uplo, char trans, char diag, int m, int n, T alpha, const T* a, int lda,
          T* b, int ldb) {
  const int order = side == 'L' ? m : n, others = side == 'L' ? n : m;
  // T x = y with T = op(A), or its transpose for a row x of the right side.
  const auto t = [&](int i, int j) {
    if (side == 'R') std::swap(i, j);
    return i == j && diag == 'U' ? T{1} : item(trans, a, lda, i, j);
  };
  const bool lower = ((uplo == 'L') != (trans != 'N')) != (side == 'R');
  for (int o = 0; o < others; ++o) {
    const auto x = [&](int i) -> T& { return side == 'L' ? b[i + o * ldb] : b[o + i * ldb]; };
    for (int step = 0; step < order; ++step) {
      const int i = lower ? step : order - 1 - step;
      T sum = alpha * x(i);
      for (int j = lower ? 0 : i + 1; j < (lower ? i : order); ++j) sum -= t(i, j) * x(j);
      x(i) = sum / t(i, i);
    }
  }
}

template <class T>
void syrk(char uplo, char trans, int n, int k, T alpha, const T* a, int lda, T beta, T* c,
          int ldc) {
  for (int j = 0; j < n; ++j) {
    for (int i = uplo == 'U' ? 0 : j; i <= (uplo == 'U' ? j : n - 1); ++i) {
      T sum{};
      for (int p = 0; p < k; ++p) sum += item(trans, a, lda, i, p) * item(trans, a, lda, j, p);
      c[i + j * ldc] = alpha * sum + scaled(beta, c[i + j * ldc]);
    }
  }
}

template <class T>
void axpy(int n, T alpha, const T* x, int incx, T* y, int incy) {
  for (int i = 0; i < n; ++i) at(y, n, incy, i) += alpha * at(x, n, incx, i);
}

template <class T>
T dot(int n, const T* x, int incx, const T* y, int incy) {
  T sum{};
  for (int i = 0; i < n; ++i) sum += at(x, n, incx, i) * at(y, n, incy, i);
  return sum;
}

}  // namespace plain_blas
