// SPDX-License-Identifier: BSD-3-Clause
#include "chooser/trial.hpp"

#include <array>

#include <gtest/gtest.h>

#include "chooser/budget.hpp"

namespace tailrace::chooser {
namespace {

/// Gives each candidate the times of its turns, as long as there are turns; the winner.
template <std::size_t count>
std::size_t run(Trial& trial, const std::array<std::vector<double>, count>& times) {
  while (!trial.decided()) {
    const auto who = trial.next();
    trial.add(who, times[who].at(static_cast<std::size_t>(trial.turns(who))));
  }
  return trial.next();
}

TEST(Trial, CandidatesTakeTurns) {
  Trial trial(3, 2);
  for (const std::size_t who : {0U, 1U, 2U, 0U, 1U, 2U}) {
    EXPECT_FALSE(trial.decided());
    EXPECT_EQ(trial.next(), who);
    trial.add(who, 1);
  }
  EXPECT_TRUE(trial.decided());
  EXPECT_EQ(trial.winner(), 0U);
}

TEST(Trial, TheFasterOneWinsWhateverItsFirstTurnTook) {
  Trial trial(2, 3);
  EXPECT_EQ(run<2>(trial, {{{1, 1, 1.01}, {50, 0.9, 2}}}), 1U);
  EXPECT_EQ(trial.shortest_s(1), 0.9);
}

TEST(Trial, TheReferenceStaysWhereTheDifferenceIsSmallOrNoise) {
  Trial small(2, 3);
  EXPECT_EQ(run<2>(small, {{{1, 1, 1}, {0.98, 0.98, 0.98}}}), 0U);
  Trial noisy(2, 3);
  EXPECT_EQ(run<2>(noisy, {{{1, 1.4, 1.6}, {0.8, 0.8, 0.8}}}), 0U);
  Trial quiet(2, 3);
  EXPECT_EQ(run<2>(quiet, {{{1, 1.01, 1.6}, {0.8, 0.8, 0.8}}}), 1U);
}

TEST(Trial, OfEqualAlternativesTheFirstWins) {
  Trial trial(3, 2);
  EXPECT_EQ(run<3>(trial, {{{1, 1}, {0.505, 0.505}, {0.5, 0.5}}}), 1U);
}

TEST(Trial, TheHopelessHaveNoMoreTurns) {
  Trial trial(3, 5);
  const std::vector<double> one(5, 1), three(5, 3), half(5, 0.5);
  EXPECT_EQ(run<3>(trial, {{one, three, half}}), 2U);
  EXPECT_EQ(trial.turns(1), 2);
}

TEST(Trial, RanksThatAgreeOnTheLongestTimesAgreeOnTheWinner) {
  Trial here(2, 2), there(2, 2);
  EXPECT_EQ(run<2>(here, {{{1, 1}, {0.5, 0.5}}}), 1U);
  EXPECT_EQ(run<2>(there, {{{1, 1}, {1.2, 1.3}}}), 0U);
  auto longest = here.times();
  const auto others = there.times();
  for (std::size_t i = 0; i < longest.size(); ++i) longest[i] = std::max(longest[i], others[i]);
  here.set_times(longest);
  there.set_times(longest);
  EXPECT_EQ(here.winner(), 0U);
  EXPECT_EQ(there.winner(), 0U);
}

TEST(Budget, IsAPartOfTheRunAndSoMuchAtOnce) {
  constexpr Budget budget{0.1, 1};
  EXPECT_TRUE(budget.allows(1, 0));
  EXPECT_FALSE(budget.allows(1.5, 0));
  EXPECT_TRUE(budget.allows(1.5, 5));
  EXPECT_FALSE(budget.allows(2.5, 10));
}

}  // namespace
}  // namespace tailrace::chooser
