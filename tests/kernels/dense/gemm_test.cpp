// SPDX-License-Identifier: BSD-3-Clause
// Products by every method and instruction set beside three plain loops.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dense/gemm/instruction_sets.hpp"
#include "dense/products.hpp"

namespace tailrace::dense {
namespace {

using test::Product;

template <class T>
std::vector<std::pair<const char*, const GemmKernels<T>*>> kernels_of_this_processor() {
  std::vector<std::pair<const char*, const GemmKernels<T>*>> found;
  const auto pick = [](const auto& d, const auto& s) -> const GemmKernels<T>& {
    if constexpr (sizeof(T) == sizeof(double)) {
      static_cast<void>(s);
      return d;
    } else {
      static_cast<void>(d);
      return s;
    }
  };
  found.emplace_back("portable", &pick(gemm_portable_d, gemm_portable_s));
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    found.emplace_back("avx2", &pick(gemm_avx2_d, gemm_avx2_s));
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    found.emplace_back("avx512", &pick(gemm_avx512_d, gemm_avx512_s));
  }
#endif
  return found;
}

template <class T>
class GemmOf : public testing::Test {};
using Types = testing::Types<double, float>;
TYPED_TEST_SUITE(GemmOf, Types);

TYPED_TEST(GemmOf, EveryMethodAndInstructionSetIsRight) {
  using T = TypeParam;
  std::mt19937 random(7);
  const auto draw = [&](std::ptrdiff_t largest) {
    return std::uniform_int_distribution<std::ptrdiff_t>(1, largest)(random);
  };
  for (int round = 0; round < 150; ++round) {
    // Small in all, long in one; k beyond one block of sums, m beyond the height where blocks
    // change.
    std::ptrdiff_t m = draw(40), n = draw(20), k = draw(40);
    if (round % 5 == 1) m = 500 + draw(300);
    if (round % 5 == 2) n = 100 + draw(200);
    if (round % 5 == 3) k = 250 + draw(900);
    const bool ta = round & 1, tb = round & 2;
    Product<T> problem(random, m, n, k, ta, tb);
    for (const auto& [name, kernels] : kernels_of_this_processor<T>()) {
      problem.check(std::string(name) + " packed", [&](const auto& g) { kernels->packed(g); });
      if (!ta)
        problem.check(std::string(name) + " direct", [&](const auto& g) { kernels->direct(g); });
      if (ta && !tb) {
        problem.check(std::string(name) + " inner", [&](const auto& g) { kernels->inner(g); });
      }
    }
    for (const int threads : {1, 3}) {
      for (const auto method : {GemmMethod::packed, GemmMethod::direct, GemmMethod::inner}) {
        if (!worth_trying(method, problem.product)) continue;
        problem.check(name(method), [&](const auto& g) { run_gemm(method, g, threads); });
      }
    }
  }
}

}  // namespace
}  // namespace tailrace::dense
