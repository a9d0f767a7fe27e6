// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

// C := alpha op(A) op(B) + beta C by one of several methods, for shapes where BLAS libraries are
// slow: few rows, few columns or short sums. Library tailrace::dense. Nothing here is collective.
namespace tailrace::dense {

/// The arguments of dgemm or sgemm: op(A) is m x k, op(B) k x n, C m x n, all column-major. The
/// caller has checked them: extents are not negative, and leading dimensions are large enough.
template <class T>
struct Gemm {
  bool a_transposed, b_transposed;
  std::ptrdiff_t m, n, k;
  T alpha;
  const T* a;
  std::ptrdiff_t lda;
  const T* b;
  std::ptrdiff_t ldb;
  T beta;  ///< 0: C is not read
  T* c;
  std::ptrdiff_t ldc;
};

/// How a product is computed.
enum class GemmMethod {
  library,  ///< the BLAS library's own routine; the reference
  packed,   ///< blocks of A and B copied side by side
  direct,   ///< A read in place: few columns, or short sums
  inner,    ///< sums along k: small C, long k, A transposed
  num_methods
};
/// "library", "packed", "direct" or "inner".
const char* name(GemmMethod method);

/// Whether a method may pay off for such a product; T is double or float. Local.
template <class T>
bool worth_trying(GemmMethod method, const Gemm<T>& product);

/// Computes by a method other than `library` on `threads` threads. Local, blocking.
template <class T>
void run_gemm(GemmMethod method, const Gemm<T>& product, int threads);

}  // namespace tailrace::dense
