// SPDX-License-Identifier: BSD-3-Clause
// 10,000 small systems of mixed kinds: never worse than dgesv, and info as dgesv's.
#include <gtest/gtest.h>

#include "dense/systems.hpp"

namespace tailrace::dense::test {
namespace {

/// Random, with small integers (often singular), graded columns, a repeated row, or a NaN.
System draw(std::mt19937_64& random, int& kind) {
  const auto below = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  const std::ptrdiff_t n = 1 + below(40);
  auto s = random_system(n, 1 + below(5), static_cast<unsigned>(random()));
  kind = below(6);
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      if (kind == 1) s.at(i, j) = below(3) - 1;
      if (kind == 2) s.at(i, j) *= std::pow(10.0, below(2) * -static_cast<double>(j % 12));
    }
  }
  if (kind == 3 && n > 1) {
    for (std::ptrdiff_t j = 0; j < n; ++j) s.at(n - 1, j) = s.at(0, j);
  }
  const auto somewhere = static_cast<std::ptrdiff_t>(below(static_cast<int>(n)));
  if (kind == 4)
    s.at(somewhere, below(static_cast<int>(n))) = below(2) == 0 ? std::nan("") : HUGE_VAL;
  if (kind == 5) s.b[static_cast<std::size_t>(somewhere)] = below(2) == 0 ? 0.0 : -HUGE_VAL;
  return s;
}

bool all_finite(const Vector& x) {
  return std::all_of(x.begin(), x.end(), [](double item) { return std::isfinite(item); });
}

/// Equal, or both with items that are not finite (which, and how many, depends on how LAPACK's
/// blocks lie).
bool same(const Vector& a, const Vector& b) { return a == b || (!all_finite(a) && !all_finite(b)); }

TEST(Random, NeverWorseThanDgesv) {
  std::mt19937_64 random(20260101);
  int low = 0;
  int singular = 0;
  int not_finite = 0;
  for (int number = 0; number < 10000; ++number) {
    int kind = 0;
    const auto s = draw(random, kind);
    SCOPED_TRACE("system " + std::to_string(number) + ", kind " + std::to_string(kind) + ", n " +
                 std::to_string(s.n));
    const auto ours = solve(s, whole_ladder());
    const auto reference = lapack(s);
    ASSERT_EQ(ours.certificate.info, reference.info);
    const bool finite = all_finite(reference.x);
    singular += reference.info > 0;
    not_finite += !finite;
    if (ours.certificate.rung == Rung::fp64) {
      ASSERT_TRUE(same(ours.x, reference.x));
      continue;
    }
    ++low;
    ASSERT_TRUE(finite);
    const auto mine = errors_of(s, ours.x);
    const auto theirs = errors_of(s, reference.x);
    ASSERT_LE(mine.normwise, allowed(theirs.normwise));
    ASSERT_LE(mine.componentwise, allowed_componentwise(theirs.componentwise));
  }
  EXPECT_GT(low, 5000);
  EXPECT_GT(singular, 250);
  EXPECT_GT(not_finite, 500);
}

}  // namespace
}  // namespace tailrace::dense::test
