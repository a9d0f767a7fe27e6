// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <type_traits>

// BLAS routines by what measures fastest for their shape: the BLAS that is linked, another one that
// is found when the program runs (OpenBLAS, BLIS, MKL; TAILRACE_BLAS_LIBRARIES), and for real
// products built-in methods. Library tailrace::dense, which needs BLAS and no MPI.
//
// It is learned from the first calls of a class of shapes, so results of equal calls may differ by
// rounding; TAILRACE_BLAS=library always takes the BLAS that is linked. Types: float, double,
// std::complex of both. Matrices are column-major, letters BLAS's ('N', 'T', 'C'; 'U', 'L'; ...).
// Threads: as OMP_NUM_THREADS and its like say. All is local and blocking, several threads may
// call, and std::invalid_argument names a wrong argument.
namespace tailrace::dense {

/// C := alpha op(A) op(B) + beta C: op(A) is m x k, op(B) k x n, C m x n. With beta = 0, C is not
/// read.
template <class T>
void gemm(char transa, char transb, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k,
          std::type_identity_t<T> alpha, const T* a, std::ptrdiff_t lda, const T* b,
          std::ptrdiff_t ldb, std::type_identity_t<T> beta, T* c, std::ptrdiff_t ldc);

/// y := alpha op(A) x + beta y: A is m x n; steps of x and y are not 0.
template <class T>
void gemv(char trans, std::ptrdiff_t m, std::ptrdiff_t n, std::type_identity_t<T> alpha, const T* a,
          std::ptrdiff_t lda, const T* x, std::ptrdiff_t incx, std::type_identity_t<T> beta, T* y,
          std::ptrdiff_t incy);

/// B := alpha op(A)^-1 B (side 'L') or alpha B op(A)^-1 ('R'): B is m x n, A triangular, with ones
/// on its diagonal where diag is 'U'.
template <class T>
void trsm(char side, char uplo, char transa, char diag, std::ptrdiff_t m, std::ptrdiff_t n,
          std::type_identity_t<T> alpha, const T* a, std::ptrdiff_t lda, T* b, std::ptrdiff_t ldb);

/// The triangle `uplo` of C := alpha A A^T + beta C (trans 'N', A n x k) or alpha A^T A + beta C
/// ('T', A k x n): C is n x n.
template <class T>
void syrk(char uplo, char trans, std::ptrdiff_t n, std::ptrdiff_t k, std::type_identity_t<T> alpha,
          const T* a, std::ptrdiff_t lda, std::type_identity_t<T> beta, T* c, std::ptrdiff_t ldc);

/// y := alpha x + y, n items.
template <class T>
void axpy(std::ptrdiff_t n, std::type_identity_t<T> alpha, const T* x, std::ptrdiff_t incx, T* y,
          std::ptrdiff_t incy);

/// The sum of x_i y_i, n items; float and double.
template <class T>
T dot(std::ptrdiff_t n, const T* x, std::ptrdiff_t incx, const T* y, std::ptrdiff_t incy);

}  // namespace tailrace::dense
