// SPDX-License-Identifier: BSD-3-Clause
// LU and Cholesky of our own beside LAPACK's: pivots, factors, what cannot be factored, and systems
// that end by them. Sizes fill no tile, no strip and no panel.
#include "dense/own_factors.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <limits>

#include "dense/gemm/gemm.hpp"
#include "dense/systems.hpp"

extern "C" {
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* ipiv, int* info);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t);
}

namespace tailrace::dense {
namespace {

template <class T>
struct Routines;
template <>
struct Routines<float> {
  static constexpr auto getrf = sgetrf_;
  static constexpr auto potrf = spotrf_;
};
template <>
struct Routines<double> {
  static constexpr auto getrf = dgetrf_;
  static constexpr auto potrf = dpotrf_;
};

template <class T>
Factors<T> copy_of(const std::vector<T>& values, std::ptrdiff_t n, std::ptrdiff_t ld,
                   bool cholesky) {
  Factors<T> factors;
  factors.n = n;
  factors.ld = ld;
  if (!cholesky) factors.pivots.resize(static_cast<std::size_t>(n));
  factors.values = make_array<T>(values.size());
  std::copy(values.begin(), values.end(), factors.values.get());
  return factors;
}

/// Random items; `definite`: and a diagonal that makes their lower triangle positive definite.
template <class T>
std::vector<T> random_items(std::ptrdiff_t n, std::ptrdiff_t ld, bool definite) {
  std::mt19937_64 random(static_cast<unsigned>(n));
  std::normal_distribution<double> normal;
  std::vector<T> values(static_cast<std::size_t>(ld * n));
  for (T& value : values) value = static_cast<T>(normal(random));
  for (std::ptrdiff_t i = 0; definite && i < n; ++i) {
    values[static_cast<std::size_t>(i * (ld + 1))] =
        static_cast<T>(4 * std::sqrt(static_cast<double>(n)));
  }
  return values;
}

/// LAPACK's on the same matrix.
template <class T>
Factors<T> by_lapack(const std::vector<T>& values, std::ptrdiff_t n, std::ptrdiff_t ld,
                     bool cholesky, int& info) {
  auto factors = copy_of(values, n, ld, cholesky);
  const int order = static_cast<int>(n);
  const int leading = static_cast<int>(ld);
  if (cholesky) {
    Routines<T>::potrf("L", &order, factors.values.get(), &leading, &info, 1);
  } else {
    Routines<T>::getrf(&order, &order, factors.values.get(), &leading, factors.pivots.data(),
                       &info);
  }
  return factors;
}

template <class T>
void expect_as_lapack(std::ptrdiff_t n, bool cholesky) {
  const auto ld = n + 3;
  const auto values = random_items<T>(n, ld, cholesky);
  auto ours = copy_of(values, n, ld, cholesky);
  ASSERT_TRUE(factor_own(ours));
  int info = -1;
  const auto theirs = by_lapack(values, n, ld, cholesky, info);
  ASSERT_EQ(info, 0);
  EXPECT_EQ(ours.pivots, theirs.pivots) << n;
  // Rounding grows with n and with the condition of the leading blocks.
  const double most =
      500 * static_cast<double>(n) * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    for (std::ptrdiff_t i = 0; i < ld; ++i) {
      const auto at = static_cast<std::size_t>(i + j * ld);
      if (i >= n || (cholesky && i < j)) {
        ASSERT_EQ(ours.values[at], values[at]) << "item " << i << ", " << j << " is not ours";
      } else {
        ASSERT_NEAR(ours.values[at], theirs.values[at], most) << n << ": " << i << ", " << j;
      }
    }
  }
}

class OwnFactors : public testing::Test {
 protected:
  void SetUp() override {
    if (factor_kernels<double>() == nullptr) GTEST_SKIP() << "no kernels for this processor";
  }
};

TEST_F(OwnFactors, AreLapacks) {
  for (const std::ptrdiff_t n : {1, 2, 7, 8, 9, 25, 47, 96, 97, 191, 192, 193, 250, 401, 501}) {
    for (const bool cholesky : {false, true}) {
      expect_as_lapack<double>(n, cholesky);
      expect_as_lapack<float>(n, cholesky);
    }
  }
}

/// What ours are given up for, LAPACK must see or spread.
template <class T>
void expect_refused(std::vector<T> values, std::ptrdiff_t n, bool cholesky) {
  auto factors = copy_of(values, n, n, cholesky);
  EXPECT_FALSE(factor_own(factors));
}

TEST_F(OwnFactors, RefuseWhatHasNone) {
  constexpr std::ptrdiff_t n = 300;
  for (const std::ptrdiff_t at : {0, 5, 100, 299}) {
    for (const bool cholesky : {false, true}) {
      const auto whole = random_items<double>(n, n, cholesky);
      const auto place = static_cast<std::size_t>(at * (n + 1));
      auto values = whole;
      for (std::ptrdiff_t i = 0; i < n; ++i) values[static_cast<std::size_t>(i + at * n)] = 0;
      expect_refused(values, n, cholesky);
      int info = 0;
      by_lapack(values, n, n, cholesky, info);
      EXPECT_EQ(info, at + 1) << "the matrix is not what it should be";
      values = whole;
      values[place] = std::numeric_limits<double>::quiet_NaN();
      expect_refused(values, n, cholesky);
      values[place] = std::numeric_limits<double>::infinity();
      expect_refused(values, n, cholesky);
      if (!cholesky) continue;
      values[place] = -1;
      expect_refused(values, n, cholesky);
    }
  }
  for (const std::ptrdiff_t row : {0, 299}) {  // NaN that is never a pivot's column
    auto values = random_items<double>(n, n, false);
    values[static_cast<std::size_t>(row + 17 * n)] = std::numeric_limits<double>::quiet_NaN();
    expect_refused(values, n, false);
  }
}

// Rounding leaves a tiny pivot or none: info is LAPACK's, and the certificate says what it is.
TEST_F(OwnFactors, EqualRowsAreAsSingularAsInLapack) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  for (const std::ptrdiff_t n : {131, 200, 301}) {
    for (const std::ptrdiff_t other : {std::ptrdiff_t{1}, n / 2, n - 1}) {
      auto s = test::random_system(n, 1, 7);
      for (std::ptrdiff_t j = 0; j < n; ++j) s.at(other, j) = s.at(0, j);
      const auto ours = test::solve(s, test::only(Rung::fp64));
      EXPECT_EQ(ours.certificate.info, test::lapack(s).info) << n << ", " << other;
      EXPECT_LT(ours.certificate.rcond, 1e-13) << n << ", " << other;
    }
  }
  omp_set_num_threads(threads);
}

