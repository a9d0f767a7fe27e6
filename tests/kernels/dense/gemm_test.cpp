// SPDX-License-Identifier: BSD-3-Clause
// Products by every method and instruction set beside three plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "dense/blas/chooser.hpp"
#include "dense/gemm/instruction_sets.hpp"
#include "dense/linked_blas.hpp"

namespace tailrace::dense {
namespace {

using namespace linked;

/// A random product whose matrices have rows that belong to nobody, and C in a guarded array.
template <class T>
struct Problem {
  std::vector<T> a, b, c, expected;
  Gemm<T> product{};
  static constexpr T guard = T{12345};
  static constexpr std::ptrdiff_t margin = 16;

  Problem(std::mt19937& random, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, bool ta,
          bool tb) {
    const auto below = [&](int limit) {
      return std::uniform_int_distribution<std::ptrdiff_t>(0, limit)(random);
    };
    std::uniform_real_distribution<T> value(-1, 1);
    const T factors[] = {T{1}, T{-0.5}, T{2}};
    const T betas[] = {T{0}, T{1}, T{0.25}};
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const auto lda = (ta ? k : m) + below(3), ldb = (tb ? n : k) + below(3), ldc = m + below(3);
    a.assign(static_cast<std::size_t>(lda * (ta ? m : k)), nan);
    b.assign(static_cast<std::size_t>(ldb * (tb ? k : n)), nan);
    c.assign(static_cast<std::size_t>(ldc * n + 2 * margin), guard);
    product = {ta,
               tb,
               m,
               n,
               k,
               factors[below(2)],
               a.data(),
               lda,
               b.data(),
               ldb,
               betas[below(2)],
               c.data() + margin,
               ldc};
    fill(a, ta ? k : m, ta ? m : k, lda, [&] { return value(random); });
    fill(b, tb ? n : k, tb ? k : n, ldb, [&] { return value(random); });
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        c[static_cast<std::size_t>(margin + i + j * ldc)] = product.beta == 0 ? nan : value(random);
      }
    }
    expected = c;
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        double sum = 0;
        for (std::ptrdiff_t p = 0; p < k; ++p) {
          sum += static_cast<double>(ta ? product.a[p + i * lda] : product.a[i + p * lda]) *
                 static_cast<double>(tb ? product.b[j + p * ldb] : product.b[p + j * ldb]);
        }
        T& out = expected[static_cast<std::size_t>(margin + i + j * ldc)];
        const double old = product.beta == 0 ? 0 : static_cast<double>(product.beta * out);
        out = static_cast<T>(static_cast<double>(product.alpha) * sum + old);
      }
    }
  }

  /// Runs `action` on a fresh C and compares every item of the array that holds it.
  template <class Action>
  void check(const std::string& what, Action action) {
    const auto fresh = c;
    action(product);
    const T bound = std::numeric_limits<T>::epsilon() * 8 * static_cast<T>(product.k + 2);
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (std::abs(c[i] - expected[i]) <= bound) continue;
      ADD_FAILURE() << what << ": m " << product.m << " n " << product.n << " k " << product.k
                    << (product.a_transposed ? " T" : " N") << (product.b_transposed ? "T" : "N")
                    << " alpha " << product.alpha << " beta " << product.beta << ": item " << i
                    << " is " << c[i] << ", expected " << expected[i];
      break;
    }
    c = fresh;
    product.c = c.data() + margin;
  }

 private:
  template <class Value>
  static void fill(std::vector<T>& matrix, std::ptrdiff_t rows, std::ptrdiff_t columns,
                   std::ptrdiff_t ld, Value value) {
    for (std::ptrdiff_t j = 0; j < columns; ++j) {
      for (std::ptrdiff_t i = 0; i < rows; ++i)
        matrix[static_cast<std::size_t>(i + j * ld)] = value();
    }
  }
};

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
    Problem<T> problem(random, m, n, k, ta, tb);
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
        problem.check(gemm_methods()[static_cast<std::size_t>(method)].name,
                      [&](const auto& g) { run_gemm(method, g, threads); });
      }
    }
    problem.check("gemm", [&](const auto& g) {
      gemm(ta ? 'T' : 'N', tb ? 'c' : 'n', m, n, k, g.alpha, g.a, g.lda, g.b, g.ldb, g.beta, g.c,
           g.ldc);
    });
  }
}

// The program's own library, and how often it was called.
int by_library = 0;
template <class T>
void own_gemm(const char* ta, const char* tb, const std::int64_t* m, const std::int64_t* n,
              const std::int64_t* k, const T* alpha, const T* a, const std::int64_t* lda,
              const T* b, const std::int64_t* ldb, const T* beta, T* c, const std::int64_t* ldc) {
  ++by_library;
  run_gemm(GemmMethod::packed,
           Gemm<T>{*ta != 'N', *tb != 'N', *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc},
           1);
}

