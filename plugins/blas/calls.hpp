// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tailrace/more/gemm.hpp"

// Calls of BLAS routines in one form for all libraries: Fortran's, with integers of 64 bits, of
// which a library with 32-bit integers reads the first half. Each has
//   name      of the routine without its letter
//   plain()   all arguments are right, and there is something to do
//   work()    what its time goes by, for the routine
//   shape()   what distinguishes calls of different speed
//   run()     by the routine of a library
namespace tailrace::blas {

struct Shape {
  unsigned flags;  ///< 8 bits
  std::int64_t m, n, k;
};

/// 's', 'd', 'c', 'z'.
template <class T>
constexpr char letter_of() {
  if constexpr (std::is_same_v<T, float>) return 's';
  if constexpr (std::is_same_v<T, double>) return 'd';
  if constexpr (std::is_same_v<T, std::complex<float>>) return 'c';
  return 'z';
}

namespace detail {

using Int = std::int64_t;
using In = const Int*;
constexpr Int largest = std::numeric_limits<std::int32_t>::max();

/// N, T and C as 0, 1 and 2; real numbers have no C; 3: another letter.
template <class T>
unsigned transposed(char letter) {
  letter = static_cast<char>(letter & ~0x20);
  if (letter == 'N') return 0;
  if (letter == 'T') return 1;
  if (letter != 'C') return 3;
  return std::is_floating_point_v<T> ? 1 : 2;
}
/// 0 for the first letter, 1 for the other one, 2: neither.
inline unsigned which(char letter, char first, char second) {
  letter = static_cast<char>(letter & ~0x20);
  return letter == first ? 0U : letter == second ? 1U : 2U;
}
inline bool right(Int extent) { return extent > 0 && extent <= largest; }
inline bool right(Int ld, Int rows) { return ld >= rows && ld <= largest; }
inline bool right_step(Int step) { return step != 0 && step >= -largest && step <= largest; }

}  // namespace detail

/// C := alpha op(A) op(B) + beta C.
template <class T>
struct GemmCall {
  static constexpr const char* name = "gemm";
  char transa, transb;
  std::int64_t m, n, k;
  T alpha;
  const T* a;
  std::int64_t lda;
  const T* b;
  std::int64_t ldb;
  T beta;
  T* c;
  std::int64_t ldc;

  bool plain() const {
    using namespace detail;
    const unsigned ta = transposed<T>(transa), tb = transposed<T>(transb);
    return ta < 3 && tb < 3 && right(m) && right(n) && right(k) && alpha != T{} &&
           right(lda, ta != 0 ? k : m) && right(ldb, tb != 0 ? n : k) && right(ldc, m);
  }
  std::int64_t work() const { return m * n * k; }
  Shape shape() const {
    using namespace detail;
    return {transposed<T>(transa) | transposed<T>(transb) << 2 | (beta == T{} ? 16U : 0U), m, n, k};
  }
  void run(void* routine) const {
    using namespace detail;
    using F = void (*)(const char*, const char*, In, In, In, const T*, const T*, In, const T*, In,
                       const T*, T*, In, std::size_t, std::size_t);
    reinterpret_cast<F>(routine)(&transa, &transb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c,
                                 &ldc, 1, 1);
  }
  /// For methods of ours, which are for real numbers.
  dense::Gemm<T> product() const {
    return {detail::transposed<T>(transa) != 0,
            detail::transposed<T>(transb) != 0,
            m,
            n,
            k,
            alpha,
            a,
            lda,
            b,
            ldb,
            beta,
            c,
            ldc};
  }
};

/// y := alpha op(A) x + beta y, A m x n.
template <class T>
struct GemvCall {
  static constexpr const char* name = "gemv";
  char trans;
  std::int64_t m, n;
  T alpha;
  const T* a;
  std::int64_t lda;
  const T* x;
  std::int64_t incx;
  T beta;
  T* y;
  std::int64_t incy;

  bool plain() const {
    using namespace detail;
    return transposed<T>(trans) < 3 && right(m) && right(n) && alpha != T{} && right(lda, m) &&
           right_step(incx) && right_step(incy);
  }
  std::int64_t work() const { return m * n; }
  Shape shape() const {
    return {detail::transposed<T>(trans) | (incx == 1 ? 4U : 0U) | (incy == 1 ? 8U : 0U), m, n, 1};
  }
  void run(void* routine) const {
    using namespace detail;
    using F = void (*)(const char*, In, In, const T*, const T*, In, const T*, In, const T*, T*, In,
                       std::size_t);
    reinterpret_cast<F>(routine)(&trans, &m, &n, &alpha, a, &lda, x, &incx, &beta, y, &incy, 1);
  }
};

/// B := alpha op(A)^-1 B or alpha B op(A)^-1, A triangular, B m x n.
template <class T>
struct TrsmCall {
  static constexpr const char* name = "trsm";
  char side, uplo, transa, diag;
  std::int64_t m, n;
  T alpha;
  const T* a;
  std::int64_t lda;
  T* b;
  std::int64_t ldb;

