// SPDX-License-Identifier: BSD-3-Clause
#include "server/policy/overflow.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

using Action = Overflow::Action;

OutputOptions policy(WhenFull when_full, double budget = 0) {
  OutputOptions options;
  options.when_full = when_full;
  options.stall_budget = budget;
  options.wait_limit_s = 30;
  return options;
}

const Situation room{.room = true, .room_lowered = true};
const Situation full{};
const Situation half{.room_lowered = true};
const Situation disk{.can_spill = true};

TEST(OverflowTest, StepsWithRoomAreTakenByEveryPolicy) {
  for (const auto when_full :
       {WhenFull::wait, WhenFull::drop, WhenFull::thin, WhenFull::lower, WhenFull::spill}) {
    Overflow overflow(policy(when_full));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(overflow.first(room).action, Action::take);
    EXPECT_EQ(overflow.stride(), 1);
  }
}

TEST(OverflowTest, WaitingEndsWithRoomOrAnError) {
  Overflow overflow(policy(WhenFull::wait));
  const auto choice = overflow.first(full);
  EXPECT_EQ(choice.action, Action::wait);
  EXPECT_EQ(choice.limit_s, 30);
  EXPECT_EQ(overflow.after_wait(room).action, Action::take);
  EXPECT_EQ(overflow.first(full).action, Action::wait);
  const auto late = overflow.after_wait(full);
  EXPECT_EQ(late.action, Action::wait);
  EXPECT_EQ(late.limit_s, 0);
}

TEST(OverflowTest, Drop) {
  Overflow overflow(policy(WhenFull::drop));
  EXPECT_EQ(overflow.first(full).action, Action::drop);
  EXPECT_EQ(overflow.first(room).action, Action::take);
}

TEST(OverflowTest, ThinDoublesItsStrideAndHalvesItAgain) {
  Overflow overflow(policy(WhenFull::thin));
  EXPECT_EQ(overflow.first(full).action, Action::thin);
  EXPECT_EQ(overflow.stride(), 2);
  EXPECT_EQ(overflow.first(room).action, Action::thin);  // not its turn
  EXPECT_EQ(overflow.first(full).action, Action::thin);
  EXPECT_EQ(overflow.stride(), 4);
  int taken = 0;
  for (int i = 0; i < 16; ++i) taken += overflow.first(room).action == Action::take ? 1 : 0;
  EXPECT_EQ(taken, 4);
  EXPECT_EQ(overflow.stride(), 2);
  for (int i = 0; i < 8; ++i) overflow.first(room);
  EXPECT_EQ(overflow.stride(), 1);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(overflow.first(room).action, Action::take);
}

TEST(OverflowTest, ThinHasALongestStride) {
  Overflow overflow(policy(WhenFull::thin));
  for (std::int64_t i = 0; i < (std::int64_t{1} << 22); ++i) overflow.first(full);
  EXPECT_LE(overflow.stride(), std::int64_t{1} << 20);
}

TEST(OverflowTest, LowerNeedsRoomForHalf) {
  Overflow overflow(policy(WhenFull::lower));
  EXPECT_EQ(overflow.first(half).action, Action::lower);
  const auto choice = overflow.first(full);
  EXPECT_EQ(choice.action, Action::wait);
  EXPECT_EQ(choice.limit_s, 30);
  EXPECT_TRUE(choice.lowered_will_do);
  EXPECT_EQ(overflow.after_wait(half).action, Action::lower);
  overflow.first(full);
  EXPECT_EQ(overflow.after_wait(full).limit_s, 0);
}

TEST(OverflowTest, SpillWaitsWhereItCannot) {
  Overflow overflow(policy(WhenFull::spill));
  EXPECT_EQ(overflow.first(disk).action, Action::spill);
  const auto choice = overflow.first(full);
  EXPECT_EQ(choice.action, Action::wait);
  EXPECT_FALSE(choice.lowered_will_do);
  EXPECT_EQ(overflow.after_wait(disk).action, Action::spill);
}

TEST(OverflowTest, ABudgetIsSpentOnWaitingAndThenKept) {
  Overflow overflow(policy(WhenFull::drop, 0.02));
  Situation now = full;
  now.run_s = 100;
  now.seen_s = 1.5;
  const auto choice = overflow.first(now);
  EXPECT_EQ(choice.action, Action::wait);
  EXPECT_NEAR(choice.limit_s, 0.5, 1e-12);
  EXPECT_EQ(overflow.after_wait(now).action, Action::drop);
  now.seen_s = 2.1;
  EXPECT_EQ(overflow.first(now).action, Action::drop);
  now.run_s = 1e6;
  EXPECT_EQ(overflow.first(now).limit_s, 30) << "no wait is longer than wait_limit_s";
  EXPECT_EQ(overflow.after_wait(room).action, Action::take);
}

TEST(OverflowTest, WithABudgetAStepThatCannotBeKeptSmallIsDropped) {
  for (const auto when_full : {WhenFull::lower, WhenFull::spill}) {
    Overflow overflow(policy(when_full, 0.1));
    EXPECT_EQ(overflow.first(full).action, Action::drop);
  }
  Overflow lower(policy(WhenFull::lower, 0.1));
  EXPECT_EQ(lower.first(half).action, Action::lower);
  Overflow spill(policy(WhenFull::spill, 0.1));
  EXPECT_EQ(spill.first(disk).action, Action::spill);
}

TEST(OverflowTest, AThinnedStreamSpendsItsBudgetOnlyOnStepsWhoseTurnItIs) {
  Overflow overflow(policy(WhenFull::thin, 0.5));
  EXPECT_EQ(overflow.first(full).action, Action::thin);  // no run time yet, no budget
  Situation now = full;
  now.run_s = 10;
  EXPECT_EQ(overflow.first(now).action, Action::thin);
  EXPECT_EQ(overflow.first(now).action, Action::wait);
  EXPECT_EQ(overflow.after_wait(room).action, Action::take);
  EXPECT_EQ(overflow.stride(), 2);
}

TEST(OverflowTest, ContradictionsAreRefused) {
  const auto refused = [](OutputOptions options, const std::string& part) {
    try {
      const Overflow overflow(options);
      ADD_FAILURE() << "not refused: " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  refused(policy(WhenFull::wait, 0.02), "stall_budget = 0.02 with when_full \"wait\"");
  refused(policy(WhenFull::drop, -0.1), "stall_budget = -0.1");
  refused(policy(WhenFull::drop, 1), "stall_budget = 1");
  refused(policy(WhenFull::drop, std::nan("")), "stall_budget = nan");
  auto options = policy(WhenFull::lower);
  options.spill_folder = "/scratch";
  refused(options, "spill_folder = \"/scratch\"");
}

}  // namespace
}  // namespace tailrace::server
