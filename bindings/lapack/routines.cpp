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

}  // namespace

}  // namespace tailrace::lapack

using namespace tailrace::lapack;

extern "C" {

void sgetrf_(const int* m, const int* n, float* a, const int* lda, int* ipiv, int* info) {
  const auto count = static_cast<std::size_t>(*m < *n ? *m : *n);
  Pivots pivots(ipiv, count);
  std::int64_t status = 0;
  call<In, In, float*, In, void*, void*>(sgetrf, Integer(m), Integer(n), a, Integer(lda),
                                         pivots.data(ipiv), &status);
  pivots.copy_to(ipiv);
  *info = static_cast<int>(status);
}

void sgetrs_(const char* trans, const int* n, const int* nrhs, const float* a, const int* lda,
             const int* ipiv, float* b, const int* ldb, int* info, std::size_t length) {
  Pivots pivots(ipiv, static_cast<std::size_t>(*n));
  std::int64_t status = 0;
  call<const char*, In, In, const float*, In, void*, float*, In, void*, std::size_t>(
      sgetrs, trans, Integer(n), Integer(nrhs), a, Integer(lda), pivots.data(ipiv), b, Integer(ldb),
      &status, length);
  *info = static_cast<int>(status);
}

void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info,
             std::size_t length) {
  std::int64_t status = 0;
  call<const char*, In, float*, In, void*, std::size_t>(spotrf, uplo, Integer(n), a, Integer(lda),
                                                        &status, length);
  *info = static_cast<int>(status);
}

void spotrs_(const char* uplo, const int* n, const int* nrhs, const float* a, const int* lda,
             float* b, const int* ldb, int* info, std::size_t length) {
  std::int64_t status = 0;
  call<const char*, In, In, const float*, In, float*, In, void*, std::size_t>(
      spotrs, uplo, Integer(n), Integer(nrhs), a, Integer(lda), b, Integer(ldb), &status, length);
  *info = static_cast<int>(status);
}

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

void dgemv_(const char* trans, const int* m, const int* n, const double* alpha, const double* a,
            const int* lda, const double* x, const int* incx, const double* beta, double* y,
            const int* incy, std::size_t length) {
  call<const char*, In, In, const double*, const double*, In, const double*, In, const double*,
       double*, In, std::size_t>(dgemv, trans, Integer(m), Integer(n), alpha, a, Integer(lda), x,
                                 Integer(incx), beta, y, Integer(incy), length);
}

void dsymv_(const char* uplo, const int* n, const double* alpha, const double* a, const int* lda,
            const double* x, const int* incx, const double* beta, double* y, const int* incy,
            std::size_t length) {
  call<const char*, In, const double*, const double*, In, const double*, In, const double*, double*,
       In, std::size_t>(dsymv, uplo, Integer(n), alpha, a, Integer(lda), x, Integer(incx), beta, y,
                        Integer(incy), length);
}

// Signs and state have as many items in both widths; a narrow library uses the first half.
void dlacn2_(const int* n, double* v, double* x, int* isgn, double* est, int* kase, int* isave) {
  thread_local std::vector<std::int64_t> signs;
  thread_local std::array<std::int64_t, 3> state{};
  thread_local std::int64_t wanted = 0;
  if (*kase == 0) {
    signs.assign(static_cast<std::size_t>(*n), 0);
    state = {};
    wanted = 0;
  }
  static_cast<void>(isgn);
  static_cast<void>(isave);
  call<In, double*, double*, void*, double*, void*, void*>(dlacn2, Integer(n), v, x, signs.data(),
                                                           est, &wanted, state.data());
  *kase = static_cast<int>(wanted);
}
}
