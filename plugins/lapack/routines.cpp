// SPDX-License-Identifier: BSD-3-Clause
// The routines that tailrace::dense calls by their Fortran names, passed on to the library in use.
// They are seen in this shared library only. Arrays of pivots are copied where widths differ.
#include <algorithm>
#include <type_traits>
#include <vector>

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

/// Integers for a routine of either width, and back if the routine writes them.
class Integers {
 public:
  Integers(const int* integers, int count) : integers_(const_cast<int*>(integers)) {
    if (in_use()->wide) wide_.assign(integers, integers + count);
  }
  Integers(int* integers, int count) : Integers(static_cast<const int*>(integers), count) {
    writes_ = true;
  }
  Integers(const Integers&) = delete;
  Integers& operator=(const Integers&) = delete;
  ~Integers() {
    for (std::size_t i = 0; writes_ && i < wide_.size(); ++i)
      integers_[i] = static_cast<int>(wide_[i]);
  }
  void* data() const {
    if (wide_.empty()) return integers_;
    return wide_.data();
  }

 private:
  int* integers_;
  bool writes_ = false;
  mutable std::vector<std::int64_t> wide_;
};

/// An argument as a routine of either width takes it.
template <class T>
T form_of(T argument) {
  return argument;
}
Integer form_of(const int* integer) { return Integer(integer); }
void* form_of(const Integers& integers) { return integers.data(); }

/// Calls a routine of the library in use.
template <class... Arguments>
void pass(Routine routine, const Arguments&... arguments) {
  const auto call = [&]<class... Forms>(const Forms&... forms) {
    using Pointer = const void*;
    in_use()->call(
        routine,
        static_cast<std::conditional_t<std::is_same_v<Forms, Integer>, Pointer, Forms>>(forms)...);
  };
  call(form_of(arguments)...);
}

using In = const int*;
using Float = std::complex<float>;
using Double = std::complex<double>;
using Length = std::size_t;

}  // namespace

}  // namespace tailrace::lapack

using namespace tailrace::lapack;