  std::int64_t order() const { return detail::which(side, 'L', 'R') == 0 ? m : n; }
  bool plain() const {
    using namespace detail;
    return which(side, 'L', 'R') < 2 && which(uplo, 'U', 'L') < 2 && which(diag, 'N', 'U') < 2 &&
           transposed<T>(transa) < 3 && right(m) && right(n) && alpha != T{} &&
           right(lda, order()) && right(ldb, m);
  }
  std::int64_t work() const { return m * n * order() / 2; }
  Shape shape() const {
    using namespace detail;
    return {which(side, 'L', 'R') | which(uplo, 'U', 'L') << 1 | which(diag, 'N', 'U') << 2 |
                transposed<T>(transa) << 3,
            m, n, 1};
  }
  void run(void* routine) const {
    using namespace detail;
    using F = void (*)(const char*, const char*, const char*, const char*, In, In, const T*,
                       const T*, In, T*, In, std::size_t, std::size_t, std::size_t, std::size_t);
    reinterpret_cast<F>(routine)(&side, &uplo, &transa, &diag, &m, &n, &alpha, a, &lda, b, &ldb, 1,
                                 1, 1, 1);
  }
};

/// A triangle of C := alpha op(A) op(A)^T + beta C, C n x n.
template <class T>
struct SyrkCall {
  static constexpr const char* name = "syrk";
  char uplo, trans;
  std::int64_t n, k;
  T alpha;
  const T* a;
  std::int64_t lda;
  T beta;
  T* c;
  std::int64_t ldc;

  bool plain() const {
    using namespace detail;
    const unsigned t = transposed<T>(trans);
    return which(uplo, 'U', 'L') < 2 && t < 2 && right(n) && right(k) && alpha != T{} &&
           right(lda, t != 0 ? k : n) && right(ldc, n);
  }
  std::int64_t work() const { return n * n * k / 2; }
  Shape shape() const {
    using namespace detail;
    return {which(uplo, 'U', 'L') | transposed<T>(trans) << 1 | (beta == T{} ? 8U : 0U), n, k, 1};
  }
  void run(void* routine) const {
    using namespace detail;
    using F = void (*)(const char*, const char*, In, In, const T*, const T*, In, const T*, T*, In,
                       std::size_t, std::size_t);
    reinterpret_cast<F>(routine)(&uplo, &trans, &n, &k, &alpha, a, &lda, &beta, c, &ldc, 1, 1);
  }
};

/// y := alpha x + y.
template <class T>
struct AxpyCall {
  static constexpr const char* name = "axpy";
  std::int64_t n;
  T alpha;
  const T* x;
  std::int64_t incx;
  T* y;
  std::int64_t incy;

  bool plain() const {
    using namespace detail;
    return right(n) && alpha != T{} && right_step(incx) && right_step(incy);
  }
  std::int64_t work() const { return n; }
  Shape shape() const { return {(incx == 1 ? 1U : 0U) | (incy == 1 ? 2U : 0U), n, 1, 1}; }
  void run(void* routine) const {
    using namespace detail;
    using F = void (*)(In, const T*, const T*, In, T*, In);
    reinterpret_cast<F>(routine)(&n, &alpha, x, &incx, y, &incy);
  }
};

/// *result = x^T y; real numbers, as compilers return complex ones in more than one way.
template <class T>
struct DotCall {
  static constexpr const char* name = "dot";
  std::int64_t n;
  const T* x;
  std::int64_t incx;
  const T* y;
  std::int64_t incy;
  T* result;

  bool plain() const {
    return detail::right(n) && detail::right_step(incx) && detail::right_step(incy);
  }
  std::int64_t work() const { return n; }
  Shape shape() const { return {(incx == 1 ? 1U : 0U) | (incy == 1 ? 2U : 0U), n, 1, 1}; }
  void run(void* routine) const {
    using namespace detail;
    using F = T (*)(In, const T*, In, const T*, In);
    *result = reinterpret_cast<F>(routine)(&n, x, &incx, y, &incy);
  }
};

/// A number of each routine and type, 5 bits.
template <class T>
constexpr unsigned type_number = letter_of<T>() == 's'   ? 0
                                 : letter_of<T>() == 'd' ? 1
                                 : letter_of<T>() == 'c' ? 2
                                                         : 3;
template <class C>
struct CallTraits;
template <template <class> class C, class T>
struct CallTraits<C<T>> {
  using Item = T;
  static constexpr bool is_gemm = std::is_same_v<C<T>, GemmCall<T>>;
  /// Methods of ours stand beside the libraries.
  static constexpr bool has_methods = is_gemm && std::is_floating_point_v<T>;
  static constexpr unsigned routine = is_gemm                             ? 0
                                      : std::is_same_v<C<T>, GemvCall<T>> ? 1
                                      : std::is_same_v<C<T>, TrsmCall<T>> ? 2
                                      : std::is_same_v<C<T>, SyrkCall<T>> ? 3
                                      : std::is_same_v<C<T>, AxpyCall<T>> ? 4
                                                                          : 5;
  static constexpr unsigned number = routine << 2 | type_number<T>;
};

}  // namespace tailrace::blas