TYPED_TEST(GemmOf, EveryTurnOfAClassIsRight) {
  using T = TypeParam;
  std::mt19937 random(8);
  ShapeChooser chooser(2);
  Problem<T> problem(random, 40, 30, 60, false, false);
  by_library = 0;
  for (int call = 0; call < 40; ++call) {
    problem.check("call " + std::to_string(call), [&](const auto& g) {
      chooser.run(
          GemmCall<T>{'N', 'N', g.m, g.n, g.k, g.alpha, g.a, g.lda, g.b, g.ldb, g.beta, g.c, g.ldc},
          reinterpret_cast<void*>(own_gemm<T>));
    });
  }
  EXPECT_GE(by_library, ShapeVerdict::rounds);
  EXPECT_LT(by_library, 40);
  EXPECT_EQ(chooser.account().calls, 40);
  EXPECT_EQ(chooser.account().ours, 40 - by_library);
}

TEST(Gemm, EmptyProductsAreTheLibrarys) {
  const double one = 1;
  double c = 3;
  gemm('N', 'N', 1, 1, 0, 1.0, &one, 1, &one, 1, 0.5, &c, 1);  // no sums: scaled alone
  EXPECT_EQ(c, 1.5);
  gemm<double>('N', 'N', 0, 1, 1, 1.0, nullptr, 1, nullptr, 1, 0.5, nullptr, 1);
}

TEST(ShapeVerdict, TheFastestVariantWinsWhereItPays) {
  const std::vector<BlasVariant> variants{{GemmMethod::library, 1, nullptr, {}},
                                          {GemmMethod::packed, 1, nullptr, {}},
                                          {GemmMethod::direct, 1, nullptr, {}}};
  const auto decide = [&](std::vector<double> seconds) {
    ShapeVerdict verdict(variants);
    std::vector<int> turns(variants.size());
    for (int call = 0; call < 100 && verdict.chosen() < 0; ++call) {
      const auto turn = verdict.next();
      EXPECT_TRUE(turn.timed);
      ++turns[static_cast<std::size_t>(turn.variant)];
      // The first turn of each variant is slow, and does not count.
      const bool first = turns[static_cast<std::size_t>(turn.variant)] == 1;
      verdict.record(turn.variant,
                     seconds[static_cast<std::size_t>(turn.variant)] * (first ? 10 : 1));
    }
    EXPECT_EQ(turns[0], ShapeVerdict::rounds);
    return std::pair(verdict.chosen(), turns);
  };
  EXPECT_EQ(decide({1.0, 0.9, 0.5}).first, 2);
  EXPECT_EQ(decide({1.0, 0.5, 0.9}).first, 1);
  EXPECT_EQ(decide({1.0, 0.98, 1.2}).first, 0);
  const auto [chosen, turns] = decide({1.0, 3.0, 0.8});
  EXPECT_EQ(chosen, 2);
  EXPECT_LT(turns[1], ShapeVerdict::rounds);  // hopeless: no more turns
}

TEST(ShapeVerdict, ARememberedVariantIsTakenAtOnceAndCheckedSoon) {
  ShapeVerdict verdict(
      {{GemmMethod::library, 1, nullptr, {}}, {GemmMethod::direct, 1, nullptr, {}}}, 1);
  int calls = 0;
  for (; calls < 100; ++calls) {
    const auto turn = verdict.next();
    if (turn.timed) break;
    EXPECT_EQ(turn.variant, 1);
  }
  EXPECT_LE(calls, ShapeVerdict::until_first_check);
}

TEST(ShapeVerdict, AVariantThatHasBecomeSlowIsGivenUp) {
  ShapeVerdict verdict(
      {{GemmMethod::library, 1, nullptr, {}}, {GemmMethod::direct, 1, nullptr, {}}});
  while (verdict.chosen() < 0) {
    const auto turn = verdict.next();
    verdict.record(turn.variant, turn.variant == 0 ? 1.0 : 0.5);
  }
  EXPECT_EQ(verdict.chosen(), 1);
  int timed = 0;
  for (int call = 0; call < 10 * ShapeVerdict::until_check && verdict.chosen() == 1; ++call) {
    const auto turn = verdict.next();
    if (!turn.timed) continue;
    ++timed;
    verdict.record(turn.variant, turn.variant == 0 ? 1.0 : 1.5);
  }
  EXPECT_EQ(verdict.chosen(), 0);
  EXPECT_EQ(timed, 6);  // three checks of two calls
  EXPECT_FALSE(verdict.next().timed);
}

}  // namespace
}  // namespace tailrace::dense
