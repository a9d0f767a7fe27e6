// SPDX-License-Identifier: BSD-3-Clause
// Racah's algebra against sums over magnetic quantum numbers.
#include "angular.hpp"

#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

namespace tailrace::helium {
namespace {

double factorial(int n) { return std::tgamma(n + 1.0); }

/// <l1 m l2 -m | L 0> by Racah's sum.
double clebsch(int a, int b, int c, int m) {
  const double front =
      std::sqrt((2.0 * c + 1) * factorial(a + b - c) * factorial(a - b + c) *
                factorial(-a + b + c) / factorial(a + b + c + 1) * factorial(a + m) *
                factorial(a - m) * factorial(b - m) * factorial(b + m)) *
      factorial(c);
  double sum = 0;
  for (int k = 0; k <= a + b + c; ++k) {
    const int parts[] = {a + b - c - k, a - m - k, b - m - k, c - b + m + k, c - a + m + k};
    double below = factorial(k);
    bool whole = true;
    for (const int part : parts) {
      whole = whole && part >= 0;
      if (part >= 0) below *= factorial(part);
    }
    if (whole) sum += (k % 2 == 0 ? 1 : -1) / below;
  }
  return front * sum;
}

/// <l m | cos theta | l' m>
double cosine_of(int l, int other, int m) {
  const int low = std::min(l, other);
  if (std::abs(l - other) != 1 || std::abs(m) > low) return 0;
  return std::sqrt(((low + 1.0) * (low + 1) - m * m) / ((2.0 * low + 1) * (2 * low + 3)));
}

TEST(Angular, CountsChannels) {
  EXPECT_EQ(make_channels(2, 1).size(), 7u);
  EXPECT_EQ(make_channels(3, 1).size(), 10u);
  EXPECT_EQ(make_channels(2, 2).size(), 11u);
}

TEST(Angular, ChannelsHaveMirrors) {
  const auto channels = make_channels(4, 3);
  const auto mirrors = mirrors_of(channels);
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const auto& mirror = channels.at(static_cast<std::size_t>(mirrors[c]));
    EXPECT_EQ(mirror, (Channel{channels[c].big_l, channels[c].l2, channels[c].l1}));
  }
}

TEST(Angular, CosinesAreSumsOverMagneticNumbers) {
  const auto channels = make_channels(3, 3);
  for (const auto& left : channels) {
    for (const auto& right : channels) {
      double first = 0, second = 0;
      for (int m = -3; m <= 3; ++m) {
        if (std::abs(m) > std::min(std::min(left.l1, left.l2), std::min(right.l1, right.l2))) {
          continue;
        }
        const double weight =
            clebsch(left.l1, left.l2, left.big_l, m) * clebsch(right.l1, right.l2, right.big_l, m);
        if (left.l2 == right.l2) first += weight * cosine_of(left.l1, right.l1, m);
        if (left.l1 == right.l1) second += weight * cosine_of(left.l2, right.l2, m);
      }
      EXPECT_NEAR(cosine(left, right, 1), first, 1e-13);
      EXPECT_NEAR(cosine(left, right, 2), second, 1e-13);
    }
  }
}

/// P_1(cos theta_12) squared is (1 + 2 P_2) / 3: products of matrices of P_1 in a space that is
/// large enough give that of P_2, whatever the signs of the algebra were.
TEST(Angular, MultipolesMultiply) {
  const auto large = make_channels(6, 2), small = make_channels(3, 2);
  for (const auto& left : small) {
    for (const auto& right : small) {
      double product = 0;
      for (const auto& between : large) {
        product += repulsion(left, between, 1) * repulsion(between, right, 1);
      }
      const double same = left == right ? 1 : 0;
      EXPECT_NEAR(product, (same + 2 * repulsion(left, right, 2)) / 3, 1e-13);
      EXPECT_NEAR(repulsion(left, right, 0), same, 1e-13);
    }
  }
}

/// cos theta_1 commutes with P_1(cos theta_12).
TEST(Angular, PositionsCommute) {
  const auto large = make_channels(6, 5), small = make_channels(2, 2);
  for (const auto& left : small) {
    for (const auto& right : small) {
      double one = 0, other = 0;
      for (const auto& between : large) {
        one += cosine(left, between, 1) * repulsion(between, right, 1);
        other += repulsion(left, between, 1) * cosine(between, right, 1);
      }
      EXPECT_NEAR(one, other, 1e-13);
    }
  }
}

}  // namespace
}  // namespace tailrace::helium
