// SPDX-License-Identifier: BSD-3-Clause
// The kernels of bf16 pieces against plain sums, at sizes that fill no tile and several panels.
#include "dense/bf16_lu.hpp"

#include <gtest/gtest.h>

#include "dense/systems.hpp"

namespace tailrace::dense {
namespace {

std::vector<float> random_floats(std::ptrdiff_t items, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(items));
  for (float& value : values) value = normal(random);
  return values;
}

TEST(Bf16, UpdateIsTheProduct) {
  if (!bf16_available()) GTEST_SKIP() << "no AMX here";
  for (const auto& [m, n, k] : {std::array<std::ptrdiff_t, 3>{1, 1, 1},
                                {31, 33, 17},
                                {32, 32, 32},
                                {70, 45, 96},
                                {300, 40, 33},
                                {5, 290, 64}}) {
    const std::ptrdiff_t ld = m + k + 5;
    const auto l = random_floats(ld * (k + 1), 1);
    const auto u = random_floats(ld * (n + 1), 2);
    const auto start = random_floats(ld * (n + 1), 3);
    for (const int pieces : {1, 2}) {
      auto c = start;
      PackedFactors packed;
      update_by_tiles({m, n, k, l.data(), u.data(), c.data(), ld, pieces}, packed);
      const double unit = pieces == 1 ? 0x1p-7 : 0x1p-14;  // of a product of two rounded factors
      for (std::ptrdiff_t j = 0; j < n; ++j) {
        for (std::ptrdiff_t i = 0; i < ld; ++i) {
          const auto place = static_cast<std::size_t>(i + j * ld);
          if (i >= m) {
            ASSERT_EQ(c[place], start[place]) << "row " << i << " is not of c";
            continue;
          }
          double sum = start[place];
          double size = std::abs(sum) * 1e-6;
          for (std::ptrdiff_t x = 0; x < k; ++x) {
            const double p = static_cast<double>(l[static_cast<std::size_t>(i + x * ld)]) *
                             static_cast<double>(u[static_cast<std::size_t>(x + j * ld)]);
            sum -= p;
            size += std::abs(p) * unit;
          }
          ASSERT_NEAR(c[place], sum, size) << m << " x " << n << " x " << k << ", " << pieces;
        }
      }
    }
  }
}

/// Factors of n x n random items in panels of `panel` are those of the matrix.
void expect_factors(std::ptrdiff_t n, std::ptrdiff_t panel, int pieces) {
  const auto values = random_floats(n * n, 5);
  Factors<float> f;
  f.n = f.ld = n;
  f.pivots.resize(static_cast<std::size_t>(n));
  f.values = make_array<float>(values.size());
  std::copy(values.begin(), values.end(), f.values.get());
  ASSERT_TRUE(factor_bf16(f, pieces, panel));
  auto rows = values;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const auto other = f.pivots[static_cast<std::size_t>(i)] - 1;
    ASSERT_GE(other, i);
    ASSERT_LT(other, n);
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      std::swap(rows[static_cast<std::size_t>(i + j * n)],
                rows[static_cast<std::size_t>(other + j * n)]);
    }
  }
  double worst = 0;
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      double sum = i <= j ? static_cast<double>(f.values[static_cast<std::size_t>(i + j * n)]) : 0;
      for (std::ptrdiff_t x = 0; x < std::min(i, j + 1); ++x) {
        const auto l = static_cast<double>(f.values[static_cast<std::size_t>(i + x * n)]);
        ASSERT_LE(std::abs(l), 1.01) << "a pivot was not the largest of its column";
        sum += l * static_cast<double>(f.values[static_cast<std::size_t>(x + j * n)]);
      }
      worst = std::max(
          worst, std::abs(sum - static_cast<double>(rows[static_cast<std::size_t>(i + j * n)])));
    }
  }
  EXPECT_LT(worst, pieces == 1 ? 0.3 : 2e-3);
  EXPECT_GT(worst, pieces == 1 ? 1e-3 : 1e-6);  // it was bf16 that multiplied
}

TEST(Bf16, FactorsMakeTheMatrix) {
  if (!bf16_available()) GTEST_SKIP() << "no AMX here";
  for (const int pieces : {1, 2}) {
    expect_factors(150, 32, pieces);
    expect_factors(301, 150, pieces);  // more than one inverted block of rows
  }
  expect_factors(257, 0, 2);
}

TEST(Bf16, PivotsThatFallTooFastEndIt) {
  if (!bf16_available()) GTEST_SKIP() << "no AMX here";
  for (const double condition : {1e6, 1e12}) {
    const auto s = test::conditioned_system(700, condition, 3, false);
    auto b = s.b;
    SolveOptions options;
    options.skip_unprofitable = condition < 1e7;  // else it is predicted to fail, and not tried
    const auto certificate = gesv(s.n, 1, s.a.data(), s.lda, b.data(), s.n, options);
    ASSERT_FALSE(certificate.attempts.empty()) << "condition " << condition;
    if (condition < 1e7) {
      EXPECT_EQ(certificate.rung, Rung::bf16x2);
    } else {
      ASSERT_EQ(certificate.attempts.size(), 2U);  // fp32 is not tried
      EXPECT_EQ(certificate.attempts[0].outcome, "too ill-conditioned for this rung");
      EXPECT_EQ(certificate.attempts[0].rcond, 0);  // nor were the factors finished
      EXPECT_EQ(certificate.rung, Rung::fp64);
    }
  }
}

TEST(Bf16, ZeroPivotIsSeen) {
  if (!bf16_available()) GTEST_SKIP() << "no AMX here";
  Factors<float> f;
  f.n = f.ld = 40;
  f.pivots.resize(40);
  f.values = make_array<float>(1600);
  std::fill_n(f.values.get(), 1600, 0.0F);
  EXPECT_FALSE(factor_bf16(f, 2, 32));
}

}  // namespace
}  // namespace tailrace::dense
