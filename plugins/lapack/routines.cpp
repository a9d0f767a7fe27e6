// SPDX-License-Identifier: BSD-3-Clause
// The routines that tailrace::dense calls by their Fortran names, passed on to the library in use.
// They are seen in this shared library only. Arrays of pivots are copied where widths differ.
#include <vector>

#include "dense/lapack.hpp"
#include "library.hpp"

namespace tailrace::lapack {

namespace {

/// An integer for a routine of either width.
class Integer {
 public:
  explicit Integer(const int* from) : value_(*from) {}
  operator const void*() const { return &value_; }

 private:
  std::int64_t value_;
};

/// Pivots for a routine of either width, and back.
class Pivots {
 public:
  Pivots(const int* pivots, std::size_t count) {
    if (!in_use()->wide) return;
    wide_.assign(pivots, pivots + count);
  }
  void* data(const int* pivots) {
    return in_use()->wide ? static_cast<void*>(wide_.data()) : const_cast<int*>(pivots);
  }
  void copy_to(int* pivots) const {
    for (std::size_t i = 0; i < wide_.size(); ++i) pivots[i] = static_cast<int>(wide_[i]);
  }

 private:
  std::vector<std::int64_t> wide_;
};

/// Calls a routine, all of whose arguments are pointers and lengths of texts.
template <class... Arguments>
void call(Routine routine, Arguments... arguments) {
  in_use()->get<void (*)(Arguments...)>(routine)(arguments...);
}

using In = const void*;

template <class T>
void call_getrf(Routine routine, const int* m, const int* n, T* a, const int* lda, int* ipiv,
                int* info) {
  Pivots pivots(ipiv, static_cast<std::size_t>(*m < *n ? *m : *n));
  std::int64_t status = 0;
  call<In, In, T*, In, void*, void*>(routine, Integer(m), Integer(n), a, Integer(lda),
                                     pivots.data(ipiv), &status);
  pivots.copy_to(ipiv);
  *info = static_cast<int>(status);
}

template <class T>
void call_getrs(Routine routine, const char* trans, const int* n, const int* nrhs, const T* a,
                const int* lda, const int* ipiv, T* b, const int* ldb, int* info) {
  Pivots pivots(ipiv, static_cast<std::size_t>(*n));
  std::int64_t status = 0;
  call<const char*, In, In, const T*, In, void*, T*, In, void*, std::size_t>(
      routine, trans, Integer(n), Integer(nrhs), a, Integer(lda), pivots.data(ipiv), b,
      Integer(ldb), &status, 1);
  *info = static_cast<int>(status);
}

template <class T>
void call_potrf(Routine routine, const char* uplo, const int* n, T* a, const int* lda, int* info) {
  std::int64_t status = 0;
  call<const char*, In, T*, In, void*, std::size_t>(routine, uplo, Integer(n), a, Integer(lda),
                                                    &status, 1);
  *info = static_cast<int>(status);
}

template <class T>
void call_potrs(Routine routine, const char* uplo, const int* n, const int* nrhs, const T* a,
                const int* lda, T* b, const int* ldb, int* info) {
  std::int64_t status = 0;
  call<const char*, In, In, const T*, In, T*, In, void*, std::size_t>(
      routine, uplo, Integer(n), Integer(nrhs), a, Integer(lda), b, Integer(ldb), &status, 1);
  *info = static_cast<int>(status);
}

template <class S>
void call_hemv(Routine routine, const char* uplo, const int* n, const S* alpha, const S* a,
               const int* lda, const S* x, const int* incx, const S* beta, S* y, const int* incy) {
  call<const char*, In, const S*, const S*, In, const S*, In, const S*, S*, In, std::size_t>(
      routine, uplo, Integer(n), alpha, a, Integer(lda), x, Integer(incx), beta, y, Integer(incy),
      1);
}

template <class S>
void call_gemv(Routine routine, const char* trans, const int* m, const int* n, const S* alpha,
               const S* a, const int* lda, const S* x, const int* incx, const S* beta, S* y,
               const int* incy) {
  call<const char*, In, In, const S*, const S*, In, const S*, In, const S*, S*, In, std::size_t>(
      routine, trans, Integer(m), Integer(n), alpha, a, Integer(lda), x, Integer(incx), beta, y,
      Integer(incy), 1);
}

using Float = std::complex<float>;
using Double = std::complex<double>;

}  // namespace

}  // namespace tailrace::lapack

