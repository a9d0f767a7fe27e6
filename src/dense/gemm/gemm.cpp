// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/gemm.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <string>

#include "dense/gemm/chooser.hpp"

extern "C" {
void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
            const double* beta, double* c, const int* ldc, std::size_t, std::size_t);
void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
            const float* beta, float* c, const int* ldc, std::size_t, std::size_t);
}

namespace tailrace::dense {

namespace {

bool is_transposed(char trans, const char* name) {
  switch (trans) {
    case 'N':
    case 'n':
      return false;
    case 'T':
    case 't':
    case 'C':
    case 'c':
      return true;
    default:
      throw std::invalid_argument("gemm: " + std::string(name) + " is '" + trans +
                                  "': it must be 'N', 'T' or 'C'");
  }
}

void require(bool good, const std::string& what) {
  if (!good) throw std::invalid_argument("gemm: " + what);
}

template <class T>
void check(const Gemm<T>& g) {
  constexpr std::ptrdiff_t largest = std::numeric_limits<int>::max();
  struct Extent {
    const char* name;
    std::ptrdiff_t value, least;
  };
  const std::array<Extent, 6> extents{
      {{"m", g.m, 0},
       {"n", g.n, 0},
       {"k", g.k, 0},
       {"lda", g.lda, std::max<std::ptrdiff_t>(1, g.a_transposed ? g.k : g.m)},
       {"ldb", g.ldb, std::max<std::ptrdiff_t>(1, g.b_transposed ? g.n : g.k)},
       {"ldc", g.ldc, std::max<std::ptrdiff_t>(1, g.m)}}};
  for (const auto& extent : extents) {
    require(extent.value >= extent.least && extent.value <= largest,
            std::string(extent.name) + " is " + std::to_string(extent.value) +
                ": it must be at least " + std::to_string(extent.least) + " and at most " +
                std::to_string(largest));
  }
}

template <class T>
void by_library(const Gemm<T>& g) {
  const char transa = g.a_transposed ? 'T' : 'N', transb = g.b_transposed ? 'T' : 'N';
  const int m = static_cast<int>(g.m), n = static_cast<int>(g.n), k = static_cast<int>(g.k),
            lda = static_cast<int>(g.lda), ldb = static_cast<int>(g.ldb),
            ldc = static_cast<int>(g.ldc);
  if constexpr (sizeof(T) == sizeof(double)) {
    dgemm_(&transa, &transb, &m, &n, &k, &g.alpha, g.a, &lda, g.b, &ldb, &g.beta, g.c, &ldc, 1, 1);
  } else {
    sgemm_(&transa, &transb, &m, &n, &k, &g.alpha, g.a, &lda, g.b, &ldb, &g.beta, g.c, &ldc, 1, 1);
  }
}

template <class T>
void choose_and_run(const Gemm<T>& product) {
  check(product);
  if (product.m == 0 || product.n == 0) return;
  const auto library = [&] { by_library(product); };
  if (product.k == 0 || product.alpha == T{} || always_library()) return library();
  static auto& chooser = *new GemmChooser<T>(gemm_threads());  // calls may come from destructors
  chooser.run(product, library);
}

}  // namespace

void gemm(char transa, char transb, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k,
          double alpha, const double* a, std::ptrdiff_t lda, const double* b, std::ptrdiff_t ldb,
          double beta, double* c, std::ptrdiff_t ldc) {
  choose_and_run(Gemm<double>{is_transposed(transa, "transa"), is_transposed(transb, "transb"), m,
                              n, k, alpha, a, lda, b, ldb, beta, c, ldc});
}

void gemm(char transa, char transb, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k,
          float alpha, const float* a, std::ptrdiff_t lda, const float* b, std::ptrdiff_t ldb,
          float beta, float* c, std::ptrdiff_t ldc) {
  choose_and_run(Gemm<float>{is_transposed(transa, "transa"), is_transposed(transb, "transb"), m, n,
                             k, alpha, a, lda, b, ldb, beta, c, ldc});
}

}  // namespace tailrace::dense
