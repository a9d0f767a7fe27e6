// SPDX-License-Identifier: BSD-3-Clause
// Routines by the linked BLAS and by another library that is opened at run time, beside plain
// loops.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "blas/chooser.hpp"
#include "environment.hpp"
#include "plugins/blas/linked_blas.hpp"
#include "plugins/blas/plain_blas.hpp"

namespace tailrace::blas {
namespace {

using namespace linked;

template <class T>
using Real = decltype(std::abs(T{}));

template <class T>
T draw(std::mt19937& random) {
  std::uniform_real_distribution<Real<T>> value(-1, 1);
  if constexpr (std::is_floating_point_v<T>) {
    return value(random);
  } else {
    return T{value(random), value(random)};
  }
}

/// Random arguments of all routines: large enough that nothing is too small to be chosen for.
template <class T>
struct Arguments {
  std::mt19937 random{5};
  int m = 41, n = 37, k = 35, long_n = 20011, ld = 45;
  T alpha{2}, beta = draw<T>(random);
  std::vector<T> a, b, c, x, y;

  Arguments() {
    for (auto* items : {&a, &b, &c}) *items = fresh(static_cast<std::size_t>(ld * ld));
    for (auto* items : {&x, &y}) *items = fresh(static_cast<std::size_t>(2 * long_n));
    for (int i = 0; i < ld; ++i) a[static_cast<std::size_t>(i * (ld + 1))] += T(20);
  }
  std::vector<T> fresh(std::size_t items) {
    std::vector<T> made(items);
    for (T& item : made) item = draw<T>(random);
    return made;
  }
};

/// Every item within rounding of sums of `terms` terms.
template <class T>
void expect_near(const std::vector<T>& got, const std::vector<T>& expected, int terms,
                 const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  const auto bound = static_cast<Real<T>>(8 * terms + 64) * std::numeric_limits<Real<T>>::epsilon();
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(got[i] - expected[i]), bound * (1 + std::abs(expected[i]))) << what << i;
  }
}

template <class T>
class BlasOf : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(BlasOf, Types);

TYPED_TEST(BlasOf, ProductsAreRight) {
  using T = TypeParam;
  Arguments<T> g;
  for (const char ta : {'N', 'T', 'C'}) {
    for (const char tb : {'N', 'T', 'C'}) {
      auto got = g.c, expected = g.c;
      gemm(ta, tb, g.m, g.n, g.k, g.alpha, g.a.data(), g.ld, g.b.data(), g.ld, g.beta, got.data(),
           g.ld);
      plain_blas::gemm(ta, tb, g.m, g.n, g.k, g.alpha, g.a.data(), g.ld, g.b.data(), g.ld, g.beta,
                       expected.data(), g.ld);
      expect_near(got, expected, 400, std::string("gemm ") + ta + tb + " ");
    }
    for (const int step : {1, 2, -1}) {
      auto got = g.y, expected = g.y;
      gemv(ta, g.m, g.n, g.alpha, g.a.data(), g.ld, g.x.data(), step, g.beta, got.data(), -step);
      plain_blas::gemv(ta, g.m, g.n, g.alpha, g.a.data(), g.ld, g.x.data(), step, g.beta,
                       expected.data(), -step);
      expect_near(got, expected, 400, std::string("gemv ") + ta + " ");
    }
    if (ta == 'C' && !std::is_floating_point_v<T>) continue;
    for (const char uplo : {'U', 'L'}) {
      auto got = g.c, expected = g.c;
      syrk(uplo, ta, g.n, g.k, g.alpha, g.a.data(), g.ld, g.beta, got.data(), g.ld);
      plain_blas::syrk(uplo, ta, g.n, g.k, g.alpha, g.a.data(), g.ld, g.beta, expected.data(),
                       g.ld);
      expect_near(got, expected, 1000, std::string("syrk ") + uplo + ta + " ");
    }
  }
}

TYPED_TEST(BlasOf, TriangularSolvesAndVectorsAreRight) {
  using T = TypeParam;
  Arguments<T> g;
  for (const char side : {'L', 'R'}) {
    for (const char uplo : {'U', 'L'}) {
      for (const char trans : {'N', 'T', 'C'}) {
        auto got = g.b, expected = g.b;
        trsm(side, uplo, trans, 'N', g.m, g.n, g.alpha, g.a.data(), g.ld, got.data(), g.ld);
        plain_blas::trsm(side, uplo, trans, 'N', g.m, g.n, g.alpha, g.a.data(), g.ld,
                         expected.data(), g.ld);
        expect_near(got, expected, 100, std::string("trsm ") + side + uplo + trans + " ");
      }
    }
  }
  for (const int step : {1, 2, -1}) {
    auto got = g.y, expected = g.y;
    axpy(g.long_n, g.alpha, g.x.data(), step, got.data(), 1);
    plain_blas::axpy(g.long_n, g.alpha, g.x.data(), step, expected.data(), 1);
    expect_near(got, expected, 2, "axpy ");
    if constexpr (std::is_floating_point_v<T>) {
      EXPECT_NEAR(dot(g.long_n, g.x.data(), step, g.y.data(), 1),
                  plain_blas::dot(g.long_n, g.x.data(), step, g.y.data(), 1),
                  static_cast<T>(4 * g.long_n) * std::numeric_limits<T>::epsilon());
    }
  }
}

