// SPDX-License-Identifier: BSD-3-Clause
// How many steps a run that may lengthen its steps has to come.
#include "common/progress.hpp"

#include <gtest/gtest.h>

namespace tailrace::app {
namespace {

Advance with(double dt, double growth, double longest_dt) {
  return {.dt = dt, .growth = growth, .longest_dt = longest_dt};
}

TEST(StepsToCome, StepsOfOneLength) {
  EXPECT_EQ(steps_to_come(with(0.1, 1, 0), 1), 10);
  EXPECT_EQ(steps_to_come(with(0.3, 1, 0), 1), 4);
  EXPECT_EQ(steps_to_come(with(0.1, 1, 0), 0), 0);
  EXPECT_EQ(steps_to_come(with(0, 1, 0), 1), 0);  // no step was taken
}

TEST(StepsToCome, StepsThatGrowToTheLongest) {
  EXPECT_EQ(steps_to_come(with(1, 2, 8), 7), 3);              // 1 2 4
  EXPECT_EQ(steps_to_come(with(1, 2, 8), 7.5), 4);            // 1 2 4 and a last one of 0.5
  EXPECT_EQ(steps_to_come(with(1, 2, 8), 7 + 80), 13);        // 1 2 4, ten of 8
  EXPECT_EQ(steps_to_come(with(8, 2, 8), 80), 10);            // they have grown
  EXPECT_LT(steps_to_come(with(1e3, 1.3, 6e5), 6.3e7), 150);  // 63,000 without growth
}

}  // namespace
}  // namespace tailrace::app
