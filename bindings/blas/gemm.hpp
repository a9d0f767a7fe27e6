// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The routines that stand for BLAS's, in the form that all families share.

#include "library.hpp"

namespace tailrace::blas {

using lapack::Family;

/// Arguments of dgemm or sgemm as Fortran passes them, integers of the width of the caller's BLAS.
template <class T>
struct FortranCall {
  const char *transa, *transb;
  const void *m, *n, *k;
  const T *alpha, *a;
  const void* lda;
  const T* b;
  const void* ldb;
  const T* beta;
  T* c;
  const void* ldc;
};
template <class T>
void do_gemm(const Family& family, void* caller, const FortranCall<T>& call);

/// Arguments of cblas_dgemm or cblas_sgemm; integers may have rubbish above their width.
template <class T>
struct CblasCall {
  int layout, transa, transb;
  std::int64_t m, n, k;
  T alpha;
  const T* a;
  std::int64_t lda;
  const T* b;
  std::int64_t ldb;
  T beta;
  T* c;
  std::int64_t ldc;
};
template <class T>
void do_cblas_gemm(const Family& family, void* caller, const CblasCall<T>& call);

}  // namespace tailrace::blas
