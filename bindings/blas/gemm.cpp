// SPDX-License-Identifier: BSD-3-Clause
#include "gemm.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <type_traits>

#include "dense/gemm/chooser.hpp"

namespace tailrace::blas {

using dense::Gemm;
using dense::GemmChooser;
using lapack::Lapack;

namespace {

template <class T>
GemmChooser<T>& chooser() {
  static auto& it = *new GemmChooser<T>(dense::gemm_threads());  // calls come from destructors, too
  return it;
}

/// What the library does for us: checks of wrong arguments, empty products, scaling alone.
template <class T>
bool is_plain(const Gemm<T>& g) {
  return g.m > 0 && g.n > 0 && g.k > 0 && g.alpha != T{} && g.lda >= (g.a_transposed ? g.k : g.m) &&
         g.ldb >= (g.b_transposed ? g.n : g.k) && g.ldc >= g.m && !dense::always_library();
}

/// 'N' is false, 'T' and 'C' are true; `known` becomes false for others.
bool is_transposed(char trans, bool& known) {
  const auto letter = static_cast<char>(trans & ~0x20);
  known = known && (letter == 'N' || letter == 'T' || letter == 'C');
  return letter != 'N';
}

/// CBLAS's 111, 112 and 113.
bool is_transposed(int trans, bool& known) {
  known = known && trans >= 111 && trans <= 113;
  return trans != 111;
}

}  // namespace

template <class T>
void do_gemm(const Family& family, void* caller, const FortranCall<T>& call) {
  using Library = void (*)(const char*, const char*, const void*, const void*, const void*,
                           const T*, const T*, const void*, const T*, const void*, const T*, T*,
                           const void*, std::size_t, std::size_t);
  const Lapack& blas = lapack_of(family, caller);
  const auto routine = blas.get<Library>(std::is_same_v<T, double> ? lapack::dgemm : lapack::sgemm);
  if (routine == nullptr) {
    std::fputs("tailrace: gemm: the BLAS of this program was not found\n", stderr);
    std::abort();
  }
  const auto library = [&] {
    routine(call.transa, call.transb, call.m, call.n, call.k, call.alpha, call.a, call.lda, call.b,
            call.ldb, call.beta, call.c, call.ldc, 1, 1);
  };
  const auto m = blas.read(call.m), n = blas.read(call.n), k = blas.read(call.k);
  if (m * n * k < GemmChooser<T>::small) return library();  // also what is wrong or empty
  bool known = true;
  const bool ta = is_transposed(*call.transa, known), tb = is_transposed(*call.transb, known);
  const Gemm<T> product{ta,
                        tb,
                        m,
                        n,
                        k,
                        *call.alpha,
                        call.a,
                        blas.read(call.lda),
                        call.b,
                        blas.read(call.ldb),
                        *call.beta,
                        call.c,
                        blas.read(call.ldc)};
  if (!known || !is_plain(product)) return library();
  chooser<T>().run(product, library);
}

template <class T>
void do_cblas_gemm(const Family& family, void* caller, const CblasCall<T>& call) {
  using Library = void (*)(int, int, int, std::int64_t, std::int64_t, std::int64_t, T, const T*,
                           std::int64_t, const T*, std::int64_t, T, T*, std::int64_t);
  const Lapack& blas = lapack_of(family, caller);
  const auto routine =
      blas.get<Library>(std::is_same_v<T, double> ? lapack::cblas_dgemm : lapack::cblas_sgemm);
  if (routine == nullptr) {
    std::fputs("tailrace: cblas gemm: the BLAS of this program was not found\n", stderr);
    std::abort();
  }
  const auto library = [&] {
    routine(call.layout, call.transa, call.transb, call.m, call.n, call.k, call.alpha, call.a,
            call.lda, call.b, call.ldb, call.beta, call.c, call.ldc);
  };
  const auto whole = [&](std::int64_t value) {
    return static_cast<std::ptrdiff_t>(blas.wide ? value : static_cast<std::int32_t>(value));
  };
  constexpr int row_major = 101, column_major = 102;
  bool known = call.layout == row_major || call.layout == column_major;
  const bool ta = is_transposed(call.transa, known), tb = is_transposed(call.transb, known);
  // Rows of C are columns of its transpose, op(B)^T op(A)^T.
  const Gemm<T> product =
      call.layout == row_major
          ? Gemm<T>{tb,         ta,     whole(call.n),   whole(call.m), whole(call.k),
                    call.alpha, call.b, whole(call.ldb), call.a,        whole(call.lda),
                    call.beta,  call.c, whole(call.ldc)}
          : Gemm<T>{ta,         tb,     whole(call.m),   whole(call.n), whole(call.k),
                    call.alpha, call.a, whole(call.lda), call.b,        whole(call.ldb),
                    call.beta,  call.c, whole(call.ldc)};
  if (!known || !is_plain(product)) return library();
  chooser<T>().run(product, library);
}

template void do_gemm(const Family&, void*, const FortranCall<double>&);
template void do_gemm(const Family&, void*, const FortranCall<float>&);
template void do_cblas_gemm(const Family&, void*, const CblasCall<double>&);
template void do_cblas_gemm(const Family&, void*, const CblasCall<float>&);

namespace {

/// Says at the end what was done, unless TAILRACE_BLAS_SUMMARY is 0.
__attribute__((destructor)) void report() {
  const char* const wanted = std::getenv("TAILRACE_BLAS_SUMMARY");
  if (wanted != nullptr && std::string_view(wanted) == "0") return;
  const auto d = chooser<double>().account(), s = chooser<float>().account();
  const auto calls = d.calls + s.calls;
  if (calls == 0) return;
  const double gained_s = d.gained_s + s.gained_s;
  std::fprintf(stderr,
               "tailrace: dgemm, sgemm: %lld products of some size, %lld of them by methods of "
               "ours; gained about %.3g s\n",
               static_cast<long long>(calls), static_cast<long long>(d.ours + s.ours), gained_s);
}

}  // namespace

}  // namespace tailrace::blas