TEST(Blas, NoItemsAreTheLibrarys) {
  double one = 1;
  EXPECT_EQ(dot(0, &one, 1, &one, 1), 0);
}

// The program's own library of the tests below: right, and slow.
int own_calls = 0;
void wait_and_count() {
  ++own_calls;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}
template <class T>
void slow_gemv(const char* trans, const std::int64_t* m, const std::int64_t* n, const T* alpha,
               const T* a, const std::int64_t* lda, const T* x, const std::int64_t* incx,
               const T* beta, T* y, const std::int64_t* incy) {
  wait_and_count();
  plain_blas::gemv(*trans, static_cast<int>(*m), static_cast<int>(*n), *alpha, a,
                   static_cast<int>(*lda), x, static_cast<int>(*incx), *beta, y,
                   static_cast<int>(*incy));
}
double slow_dot(const std::int64_t* n, const double* x, const std::int64_t*, const double* y,
                const std::int64_t*) {
  wait_and_count();
  return plain_blas::dot(static_cast<int>(*n), x, 1, y, 1);
}

/// With other libraries, and a memory that nothing is in.
class OtherLibraries : public testing::Test {
 protected:
  void SetUp() override {
    if (open_blas_libraries(1).usable.empty()) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
      GTEST_SKIP() << "no library is opened under a sanitizer";
#else
      FAIL() << "the library of this test was not opened";
#endif
    }
    own_calls = 0;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  static int other_calls() {
    void* const handle = dlopen(PLAIN_BLAS, RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<int (*)()>(dlsym(handle, "plain_blas_calls"))();
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("tailrace_test_blas_" + std::to_string(getpid()));
  Environment cache_{"TAILRACE_CACHE", folder_.string()};
  Environment libraries_{"TAILRACE_BLAS_LIBRARIES", PLAIN_BLAS ":/nowhere/libblas.so:" WRONG_BLAS};
};

TEST_F(OtherLibraries, WhatCannotBeUsedIsNamed) {
  const auto found = open_blas_libraries(1);
  ASSERT_EQ(found.usable.size(), 1U);
  EXPECT_EQ(found.usable[0].name, std::filesystem::path(PLAIN_BLAS).filename());
  EXPECT_EQ(found.left_out, (std::vector<std::string>{"/nowhere/libblas.so: it cannot be opened",
                                                      WRONG_BLAS ": its dgemm is wrong"}));
  const Environment none("TAILRACE_BLAS_LIBRARIES", "none");
  EXPECT_TRUE(open_blas_libraries(1).usable.empty());
}

TEST_F(OtherLibraries, TheFasterOneIsChosenRightInEveryTurnAndRemembered) {
  Arguments<double> g;
  const int n = 150;
  g.a = g.fresh(static_cast<std::size_t>(n * n));
  auto y = g.y;
  const GemvCall<double> call{'T',        n, n,      g.alpha,  g.a.data(), n,
                              g.x.data(), 1, g.beta, y.data(), 1};
  auto expected = g.y;
  plain_blas::gemv('T', n, n, g.alpha, g.a.data(), n, g.x.data(), 1, g.beta, expected.data(), 1);
  void* const own = reinterpret_cast<void*>(slow_gemv<double>);
  const auto run = [&](ShapeChooser& chooser, int calls) {
    for (int i = 0; i < calls; ++i) {
      std::ranges::copy(g.y, y.begin());
      chooser.run(call, own);
      expect_near(y, expected, 400, "call " + std::to_string(i) + ", item ");
    }
  };
  const int before = other_calls();
  ShapeChooser first(1, 0);
  run(first, 30);
  EXPECT_GE(own_calls, 1);
  EXPECT_LE(own_calls, ShapeVerdict::rounds);
  EXPECT_EQ(other_calls() - before, 30 - own_calls + 1);  // it is asked for a product first
  const auto name = std::filesystem::path(PLAIN_BLAS).filename().string();
  ASSERT_EQ(first.by_variant().count(name), 1U);
  EXPECT_EQ(first.by_variant().at(name), 30 - own_calls);
  first.remember();

  own_calls = 0;
  ShapeChooser second(1, 0);
  run(second, 10);
  EXPECT_EQ(own_calls, 0);
  const Environment off("TAILRACE_TUNE_FILE", "");
  ShapeChooser forgetful(1, 0);
  run(forgetful, 10);
  EXPECT_GT(own_calls, 0);
}

TEST_F(OtherLibraries, AreOpenedOnlyOnceThereIsWork) {
  Arguments<double> g;
  double result = 0;
  const DotCall<double> call{g.long_n, g.x.data(), 1, g.y.data(), 1, &result};
  ShapeChooser chooser(1, 16 * 5 * g.long_n);
  for (int i = 0; i < 20; ++i) {
    chooser.run(call, reinterpret_cast<void*>(slow_dot));
    EXPECT_EQ(chooser.left_out().empty(), i < 4);
    EXPECT_NEAR(result, plain_blas::dot(g.long_n, g.x.data(), 1, g.y.data(), 1), 1e-11);
  }
  EXPECT_LE(own_calls, 4 + ShapeVerdict::rounds);
}

}  // namespace
}  // namespace tailrace::blas
