// SPDX-License-Identifier: BSD-3-Clause
#include "chooser/decide.hpp"

#include <random>

#include <gtest/gtest.h>

namespace tailrace::chooser {
namespace {

/// Times as machines give them: a floor, scatter above it, and now and then a long delay.
class Clock {
 public:
  explicit Clock(unsigned seed) : generator_(seed) {}
  std::vector<double> samples(double seconds, int count) {
    std::exponential_distribution<double> scatter(1 / (0.05 * seconds));
    std::bernoulli_distribution delayed(0.05);
    std::vector<double> list;
    for (int i = 0; i < count; ++i) {
      list.push_back(seconds + scatter(generator_) + (delayed(generator_) ? 3 * seconds : 0));
    }
    return list;
  }

 private:
  std::mt19937 generator_;
};

TEST(Decide, QuantilesAreThoseOfSortedSamples) {
  const std::vector<double> samples{5, 1, 4, 2, 3};
  EXPECT_EQ(median(samples), 3);
  EXPECT_EQ(quantile(samples, 0), 1);
  EXPECT_EQ(quantile(samples, 1), 5);
  EXPECT_EQ(quantile(samples, 0.25), 2);
  EXPECT_EQ(spread(samples), 1);
  EXPECT_EQ(median(std::vector<double>{1, 2}), 1.5);
  EXPECT_EQ(median(std::vector<double>{}), 0);
  EXPECT_EQ(spread(std::vector<double>{7}), 0);
}

// Of 500 pairs of equal entries the second is taken for faster in very few.
TEST(Decide, EqualEntriesAreEqual) {
  for (const int count : {3, 12, 40}) {
    int wrong = 0;
    for (unsigned seed = 0; seed < 500; ++seed) {
      Clock clock(seed);
      const auto first = clock.samples(1e-4, count);
      const auto second = clock.samples(1e-4, count);
      const auto twin = clock.samples(1e-4, count);
      const std::vector<double> times{1, ratio(second, first)};
      if (first_as_good(times, null_spread(second, twin)) != 0) ++wrong;
    }
    EXPECT_LE(wrong, 25) << count << " samples";
  }
}

// And a difference that is there is seen, once there are samples enough.
TEST(Decide, SmallDifferencesAreSeenWithManySamples) {
  int seen = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    Clock clock(seed);
    const auto slow = clock.samples(1.10e-4, 60);
    const auto fast = clock.samples(1.00e-4, 60);
    const auto twin = clock.samples(1.00e-4, 60);
    const std::vector<double> times{1, ratio(fast, slow)};
    if (first_as_good(times, null_spread(fast, twin)) == 1) ++seen;
  }
  EXPECT_GE(seen, 190);
}

// Half of the samples are thrown far off, of each entry on its own: medians are worth nothing,
// ratios of the same rounds still show 10 %.
TEST(Decide, RatiosOfRoundsSeeThroughDisturbance) {
  int seen = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 generator(seed);
    std::bernoulli_distribution disturbed(0.5);
    std::uniform_real_distribution<double> scatter(1, 1.02);
    const auto draw = [&](double seconds) {
      std::vector<double> list;
      for (int i = 0; i < 200; ++i) {
        list.push_back(seconds * scatter(generator) * (disturbed(generator) ? 20 : 1));
      }
      return list;
    };
    const auto slow = draw(1.1), fast = draw(1.0), twin = draw(1.0);
    const std::vector<double> times{1, ratio(fast, slow)};
    if (first_as_good(times, null_spread(fast, twin)) == 1) ++seen;
  }
  EXPECT_GE(seen, 80);
}

TEST(Decide, NullSpreadHasAFloorAndSeesASystematicDifference) {
  const std::vector<double> equal(10, 1.0);
  EXPECT_EQ(null_spread(equal, equal), least_difference);
  const std::vector<double> other(10, 1.2);  // of the same entry: position in the round matters
  EXPECT_GE(null_spread(equal, other), 0.18);
}

TEST(Decide, TheFirstOfThoseWithinTheNullSpreadWins) {
  const std::vector<double> times{1.30, 1.04, 1.00, 0.99};
  EXPECT_EQ(first_as_good(times, 0), 3U);
  EXPECT_EQ(first_as_good(times, 0.02), 2U);
  EXPECT_EQ(first_as_good(times, 0.06), 1U);
  EXPECT_EQ(first_as_good(times, 0.5), 0U);
}

}  // namespace
}  // namespace tailrace::chooser
