// SPDX-License-Identifier: BSD-3-Clause
// What the pivots of a leading block foresee, and systems that are sent to fp64 by it.
#include "dense/predict_condition.hpp"

#include <gtest/gtest.h>

#include "dense/systems.hpp"

namespace tailrace::dense::test {
namespace {

double predicted(const System& s, char triangle = 'A') {
  return predicted_rcond(Matrix<double>{s.a.data(), s.n, s.lda, triangle});
}

TEST(PredictCondition, SingularValuesThatFallAllTheWay) {
  for (const int power : {4, 8, 12}) {
    for (const char triangle : {'A', 'L', 'U'}) {
      const auto s = conditioned_system(1200, std::pow(10, power), 61, triangle != 'A');
      SCOPED_TRACE("condition 1e" + std::to_string(power) + ", " + triangle);
      EXPECT_LT(predicted(s, triangle), std::pow(10, -0.6 * power));
      EXPECT_GT(predicted(s, triangle), std::pow(10, -1.4 * power));
    }
  }
}

TEST(PredictCondition, NothingWhereTheBlockSaysNothing) {
  const auto random = random_system(600, 1, 67);
  EXPECT_GT(predicted(random), 1e-3);
  auto low_rank = random;  // five rows, and multiples of them
  auto zero = random;
  for (std::ptrdiff_t j = 0; j < 300; ++j) {
    for (std::ptrdiff_t i = 0; i < 300; ++i) {
      zero.at(i, j) = 0;
      if (i >= 5) low_rank.at(i, j) = 0.5 * low_rank.at(i % 5, j) + low_rank.at((i + 1) % 5, j);
    }
  }
  EXPECT_GT(predicted(low_rank), 1e-3);
  EXPECT_EQ(predicted(zero), 1);
  EXPECT_EQ(predicted(conditioned_system(100, 1e12, 67, false)), 1);  // too few rows
  auto infinite = random;
  infinite.at(3, 3) = HUGE_VAL;
  EXPECT_EQ(predicted(infinite), 1);
}

TEST(PredictCondition, NotDefinite) {
  auto s = conditioned_system(600, 10, 71, true);
  EXPECT_GT(predicted(s, 'L'), 0);
  s.at(40, 40) = -1;
  EXPECT_EQ(predicted(s, 'L'), 0);
}

TEST(PredictCondition, HopelessSystemsGoToFp64AtOnce) {
  for (const char triangle : {'A', 'L', 'U'}) {
    const auto s = conditioned_system(750, 1e13, 73, triangle != 'A');
    const auto ours = solve(s, {}, triangle);
    EXPECT_TRUE(ours.certificate.attempts.empty());
    EXPECT_EQ(ours.certificate.rung, Rung::fp64);
    EXPECT_LE(errors_of(s, ours.x).normwise, allowed(errors_of(s, lapack(s, triangle).x).normwise));
    EXPECT_GT(ours.certificate.rcond, 0);
    EXPECT_LT(ours.certificate.rcond, 1e-10);
    EXPECT_FALSE(solve(s, whole_ladder(), triangle).certificate.attempts.empty());
  }
}

}  // namespace
}  // namespace tailrace::dense::test
