// SPDX-License-Identifier: BSD-3-Clause
// Runs of made-up step times, whose cost of output is known.
#include "common/output_cost.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "common/summary_json.hpp"

namespace tailrace::app {
namespace {

/// A run on a clock of its own. A step takes 100 ms, with noise, sudden delays and a slow drift.
class MadeUpRun {
 public:
  explicit MadeUpRun(unsigned seed) : random_(seed) {}

  /// A step of `seconds`, and what the machine adds.
  void step(double seconds = 0.1, int kind = 0, bool catches = false) {
    cost_.begin_step({output_}, {checkpoints_});
    const double drift_s = 0.01 * std::sin(1e-2 * num_steps_++);
    now_ += drift_s + seconds * (1 + 0.01 * normal_(random_));
    if (uniform_(random_) < 0.05) now_ += 0.05;
    cost_.end_step(kind, catches);
  }
  /// A call of `call_s` after other work of `work_s`; the file is under way then.
  void write(double call_s, double work_s = 0) {
    cost_.output([&] {
      now_ += work_s + call_s;
      output_.call_s += call_s;
      ++output_.steps;
    });
  }
  void complete() { output_.complete = output_.steps; }
  void statistics(double seconds) {
    cost_.other([&] { now_ += seconds; });
  }
  void write_checkpoint(double seconds) {
    cost_.other([&] { now_ += seconds; });
    ++checkpoints_.steps;
  }
  void complete_checkpoint() { checkpoints_.complete = checkpoints_.steps; }
  CostOfOutput cost() const { return cost_.cost({output_}, now_); }

 private:
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  double now_ = 0;
  int num_steps_ = 0;
  OutputCost cost_{[this] { return now_; }};
  OutputStatistics output_, checkpoints_;
};

/// Four steps, of which the first three are slower: the one whose fields are caught, and two while
/// they are written. Returns its cost.
double write_once(MadeUpRun& run) {
  run.step(0.103, 0, true);
  run.write(0.002, 0.001);
  run.step(0.105);
  run.step(0.102);
  run.complete();
  run.step();
  return 0.013;
}

constexpr int num_seeds = 40;
constexpr int most_outside = 6;  // two standard errors leave out two of 40, on average

TEST(OutputCost, NoOutputCostsNothing) {
  MadeUpRun run(1);
  for (int i = 0; i < 100; ++i) run.step();
  const auto found = run.cost();
  EXPECT_EQ(found.cost_s(), 0);
  EXPECT_EQ(found.spread_s, 0);
  EXPECT_EQ(found.steps, 100);
  EXPECT_EQ(found.steps_with_output, 0);
  EXPECT_EQ(OutputCost().cost({}, 0).fraction(), 0);
}

TEST(OutputCost, AKnownCostIsFoundWithinItsSpread) {
  int outside = 0;
  for (unsigned seed = 0; seed < num_seeds; ++seed) {
    MadeUpRun run(seed);
    double expected = 0;
    for (int i = 0; i < 40; ++i) expected += write_once(run);
    const auto found = run.cost();
    EXPECT_NEAR(found.call_s, 0.08, 1e-9);
    EXPECT_NEAR(found.capture_s, 0.04, 1e-9);
    EXPECT_EQ(found.cost_s(), found.call_s + found.capture_s + found.slower_s);
    EXPECT_EQ(found.steps, 160);
    EXPECT_EQ(found.steps_with_output, 120);
    EXPECT_GT(found.spread_s, 0);
    EXPECT_LT(found.spread_s, 0.3 * expected);
    if (std::abs(found.cost_s() - expected) > found.spread_s) ++outside;
  }
  EXPECT_LE(outside, most_outside);
}

TEST(OutputCost, ASingleWriteIsFoundWithinItsSpread) {
  int outside = 0;
  for (unsigned seed = 0; seed < num_seeds; ++seed) {
    MadeUpRun run(seed);
    for (int i = 0; i < 20; ++i) run.step();
    run.write(0.01);
    run.complete();
    run.step(0.12);
    for (int i = 0; i < 20; ++i) run.step();
    const auto found = run.cost();
    EXPECT_EQ(found.steps_with_output, 1);
    if (std::abs(found.cost_s() - 0.03) > found.spread_s) ++outside;
  }
  EXPECT_LE(outside, most_outside);
}

TEST(OutputCost, StatisticsAndCheckpointsAreNotTakenForIt) {
  int outside = 0;
  for (unsigned seed = 0; seed < num_seeds; ++seed) {
    MadeUpRun run(seed);
    double expected = 0;
    for (int i = 0; i < 40; ++i) {
      expected += write_once(run);
      run.statistics(0.2);
      run.step(0.13);
      if (i % 4 != 0) continue;
      run.write_checkpoint(0.3);
      run.step(0.15);
      run.step(0.15);
      run.complete_checkpoint();
    }
    const auto found = run.cost();
    if (std::abs(found.cost_s() - expected) > found.spread_s) ++outside;
  }
  EXPECT_LE(outside, most_outside);

  MadeUpRun without(7);
  for (int i = 0; i < 40; ++i) {
    without.step();
    without.write_checkpoint(0.3);
    without.step(0.15);
    without.complete_checkpoint();
  }
  EXPECT_EQ(without.cost().cost_s(), 0);
}

TEST(OutputCost, StepsOfOneKindAreCompared) {
  int outside = 0;
  for (unsigned seed = 0; seed < num_seeds; ++seed) {
    MadeUpRun run(seed);
    for (int i = 0; i < 200; ++i) {
      const int kind = 2 + (i / 5) % 3;
      const bool after = i > 0 && i % 5 == 0;  // the first step of a kind, which takes longer
      run.step(0.05 * kind + (after ? 0.01 : 0), kind);
      run.complete();
      if (i % 5 == 4) run.write(0.001);
    }
    const auto found = run.cost();
    EXPECT_EQ(found.steps_with_output, 39);
    const double expected = 39 * 0.01 + 40 * 0.001;
    if (std::abs(found.cost_s() - expected) > found.spread_s) ++outside;
  }
  EXPECT_LE(outside, most_outside);
}

TEST(OutputCost, WithoutStepsToCompareWithItIsNotKnown) {
  MadeUpRun run(1);
  for (int i = 0; i < 100; ++i) {
    run.write(0.01);
    run.step();
  }
  const auto found = run.cost();
  EXPECT_NEAR(found.call_s, 1, 1e-9);
  EXPECT_TRUE(std::isnan(found.slower_s));
  EXPECT_TRUE(std::isnan(found.cost_s()));
  EXPECT_TRUE(std::isnan(found.spread_s));
  const auto json = json_line(json_of_cost(found, 0.5));
  EXPECT_NE(json.find("\"cost_s\":null"), std::string::npos) << json;
  EXPECT_NE(json.find("\"writer_cpu_s\":0.5"), std::string::npos) << json;
}

TEST(OutputCost, StepsAfterTheFirstOnesOfALongRunCount) {
  MadeUpRun run(3);
  const int kept = 1 << 18;
  for (int i = 0; i < kept / 4; ++i) write_once(run);
  const auto before = run.cost();
  for (int i = 0; i < kept / 4; ++i) write_once(run);
  const auto found = run.cost();
  EXPECT_EQ(found.steps, 2 * kept);
  EXPECT_NEAR(found.slower_s, 2 * before.slower_s, 1e-9 * found.slower_s);
}

}  // namespace
}  // namespace tailrace::app
