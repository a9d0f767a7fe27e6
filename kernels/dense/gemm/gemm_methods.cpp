// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include "dense/gemm/gemm.hpp"
#include "dense/gemm/instruction_sets.hpp"

namespace tailrace::dense {

namespace {

constexpr std::array<const char*, static_cast<std::size_t>(GemmMethod::num_methods)> names{
    "library", "packed", "direct", "inner"};

#ifdef TAILRACE_GEMM_X86
template <class Kernels>
const Kernels* choose(const Kernels* portable, const Kernels* avx2, const Kernels* avx512) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    return avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2;
  return portable;
}
#endif

template <class T>
void run_one(GemmMethod method, const Gemm<T>& product) {
  const auto& kernels = gemm_kernels<T>();
  if (method == GemmMethod::direct) return kernels.direct(product);
  if (method == GemmMethod::inner) return kernels.inner(product);
  kernels.packed(product);
}

/// Rows or columns `part` of `parts`, in whole tiles.
template <class T>
Gemm<T> share(Gemm<T> g, bool by_columns, int part, int parts) {
  const auto& kernels = gemm_kernels<T>();
  const std::ptrdiff_t tile = by_columns ? kernels.columns : kernels.rows;
  const auto all = by_columns ? g.n : g.m;
  const auto tiles = (all + tile - 1) / tile;
  const auto first = std::min(all, tiles * part / parts * tile);
  const auto last = std::min(all, tiles * (part + 1) / parts * tile);
  if (by_columns) {
    g.b += first * (g.b_transposed ? 1 : g.ldb);
    g.c += first * g.ldc;
    g.n = last - first;
  } else {
    g.a += first * (g.a_transposed ? g.lda : 1);
    g.c += first;
    g.m = last - first;
  }
  return g;
}

}  // namespace

const char* name(GemmMethod method) { return names[static_cast<std::size_t>(method)]; }

template <>
const GemmKernels<double>& gemm_kernels<double>() {
#ifdef TAILRACE_GEMM_X86
  static const auto* const best = choose(&gemm_portable_d, &gemm_avx2_d, &gemm_avx512_d);
  return *best;
#else
  return gemm_portable_d;
#endif
}
template <>
const FactorKernels<double>* factor_kernels<double>() {
  const FactorKernels<double>* best = nullptr;
#ifdef TAILRACE_GEMM_X86
  best = choose(best, &factor_avx2_d, &factor_avx512_d);
#endif
  return best;
}
template <>
const GemmKernels<float>& gemm_kernels<float>() {
#ifdef TAILRACE_GEMM_X86
  static const auto* const best = choose(&gemm_portable_s, &gemm_avx2_s, &gemm_avx512_s);
  return *best;
#else
  return gemm_portable_s;
#endif
}
template <>
const FactorKernels<float>* factor_kernels<float>() {
  const FactorKernels<float>* best = nullptr;
#ifdef TAILRACE_GEMM_X86
  best = choose(best, &factor_avx2_s, &factor_avx512_s);
#endif
  return best;
}

template <class T>
bool worth_trying(GemmMethod method, const Gemm<T>& g) {
  constexpr std::ptrdiff_t small = 64;  // C or k of fewer items is what libraries are weak at
  switch (method) {
    case GemmMethod::library:
      return true;
    case GemmMethod::packed:
      return g.m > 1 && g.n > 1 && std::min({g.m, g.n, g.k}) <= 4 * small;
    case GemmMethod::direct:
      return !g.a_transposed && g.n > 1 && (g.n <= small || g.k <= small || g.m <= small);
    case GemmMethod::inner:
      return g.a_transposed && !g.b_transposed &&
             (std::min(g.m, g.n) <= small / 4 || std::max(g.m, g.n) <= small);
    default:
      return false;
  }
}
template bool worth_trying(GemmMethod, const Gemm<double>&);
template bool worth_trying(GemmMethod, const Gemm<float>&);

template <class T>
void run_gemm(GemmMethod method, const Gemm<T>& product, int threads) {
  const bool by_columns = product.n >= product.m;
  if (threads <= 1) return run_one(method, product);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int part = 0; part < threads; ++part) {
    const auto mine = share(product, by_columns, part, threads);
    if (mine.m > 0 && mine.n > 0) run_one(method, mine);
  }
}
template void run_gemm(GemmMethod, const Gemm<double>&, int);
template void run_gemm(GemmMethod, const Gemm<float>&, int);

}  // namespace tailrace::dense
