// SPDX-License-Identifier: BSD-3-Clause
// Calls of the BLAS that is linked, through the chooser of variants.
#pragma once

#include <complex>
#include <cstddef>
#include <type_traits>

#include "blas/chooser.hpp"

extern "C" {
// Only their addresses are taken.
#define TAILRACE_ROUTINES(letter) \
  void letter##gemm_();           \
  void letter##gemv_();           \
  void letter##trsm_();           \
  void letter##syrk_();           \
  void letter##axpy_();
TAILRACE_ROUTINES(s)
TAILRACE_ROUTINES(d)
TAILRACE_ROUTINES(c)
TAILRACE_ROUTINES(z)
#undef TAILRACE_ROUTINES
void sdot_();
void ddot_();
}

namespace tailrace::blas::linked {

using Int = std::ptrdiff_t;

/// The routines that are linked, of a type.
template <class T>
struct Linked;
#define TAILRACE_LINKED(type, letter)           \
  template <>                                   \
  struct Linked<type> {                         \
    static constexpr auto gemm = letter##gemm_; \
    static constexpr auto gemv = letter##gemv_; \
    static constexpr auto trsm = letter##trsm_; \
    static constexpr auto syrk = letter##syrk_; \
    static constexpr auto axpy = letter##axpy_; \
  };
TAILRACE_LINKED(float, s)
TAILRACE_LINKED(double, d)
TAILRACE_LINKED(std::complex<float>, c)
TAILRACE_LINKED(std::complex<double>, z)
#undef TAILRACE_LINKED

/// What is not plain (empty, or scaled alone) is the library's, as the plug-in does it.
template <class Call>
void run(const Call& call, void (*routine)()) {
  void* const own = reinterpret_cast<void*>(routine);
  if (call.work() < ShapeChooser::small || always_library() || !call.plain()) return call.run(own);
  shape_chooser().run(call, own);
}

template <class T>
void gemm(char transa, char transb, Int m, Int n, Int k, std::type_identity_t<T> alpha, const T* a,
          Int lda, const T* b, Int ldb, std::type_identity_t<T> beta, T* c, Int ldc) {
  run(GemmCall<T>{transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, Linked<T>::gemm);
}

template <class T>
void gemv(char trans, Int m, Int n, std::type_identity_t<T> alpha, const T* a, Int lda, const T* x,
          Int incx, std::type_identity_t<T> beta, T* y, Int incy) {
  run(GemvCall<T>{trans, m, n, alpha, a, lda, x, incx, beta, y, incy}, Linked<T>::gemv);
}

template <class T>
void trsm(char side, char uplo, char transa, char diag, Int m, Int n, std::type_identity_t<T> alpha,
          const T* a, Int lda, T* b, Int ldb) {
  run(TrsmCall<T>{side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb}, Linked<T>::trsm);
}

template <class T>
void syrk(char uplo, char trans, Int n, Int k, std::type_identity_t<T> alpha, const T* a, Int lda,
          std::type_identity_t<T> beta, T* c, Int ldc) {
  run(SyrkCall<T>{uplo, trans, n, k, alpha, a, lda, beta, c, ldc}, Linked<T>::syrk);
}

template <class T>
void axpy(Int n, std::type_identity_t<T> alpha, const T* x, Int incx, T* y, Int incy) {
  run(AxpyCall<T>{n, alpha, x, incx, y, incy}, Linked<T>::axpy);
}

template <class T>
T dot(Int n, const T* x, Int incx, const T* y, Int incy) {
  T result{};
  run(DotCall<T>{n, x, incx, y, incy, &result}, std::is_same_v<T, double> ? ddot_ : sdot_);
  return result;
}

}  // namespace tailrace::blas::linked