// Systems that end in double precision are solved as well as by dgesv and dposv, with their info.
TEST_F(OwnFactors, SolveAsLapackDoes) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  EXPECT_TRUE(own_factors_pay<double>(500));
  for (const std::ptrdiff_t n : {40, 130, 211, 500}) {
    for (const char triangle : {'A', 'L', 'U'}) {
      for (const double condition : {1e3, 1e12}) {
        auto s = test::conditioned_system(n, condition, 5, triangle != 'A');
        for (const bool singular : {false, true}) {
          if (singular) {
            for (std::ptrdiff_t i = 0; i < n; ++i) s.at(i, n / 2) = s.at(n / 2, i) = 0;
          }
          const auto theirs = test::lapack(s, triangle);
          const auto ours = test::solve(s, test::only(Rung::fp64), triangle);
          ASSERT_EQ(ours.certificate.info, theirs.info) << n << triangle << condition;
          ASSERT_EQ(ours.certificate.rung, Rung::fp64);
          if (theirs.info != 0) {
            EXPECT_EQ(ours.x, s.b);
            continue;
          }
          const auto mine = test::errors_of(s, ours.x);
          const auto lapacks = test::errors_of(s, theirs.x);
          EXPECT_LE(mine.normwise, test::allowed(lapacks.normwise)) << n << triangle << condition;
          EXPECT_LE(mine.componentwise, test::allowed_componentwise(lapacks.componentwise))
              << n << triangle << condition;
        }
      }
    }
  }
  omp_set_num_threads(threads);
}

// Factors that differ by rounding give errors that differ: two of ten were 1.1 times dgesv's or
// more before a step of refinement.
TEST_F(OwnFactors, AnswersAreNoWorseThanLapacks) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  auto options = test::only(Rung::fp64);
  for (const bool bounds : {false, true}) {
    options.bounds = bounds;
    for (unsigned seed = 0; seed < 10; ++seed) {
      const auto s = test::random_system(1400, 1, seed);
      const auto mine = test::errors_of(s, test::solve(s, options).x);
      const auto lapacks = test::errors_of(s, test::lapack(s).x);
      EXPECT_LE(mine.normwise, test::allowed(lapacks.normwise)) << seed;
      EXPECT_LE(mine.componentwise, test::allowed_componentwise(lapacks.componentwise)) << seed;
    }
  }
  omp_set_num_threads(threads);
}

}  // namespace
}  // namespace tailrace::dense