using namespace tailrace::lapack;

extern "C" {

void slaswp_(const int* n, float* a, const int* lda, const int* k1, const int* k2, const int* ipiv,
             const int* incx) {
  Pivots pivots(ipiv, static_cast<std::size_t>(*k2));
  call<In, float*, In, In, In, void*, In>(slaswp, Integer(n), a, Integer(lda), Integer(k1),
                                          Integer(k2), pivots.data(ipiv), Integer(incx));
}

void strsm_(const char* side, const char* uplo, const char* transa, const char* diag, const int* m,
            const int* n, const float* alpha, const float* a, const int* lda, float* b,
            const int* ldb, std::size_t l1, std::size_t l2, std::size_t l3, std::size_t l4) {
  call<const char*, const char*, const char*, const char*, In, In, const float*, const float*, In,
       float*, In, std::size_t, std::size_t, std::size_t, std::size_t>(
      strsm, side, uplo, transa, diag, Integer(m), Integer(n), alpha, a, Integer(lda), b,
      Integer(ldb), l1, l2, l3, l4);
}

void sgetrf_(const int* m, const int* n, float* a, const int* lda, int* ipiv, int* info) {
  call_getrf(sgetrf, m, n, a, lda, ipiv, info);
}
void sgetrs_(const char* trans, const int* n, const int* nrhs, const float* a, const int* lda,
             const int* ipiv, float* b, const int* ldb, int* info, std::size_t /*length*/) {
  call_getrs(sgetrs, trans, n, nrhs, a, lda, ipiv, b, ldb, info);
}
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info,
             std::size_t /*length*/) {
  call_potrf(spotrf, uplo, n, a, lda, info);
}
void spotrs_(const char* uplo, const int* n, const int* nrhs, const float* a, const int* lda,
             float* b, const int* ldb, int* info, std::size_t /*length*/) {
  call_potrs(spotrs, uplo, n, nrhs, a, lda, b, ldb, info);
}

void cgetrf_(const int* m, const int* n, Float* a, const int* lda, int* ipiv, int* info) {
  call_getrf(cgetrf, m, n, a, lda, ipiv, info);
}
void cgetrs_(const char* trans, const int* n, const int* nrhs, const Float* a, const int* lda,
             const int* ipiv, Float* b, const int* ldb, int* info, std::size_t /*length*/) {
  call_getrs(cgetrs, trans, n, nrhs, a, lda, ipiv, b, ldb, info);
}
void cpotrf_(const char* uplo, const int* n, Float* a, const int* lda, int* info,
             std::size_t /*length*/) {
  call_potrf(cpotrf, uplo, n, a, lda, info);
}
void cpotrs_(const char* uplo, const int* n, const int* nrhs, const Float* a, const int* lda,
             Float* b, const int* ldb, int* info, std::size_t /*length*/) {
  call_potrs(cpotrs, uplo, n, nrhs, a, lda, b, ldb, info);
}

void dgemv_(const char* trans, const int* m, const int* n, const double* alpha, const double* a,
            const int* lda, const double* x, const int* incx, const double* beta, double* y,
            const int* incy, std::size_t /*length*/) {
  call_gemv(dgemv, trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
}
void dsymv_(const char* uplo, const int* n, const double* alpha, const double* a, const int* lda,
            const double* x, const int* incx, const double* beta, double* y, const int* incy,
            std::size_t /*length*/) {
  call_hemv(dsymv, uplo, n, alpha, a, lda, x, incx, beta, y, incy);
}

void zgemv_(const char* trans, const int* m, const int* n, const Double* alpha, const Double* a,
            const int* lda, const Double* x, const int* incx, const Double* beta, Double* y,
            const int* incy, std::size_t /*length*/) {
  call_gemv(zgemv, trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
}
void zhemv_(const char* uplo, const int* n, const Double* alpha, const Double* a, const int* lda,
            const Double* x, const int* incx, const Double* beta, Double* y, const int* incy,
            std::size_t /*length*/) {
  call_hemv(zhemv, uplo, n, alpha, a, lda, x, incx, beta, y, incy);
}
}
