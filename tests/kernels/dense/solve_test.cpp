// SPDX-License-Identifier: BSD-3-Clause
// Every rung against LAPACK's double drivers: errors of the answer, and what the certificate says.
#include <gtest/gtest.h>

#include <limits>

#include "dense/systems.hpp"

namespace tailrace::dense::test {
namespace {

/// Solves by `options` and compares with LAPACK.
Certificate expect_as_good(const System& s, const SolveOptions& options, char triangle = 'A') {
  const auto ours = solve(s, options, triangle);
  const auto reference = lapack(s, triangle);
  EXPECT_EQ(ours.certificate.info, 0);
  EXPECT_EQ(reference.info, 0);
  const auto mine = errors_of(s, ours.x);
  const auto theirs = errors_of(s, reference.x);
  EXPECT_LE(mine.normwise, allowed(theirs.normwise));
  EXPECT_LE(mine.componentwise, allowed_componentwise(theirs.componentwise));
  if (options.bounds) {  // what is said of them; rounding of the residual apart
    EXPECT_NEAR(ours.certificate.backward_error, mine.normwise, 1e-15);
    EXPECT_NEAR(ours.certificate.componentwise_backward_error, mine.componentwise, 1e-15);
  }
  return ours.certificate;
}

TEST(Solve, EveryRungIsAsGoodAsDgesv) {
  int solved = 0;
  for (const auto rung : {Rung::bf16x1, Rung::bf16x2, Rung::fp32, Rung::fp64}) {
    if (!available(rung)) continue;
    for (const std::ptrdiff_t n : {1, 2, 3, 7, 33, 100, 290}) {
      for (const std::ptrdiff_t nrhs : {std::ptrdiff_t{1}, std::ptrdiff_t{3}, n}) {
        auto s = random_system(n, nrhs, 7);
        for (std::ptrdiff_t i = 0; i < n; ++i) s.at(i, i) += 3 * std::sqrt(static_cast<double>(n));
        SCOPED_TRACE(std::string(name(rung)) + ", n " + std::to_string(n) + ", nrhs " +
                     std::to_string(nrhs));
        const auto certificate = expect_as_good(s, only(rung));
        EXPECT_EQ(certificate.rung, rung);
        EXPECT_GT(certificate.rcond, 0);
        EXPECT_LE(certificate.rcond, 1);
        ++solved;
      }
    }
  }
  EXPECT_GE(solved, 2 * 7 * 3);
}

TEST(Solve, EveryConditionIsAsGoodAsDgesv) {
  for (int power = 2; power <= 14; power += 2) {
    const auto s = conditioned_system(200, std::pow(10, power), 11, false);
    SCOPED_TRACE("condition 1e" + std::to_string(power));
    const auto certificate = expect_as_good(s, whole_ladder());
    // |A|_1 |A^-1|_1 is between the condition number / n and times n.
    EXPECT_LE(certificate.rcond, 200 * std::pow(10, -power));
    EXPECT_GE(certificate.rcond, std::pow(10, -power) / 200);
    if (power <= 4) {
      EXPECT_NE(certificate.rung, Rung::fp64);
    }
    if (power >= 12) {
      EXPECT_EQ(certificate.rung, Rung::fp64);
    }
  }
}

TEST(Solve, FirstColumnIsNoGuessOfTheRest) {
  for (const double size : {1e-30, 1e30}) {
    auto s = random_system(90, 2, 17);
    for (std::ptrdiff_t i = 0; i < s.n; ++i) {
      s.at(i, i) += 30;
      s.at(i, 0) *= size;
    }
    SCOPED_TRACE("first column times " + std::to_string(size));
    expect_as_good(s, whole_ladder());
    s.at(3, 5) = std::numeric_limits<double>::infinity();
    EXPECT_EQ(solve(s, whole_ladder()).certificate.rung, Rung::fp64);
  }
}

// A few small singular values beside many large ones: one step leaves a twentieth, time and again,
// but all of them together end as soon as GMRES does.
TEST(Solve, StepsTogetherConvergeFasterThanAlone) {
  auto s = conditioned_system(150, 1.0, 19, false);
  const auto v = random_system(s.n, 1, 23).b;
  double length = 0;
  for (double item : v) length += item * item;
  for (std::ptrdiff_t j = 0; j < s.n; ++j) {  // 1 - v v^T (1 - 1e-6) / |v|^2 on the right
    double sum = 0;
    for (std::ptrdiff_t i = 0; i < s.n; ++i) sum += v[static_cast<std::size_t>(i)] * s.at(i, j);
    for (std::ptrdiff_t i = 0; i < s.n; ++i) {
      s.at(i, j) -= (1 - 1e-6) * sum * v[static_cast<std::size_t>(i)] / length;
    }
  }
  const auto certificate = expect_as_good(s, only(Rung::fp32));
  EXPECT_EQ(certificate.rung, Rung::fp32);
  EXPECT_LE(certificate.steps, 5);
}

TEST(Solve, GradedMatrices) {
  for (const double grade : {1e-3, 1e-8, 1e-14, 1e-60}) {
    auto s = random_system(120, 2, 13);
    for (std::ptrdiff_t i = 0; i < s.n; ++i) {
      for (std::ptrdiff_t j = 0; j < s.n; ++j) {
        s.at(i, j) *= std::pow(grade, static_cast<double>(i) / static_cast<double>(s.n));
      }
    }
    SCOPED_TRACE(grade);
    expect_as_good(s, whole_ladder());
  }
}

TEST(Solve, AnyScale) {
  for (const double scale : {1e-300, 1e-30, 1e30, 1e290}) {
    auto s = random_system(100, 1, 17);
    for (double& item : s.a) item *= scale;
    SCOPED_TRACE(scale);
    EXPECT_NE(expect_as_good(s, whole_ladder()).rung, Rung::fp64);
  }
}

TEST(Solve, GmresTakesOverWhereStepsDoNotContract) {
  const auto s = conditioned_system(300, 1e8, 19, false);
  auto options = only(Rung::fp32);
  options.refiner = Refiner::gmres;
  const auto certificate = expect_as_good(s, options);
  EXPECT_GT(certificate.inner_steps, 1);
  if (!available(Rung::bf16x1)) return;
  options = only(Rung::bf16x1);
  const auto hard = conditioned_system(300, 1e4, 19, false);
  options.refiner = Refiner::classical;
  EXPECT_EQ(solve(hard, options).certificate.info, -1);
  options.refiner = Refiner::gmres;
  expect_as_good(hard, options);
}

TEST(Solve, HopelessSystemsEndAsDgesvDoes) {
  const auto s = conditioned_system(200, 1e15, 23, false);
  const auto ours = solve(s, whole_ladder());
  EXPECT_EQ(ours.certificate.rung, Rung::fp64);
  EXPECT_GE(ours.certificate.attempts.size(), 2U);
  EXPECT_LE(errors_of(s, ours.x).normwise, allowed(errors_of(s, lapack(s).x).normwise));
}

TEST(Solve, KnownConditionChoosesTheFirstRung) {
  const auto s = conditioned_system(100, 1e2, 29, false);
  auto options = whole_ladder();
  options.expected_condition = 1e13;
  EXPECT_TRUE(solve(s, options).certificate.attempts.empty());
  options.expected_condition = 1e9;
  EXPECT_EQ(solve(s, options).certificate.attempts.at(0).rung, Rung::fp32);
  if (!available(Rung::bf16x1)) return;
  options.expected_condition = 100;
  EXPECT_EQ(solve(s, options).certificate.attempts.at(0).rung, Rung::bf16x1);
  options.expected_condition = 0;
  EXPECT_EQ(solve(s, options).certificate.attempts.at(0).rung, Rung::bf16x2);
}

TEST(Solve, ForwardErrorIsABound) {
  for (const double condition : {1e1, 1e3, 1e6}) {
    auto s = conditioned_system(150, condition, 31, false);
    Vector exact(150);
    for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = static_cast<double>(i % 7) - 3;
    for (double& item : s.a) item = std::nearbyint(item * 0x1p30) * 0x1p-30;  // so that b is exact
    for (std::ptrdiff_t i = 0; i < s.n; ++i) {
      long double sum = 0;
      for (std::ptrdiff_t j = 0; j < s.n; ++j)
        sum += static_cast<long double>(s.at(i, j)) * exact[static_cast<std::size_t>(j)];
      s.b[static_cast<std::size_t>(i)] = static_cast<double>(sum);
    }
    const auto ours = solve(s, whole_ladder());
    double wrong = 0;
    double size = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      wrong += std::abs(ours.x[i] - exact[i]);
      size += std::abs(exact[i]);
    }
    EXPECT_LE(wrong / size, ours.certificate.forward_error);
    EXPECT_LE(ours.certificate.forward_error, condition * 1e-10);
  }
}

TEST(Solve, DefiniteMatricesFromEitherTriangle) {
  for (const char triangle : {'L', 'U'}) {
    for (const double condition : {1e2, 1e6, 1e13}) {
      for (const std::ptrdiff_t n : {1, 2, 9, 150}) {
        auto whole = conditioned_system(n, condition, 37, true);
        SCOPED_TRACE(std::string(1, triangle) + " " + std::to_string(condition));
        auto half = whole;
        for (std::ptrdiff_t j = 0; j < n; ++j) {
          for (std::ptrdiff_t i = 0; i < n; ++i) {
            if (triangle == 'L' ? i < j : i > j) half.at(i, j) = std::nan("");
          }
        }
        for (const auto& options : {whole_ladder(), only(Rung::fp64)}) {
          const auto ours = solve(half, options, triangle);
          ASSERT_EQ(ours.certificate.info, 0);
          const auto mine = errors_of(whole, ours.x);
          const auto theirs = errors_of(whole, lapack(half, triangle).x);
          EXPECT_LE(mine.normwise, allowed(theirs.normwise));
          EXPECT_LE(mine.componentwise, allowed_componentwise(theirs.componentwise));
          if (n == 150) {
            EXPECT_GT(ours.certificate.rcond, 1e-3 / condition);
          }
        }
        if (condition < 1e3) {
          EXPECT_EQ(solve(half, whole_ladder(), triangle).certificate.rung, Rung::fp32);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tailrace::dense::test
