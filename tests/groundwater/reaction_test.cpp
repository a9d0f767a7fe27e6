// SPDX-License-Identifier: BSD-3-Clause
#include "reaction.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace tailrace::groundwater {
namespace {

/// Two tracers; a mineral of the first; a site with two rates that binds the second.
Chemistry simple() {
  Chemistry chemistry;
  chemistry.activities = false;
  chemistry.water_density = 1;
  chemistry.primary = {{"A", 0, 0, 0, {{0, 1}}}, {"B", 0, 0, 0, {{1, 1}}}};
  chemistry.minerals = {{"Rock", -3, 1e-5, 1e-6, {{0, 1}}}};
  chemistry.sites = {{"X", 5, {1e-3, 1e-5}, {0.25, 0.75}}};
  chemistry.surface = {{"XB", 0, -3, {{1, 1}}}};
  return chemistry;
}

struct Cell {
  explicit Cell(const Chemistry& chemistry) : reaction(chemistry) {
    water.log_free = {std::log(1e-5), std::log(2e-3)};
    water.log_gamma = {0, 0};
    solids.minerals = {100};
    solids.areas = {10};
    solids.bound = {0, 0, 0, 0};
    total = {1e-5, 2e-3};
  }
  double amount(std::size_t j) const {  // in water and solids [mol/m3]
    const double rock = j == 0 ? solids.minerals[0] : 0;
    return 1000 * 0.3 * total[j] + rock + solids.bound[j] + solids.bound[2 + j];
  }
  CellReaction reaction;
  Solution water;
  CellSolids solids;
  std::vector<double> total;
};

TEST(Reaction, DissolutionFollowsItsRateLaw) {
  const Chemistry chemistry = simple();
  Cell cell(chemistry);
  // dc/dt = area rate (1 - c / K) / (1000 content), K = 1e-3: exponential.
  const double speed = 10 * 1e-6 / 1e-3 / 300;
  const double end = 1 / speed;
  const int steps = 400;
  for (int i = 0; i < steps; ++i) {
    ASSERT_TRUE(cell.reaction.step(0.3, end / steps, cell.total, cell.water, cell.solids));
  }
  const double exact = 1e-3 - (1e-3 - 1e-5) * std::exp(-1.0);
  EXPECT_NEAR(cell.total[0] / exact, 1, 2e-3);  // backward Euler
  EXPECT_NEAR(std::exp(cell.water.log_free[0]) / cell.total[0], 1, 1e-10);
}

TEST(Reaction, NothingIsLostAndNoMineralBelowNothing) {
  const Chemistry chemistry = simple();
  Cell cell(chemistry);
  cell.solids.minerals[0] = 0.01;  // less than the water can take
  const double before_a = cell.amount(0), before_b = cell.amount(1);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(cell.reaction.step(0.3, 1e5, cell.total, cell.water, cell.solids));
  }
  EXPECT_EQ(cell.solids.minerals[0], 0);
  EXPECT_NEAR(cell.amount(0) / before_a, 1, 1e-14);
  EXPECT_NEAR(cell.amount(1) / before_b, 1, 1e-14);
  EXPECT_NEAR(cell.total[0], 1e-5 + 0.01 / 300, 1e-15);
}

TEST(Reaction, ClassesOfSitesFollowTheirRates) {
  const Chemistry chemistry = simple();
  Cell cell(chemistry);
  // Water so much that it does not change: bound = share S (1 - exp(-rate t)), S = 5 x/(1 + x).
  const double x = 2e-3 / 1e-3, equilibrium = 5 * x / (1 + x);
  for (int i = 0; i < 1000; ++i) {
    cell.total = {1e-5, 2e-3};
    ASSERT_TRUE(cell.reaction.step(1e6, 1.0, cell.total, cell.water, cell.solids));
  }
  EXPECT_NEAR(cell.solids.bound[1] / (0.25 * equilibrium * -std::expm1(-1.0)), 1, 1e-3);
  EXPECT_NEAR(cell.solids.bound[3] / (0.75 * equilibrium * -std::expm1(-0.01)), 1, 1e-3);
}

TEST(Reaction, SitesInEquilibriumShareWithTheWater) {
  Chemistry chemistry = simple();
  chemistry.sites[0].rates.clear();
  chemistry.sites[0].shares.clear();
  Cell cell(chemistry);
  cell.solids.bound = {0, 0};
  ASSERT_TRUE(cell.reaction.step(0.3, 1e-6, cell.total, cell.water, cell.solids));
  const double x = cell.total[1] / 1e-3;
  EXPECT_NEAR(cell.solids.bound[1], 5 * x / (1 + x), 1e-12);
  EXPECT_NEAR(300 * cell.total[1] + cell.solids.bound[1], 300 * 2e-3, 1e-13);
}

}  // namespace
}  // namespace tailrace::groundwater