extern "C" {

void slaswp_(In n, float* a, In lda, In k1, In k2, In ipiv, In incx) {
  pass("slaswp", n, a, lda, k1, k2, Integers(ipiv, *k2), incx);
}

void strsm_(const char* side, const char* uplo, const char* transa, const char* diag, In m, In n,
            const float* alpha, const float* a, In lda, float* b, In ldb, Length l1, Length l2,
            Length l3, Length l4) {
  pass("strsm", side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb, l1, l2, l3, l4);
}

void sgetrf_(In m, In n, float* a, In lda, int* ipiv, int* info) {
  pass("sgetrf", m, n, a, lda, Integers(ipiv, std::min(*m, *n)), Integers(info, 1));
}
void sgetrs_(const char* trans, In n, In nrhs, const float* a, In lda, In ipiv, float* b, In ldb,
             int* info, Length length) {
  pass("sgetrs", trans, n, nrhs, a, lda, Integers(ipiv, *n), b, ldb, Integers(info, 1), length);
}
void spotrf_(const char* uplo, In n, float* a, In lda, int* info, Length length) {
  pass("spotrf", uplo, n, a, lda, Integers(info, 1), length);
}
void spotrs_(const char* uplo, In n, In nrhs, const float* a, In lda, float* b, In ldb, int* info,
             Length length) {
  pass("spotrs", uplo, n, nrhs, a, lda, b, ldb, Integers(info, 1), length);
}

void cgetrf_(In m, In n, Float* a, In lda, int* ipiv, int* info) {
  pass("cgetrf", m, n, a, lda, Integers(ipiv, std::min(*m, *n)), Integers(info, 1));
}
void cgetrs_(const char* trans, In n, In nrhs, const Float* a, In lda, In ipiv, Float* b, In ldb,
             int* info, Length length) {
  pass("cgetrs", trans, n, nrhs, a, lda, Integers(ipiv, *n), b, ldb, Integers(info, 1), length);
}
void cpotrf_(const char* uplo, In n, Float* a, In lda, int* info, Length length) {
  pass("cpotrf", uplo, n, a, lda, Integers(info, 1), length);
}
void cpotrs_(const char* uplo, In n, In nrhs, const Float* a, In lda, Float* b, In ldb, int* info,
             Length length) {
  pass("cpotrs", uplo, n, nrhs, a, lda, b, ldb, Integers(info, 1), length);
}

void sgeqrf_(In m, In n, float* a, In lda, float* tau, float* work, In lwork, int* info) {
  pass("sgeqrf", m, n, a, lda, tau, work, lwork, Integers(info, 1));
}
void sormqr_(const char* side, const char* trans, In m, In n, In k, const float* a, In lda,
             const float* tau, float* c, In ldc, float* work, In lwork, int* info, Length l1,
             Length l2) {
  pass("sormqr", side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork, Integers(info, 1), l1, l2);
}
void strtrs_(const char* uplo, const char* trans, const char* diag, In n, In nrhs, const float* a,
             In lda, float* b, In ldb, int* info, Length l1, Length l2, Length l3) {
  pass("strtrs", uplo, trans, diag, n, nrhs, a, lda, b, ldb, Integers(info, 1), l1, l2, l3);
}
void strcon_(const char* norm, const char* uplo, const char* diag, In n, const float* a, In lda,
             float* rcond, float* work, int* more, int* info, Length l1, Length l2, Length l3) {
  pass("strcon", norm, uplo, diag, n, a, lda, rcond, work, Integers(more, *n), Integers(info, 1),
       l1, l2, l3);
}

void cgeqrf_(In m, In n, Float* a, In lda, Float* tau, Float* work, In lwork, int* info) {
  pass("cgeqrf", m, n, a, lda, tau, work, lwork, Integers(info, 1));
}
void cunmqr_(const char* side, const char* trans, In m, In n, In k, const Float* a, In lda,
             const Float* tau, Float* c, In ldc, Float* work, In lwork, int* info, Length l1,
             Length l2) {
  pass("cunmqr", side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork, Integers(info, 1), l1, l2);
}
void ctrtrs_(const char* uplo, const char* trans, const char* diag, In n, In nrhs, const Float* a,
             In lda, Float* b, In ldb, int* info, Length l1, Length l2, Length l3) {
  pass("ctrtrs", uplo, trans, diag, n, nrhs, a, lda, b, ldb, Integers(info, 1), l1, l2, l3);
}
void ctrcon_(const char* norm, const char* uplo, const char* diag, In n, const Float* a, In lda,
             float* rcond, Float* work, float* more, int* info, Length l1, Length l2, Length l3) {
  pass("ctrcon", norm, uplo, diag, n, a, lda, rcond, work, more, Integers(info, 1), l1, l2, l3);
}

void dgemv_(const char* trans, In m, In n, const double* alpha, const double* a, In lda,
            const double* x, In incx, const double* beta, double* y, In incy, Length length) {
  pass("dgemv", trans, m, n, alpha, a, lda, x, incx, beta, y, incy, length);
}
void dsymv_(const char* uplo, In n, const double* alpha, const double* a, In lda, const double* x,
            In incx, const double* beta, double* y, In incy, Length length) {
  pass("dsymv", uplo, n, alpha, a, lda, x, incx, beta, y, incy, length);
}
void zgemv_(const char* trans, In m, In n, const Double* alpha, const Double* a, In lda,
            const Double* x, In incx, const Double* beta, Double* y, In incy, Length length) {
  pass("zgemv", trans, m, n, alpha, a, lda, x, incx, beta, y, incy, length);
}
void zhemv_(const char* uplo, In n, const Double* alpha, const Double* a, In lda, const Double* x,
            In incx, const Double* beta, Double* y, In incy, Length length) {
  pass("zhemv", uplo, n, alpha, a, lda, x, incx, beta, y, incy, length);
}
}
