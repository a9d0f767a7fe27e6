// SPDX-License-Identifier: BSD-3-Clause
// Products by the chooser, and what it chooses by made-up times.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "blas/chooser.hpp"
#include "dense/products.hpp"
#include "plugins/blas/linked_blas.hpp"

namespace tailrace::blas {
namespace {

using namespace linked;
using dense::test::Product;

template <class T>
class GemmOf : public testing::Test {};
using Types = testing::Types<double, float>;
TYPED_TEST_SUITE(GemmOf, Types);

TYPED_TEST(GemmOf, ProductsOfAnyShapeAreRight) {
  using T = TypeParam;
  std::mt19937 random(7);
  const auto draw = [&](std::ptrdiff_t largest) {
    return std::uniform_int_distribution<std::ptrdiff_t>(1, largest)(random);
  };
  for (int round = 0; round < 150; ++round) {
    std::ptrdiff_t m = draw(40), n = draw(20), k = draw(40);
    if (round % 5 == 1) m = 500 + draw(300);
    if (round % 5 == 2) n = 100 + draw(200);
    if (round % 5 == 3) k = 250 + draw(900);
    const bool ta = round & 1, tb = round & 2;
    Product<T> problem(random, m, n, k, ta, tb);
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
  run_gemm(
      GemmMethod::packed,
      dense::Gemm<T>{*ta != 'N', *tb != 'N', *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc},
      1);
}

TYPED_TEST(GemmOf, EveryTurnOfAClassIsRight) {
  using T = TypeParam;
  std::mt19937 random(8);
  ShapeChooser chooser(2);
  Product<T> problem(random, 40, 30, 60, false, false);
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
}  // namespace tailrace::blas
