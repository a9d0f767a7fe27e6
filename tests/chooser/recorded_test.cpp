// SPDX-License-Identifier: BSD-3-Clause
// Times of programs, recorded on a shared machine while the parts that choose had rules of their
// own: what these chose is compared with what the chooser makes of the same times.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "chooser/decide.hpp"
#include "chooser/trial.hpp"

namespace tailrace::chooser {
namespace {

/// A line of the file: who chose, the candidate that the old rule chose and the one that is
/// expected now, and each candidate's times; the first is what runs without us.
struct Recorded {
  std::string user;
  std::size_t before, now;
  std::vector<std::vector<double>> times;
};

std::vector<Recorded> recorded() {
  std::vector<Recorded> all;
  std::ifstream file(RECORDED);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    auto& one = all.emplace_back();
    std::istringstream words(line);
    words >> one.user >> one.before >> one.now;
    for (std::string word; words >> word;) {
      if (word == "|") {
        one.times.emplace_back();
      } else {
        one.times.back().push_back(std::stod(word));
      }
    }
  }
  return all;
}

/// LAPACK's plug-in compares medians, as systems of one size differ in what refinement takes.
std::size_t by_medians(const Recorded& one) {
  std::vector<double> medians;
  for (const auto& times : one.times) medians.push_back(median(times));
  const double other = medians[0] + spread(one.times[0]);
  return first_as_good(medians, noise_of_few(medians[0], other, one.times[0].size()));
}

std::size_t by_turns(const Recorded& one) {
  std::size_t rounds = 0;
  for (const auto& times : one.times) rounds = std::max(rounds, times.size());
  Trial trial(one.times.size(), static_cast<int>(rounds));
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < one.times.size(); ++i) {
      if (round < one.times[i].size()) trial.add(i, one.times[i][round]);
    }
  }
  return trial.winner();
}

TEST(Recorded, ChoicesAreAsExpected) {
  const auto all = recorded();
  ASSERT_GE(all.size(), 50U);
  for (const auto& one : all) {
    SCOPED_TRACE(one.user + ", line " + std::to_string(&one - all.data()));
    EXPECT_EQ(one.user == "lapack" ? by_medians(one) : by_turns(one), one.now);
  }
}

// Whatever is chosen now instead of what was chosen before, the difference between the two is small
// or less than what two turns of the same candidate differed by.
TEST(Recorded, ChoicesChangeOnlyWhereTheDifferenceIsNoise) {
  int changed = 0, kept = 0;
  for (const auto& one : recorded()) {
    one.before == one.now ? ++kept : ++changed;
    const auto time_of = [&](std::size_t who) {
      return one.user == "lapack" ? median(one.times[who]) : quantile(one.times[who], 0);
    };
    auto reference = one.times[0];
    std::ranges::sort(reference);
    const double noise = std::max(0.05, reference[1] / reference[0] - 1);
    EXPECT_LE(time_of(one.now), time_of(one.before) * (1 + noise)) << one.user;
  }
  EXPECT_LE(10 * changed, kept);
}

}  // namespace
}  // namespace tailrace::chooser
