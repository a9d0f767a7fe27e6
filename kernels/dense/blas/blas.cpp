// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/blas.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "dense/blas/chooser.hpp"

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

namespace tailrace::dense {

namespace {

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

/// Refuses wrong arguments of `routine`. Texts are made where they are needed: calls may be tiny.
class Check {
 public:
  explicit Check(const char* routine) : routine_(routine) {}
  /// `letters` are the ones that are right.
  Check& letter(const char* name, char given, const char* letters) {
    const auto upper = static_cast<char>(given & ~0x20);
    if (std::string_view(letters).find(upper) == std::string_view::npos || given == ' ') {
      fail(name, "'" + std::string(1, given) + "': it must be one of " + letters);
    }
    return *this;
  }
  Check& extent(const char* name, Int given, Int least = 0) {
    if (given < least || given > detail::largest) {
      fail(name, std::to_string(given) + ": it must be at least " + std::to_string(least) +
                     " and at most " + std::to_string(detail::largest));
    }
    return *this;
  }
  Check& step(const char* name, Int given) {
    if (!detail::right_step(given)) {
      fail(name, std::to_string(given) + ": it must not be 0, and have at most 31 bits");
    }
    return *this;
  }

 private:
  [[noreturn]] void fail(const char* name, const std::string& what) const {
    throw std::invalid_argument(std::string(routine_) + ": " + name + " is " + what);
  }
  const char* routine_;
};

bool is_transposed(char trans) { return (trans & ~0x20) != 'N'; }
Int at_least_one(Int rows) { return std::max<Int>(1, rows); }

/// What is not plain (empty, or scaled alone) is the library's.
template <class Call>
void run(const Call& call, void (*routine)()) {
  void* const own = reinterpret_cast<void*>(routine);
  if (call.work() < ShapeChooser::small || always_library() || !call.plain()) return call.run(own);
  shape_chooser().run(call, own);
}

}  // namespace

template <class T>
void gemm(char transa, char transb, Int m, Int n, Int k, std::type_identity_t<T> alpha, const T* a,
          Int lda, const T* b, Int ldb, std::type_identity_t<T> beta, T* c, Int ldc) {
  Check("gemm")
      .letter("transa", transa, "NTC")
      .letter("transb", transb, "NTC")
      .extent("m", m)
      .extent("n", n)
      .extent("k", k)
      .extent("lda", lda, at_least_one(is_transposed(transa) ? k : m))
      .extent("ldb", ldb, at_least_one(is_transposed(transb) ? n : k))
      .extent("ldc", ldc, at_least_one(m));
  run(GemmCall<T>{transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, Linked<T>::gemm);
}

template <class T>
void gemv(char trans, Int m, Int n, std::type_identity_t<T> alpha, const T* a, Int lda, const T* x,
          Int incx, std::type_identity_t<T> beta, T* y, Int incy) {
  Check("gemv")
      .letter("trans", trans, "NTC")
      .extent("m", m)
      .extent("n", n)
      .extent("lda", lda, at_least_one(m))
      .step("incx", incx)
      .step("incy", incy);
  run(GemvCall<T>{trans, m, n, alpha, a, lda, x, incx, beta, y, incy}, Linked<T>::gemv);
}

template <class T>
void trsm(char side, char uplo, char transa, char diag, Int m, Int n, std::type_identity_t<T> alpha,
          const T* a, Int lda, T* b, Int ldb) {
  const TrsmCall<T> call{side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb};
  Check("trsm")
      .letter("side", side, "LR")
      .letter("uplo", uplo, "UL")
      .letter("transa", transa, "NTC")
      .letter("diag", diag, "NU")
      .extent("m", m)
      .extent("n", n)
      .extent("lda", lda, at_least_one(call.order()))
      .extent("ldb", ldb, at_least_one(m));
  run(call, Linked<T>::trsm);
}

template <class T>
void syrk(char uplo, char trans, Int n, Int k, std::type_identity_t<T> alpha, const T* a, Int lda,
          std::type_identity_t<T> beta, T* c, Int ldc) {
  Check("syrk")
      .letter("uplo", uplo, "UL")
      .letter("trans", trans, std::is_floating_point_v<T> ? "NTC" : "NT")
      .extent("n", n)
      .extent("k", k)
      .extent("lda", lda, at_least_one(is_transposed(trans) ? k : n))
      .extent("ldc", ldc, at_least_one(n));
  run(SyrkCall<T>{uplo, trans, n, k, alpha, a, lda, beta, c, ldc}, Linked<T>::syrk);
}

template <class T>
void axpy(Int n, std::type_identity_t<T> alpha, const T* x, Int incx, T* y, Int incy) {
  Check("axpy").extent("n", n).step("incx", incx).step("incy", incy);
  run(AxpyCall<T>{n, alpha, x, incx, y, incy}, Linked<T>::axpy);
}

template <class T>
T dot(Int n, const T* x, Int incx, const T* y, Int incy) {
  Check("dot").extent("n", n).step("incx", incx).step("incy", incy);
  T result{};
  run(DotCall<T>{n, x, incx, y, incy, &result}, std::is_same_v<T, double> ? ddot_ : sdot_);
  return result;
}

#define TAILRACE_INSTANCES(T)                                                                    \
  template void gemm<T>(char, char, Int, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int); \
  template void gemv<T>(char, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int);            \
  template void trsm<T>(char, char, char, char, Int, Int, T, const T*, Int, T*, Int);            \
  template void syrk<T>(char, char, Int, Int, T, const T*, Int, T, T*, Int);                     \
  template void axpy<T>(Int, T, const T*, Int, T*, Int);
TAILRACE_INSTANCES(float)
TAILRACE_INSTANCES(double)
TAILRACE_INSTANCES(std::complex<float>)
TAILRACE_INSTANCES(std::complex<double>)
#undef TAILRACE_INSTANCES
template float dot<float>(Int, const float*, Int, const float*, Int);
template double dot<double>(Int, const double*, Int, const double*, Int);

}  // namespace tailrace::dense
