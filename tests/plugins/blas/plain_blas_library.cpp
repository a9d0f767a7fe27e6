// SPDX-License-Identifier: BSD-3-Clause
// A BLAS library with 32-bit integers for tests of those that are opened at run time. With
// WRONG_PRODUCTS its dgemm is wrong.
#include "plugins/blas/plain_blas.hpp"

namespace {

int calls = 0;
using In = const int*;
using Letter = const char*;

}  // namespace

#define ROUTINES(letter, T)                                                                      \
  void letter##gemm_(Letter ta, Letter tb, In m, In n, In k, const T* alpha, const T* a, In lda, \
                     const T* b, In ldb, const T* beta, T* c, In ldc) {                          \
    ++calls;                                                                                     \
    plain_blas::gemm(*ta, *tb, *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);            \
    if (WRONG_PRODUCTS) c[0] += T{1};                                                            \
  }                                                                                              \
  void letter##gemv_(Letter trans, In m, In n, const T* alpha, const T* a, In lda, const T* x,   \
                     In incx, const T* beta, T* y, In incy) {                                    \
    ++calls;                                                                                     \
    plain_blas::gemv(*trans, *m, *n, *alpha, a, *lda, x, *incx, *beta, y, *incy);                \
  }                                                                                              \
  void letter##trsm_(Letter side, Letter uplo, Letter trans, Letter diag, In m, In n,            \
                     const T* alpha, const T* a, In lda, T* b, In ldb) {                         \
    ++calls;                                                                                     \
    plain_blas::trsm(*side, *uplo, *trans, *diag, *m, *n, *alpha, a, *lda, b, *ldb);             \
  }                                                                                              \
  void letter##syrk_(Letter uplo, Letter trans, In n, In k, const T* alpha, const T* a, In lda,  \
                     const T* beta, T* c, In ldc) {                                              \
    ++calls;                                                                                     \
    plain_blas::syrk(*uplo, *trans, *n, *k, *alpha, a, *lda, *beta, c, *ldc);                    \
  }                                                                                              \
  void letter##axpy_(In n, const T* alpha, const T* x, In incx, T* y, In incy) {                 \
    ++calls;                                                                                     \
    plain_blas::axpy(*n, *alpha, x, *incx, y, *incy);                                            \
  }                                                                                              \
  T letter##dot_(In n, const T* x, In incx, const T* y, In incy) {                               \
    ++calls;                                                                                     \
    return plain_blas::dot(*n, x, *incx, y, *incy);                                              \
  }

extern "C" {
ROUTINES(s, float)
ROUTINES(d, double)
ROUTINES(c, std::complex<float>)
ROUTINES(z, std::complex<double>)
int plain_blas_calls() { return calls; }
}
