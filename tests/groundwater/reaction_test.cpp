// SPDX-License-Identifier: BSD-3-Clause
#include "reaction.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "common/case_text.hpp"
#include "reactive.hpp"

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

/// One cell with rock and nothing bound. Rows of `states.bound`: a class each.
struct Cell {
  explicit Cell(const Chemistry& chemistry, const ReactionKernel& kernel = choose_reaction_kernel())
      : reactions(chemistry, {10.0}, kernel) {
    const Solution water{{std::log(1e-5), std::log(2e-3)}, {0, 0}};
    states = reactions.states_of(water, std::vector{100.0}, 1);
    std::fill(states.bound.begin(), states.bound.end(), 0.0);
  }
  void step(double content, double dt) {
    reactions.set_step(dt);
    ASSERT_EQ(reactions.step(std::vector{content}, totals, states), 0u);
  }
  double amount(std::size_t j) const {  // in water and solids [mol/m3]
    double sum = 1000 * 0.3 * totals[j];
    if (j == 0) return sum + states.minerals[0];
    for (const double bound : states.bound) sum += bound;
    return sum;
  }
  Reactions reactions;
  CellStates states;
  std::vector<double> totals{1e-5, 2e-3};
};

TEST(Reaction, DissolutionFollowsItsRateLaw) {
  const Chemistry chemistry = simple();
  Cell cell(chemistry);
  // dc/dt = area rate (1 - c / K) / (1000 content), K = 1e-3: exponential.
  const double speed = 10 * 1e-6 / 1e-3 / 300;
  const double end = 1 / speed;
  const int steps = 400;
  for (int i = 0; i < steps; ++i) cell.step(0.3, end / steps);
  const double exact = 1e-3 - (1e-3 - 1e-5) * std::exp(-1.0);
  EXPECT_NEAR(cell.totals[0] / exact, 1, 2e-3);  // backward Euler
  EXPECT_NEAR(std::exp(cell.states.log_free[0]) / cell.totals[0], 1, 1e-10);
}

TEST(Reaction, NothingIsLostAndNoMineralBelowNothing) {
  const Chemistry chemistry = simple();
  Cell cell(chemistry);
  cell.states.minerals[0] = 0.01;  // less than the water can take
  const double before_a = cell.amount(0), before_b = cell.amount(1);
  for (int i = 0; i < 5; ++i) cell.step(0.3, 1e5);
  EXPECT_EQ(cell.states.minerals[0], 0);
  EXPECT_NEAR(cell.amount(0) / before_a, 1, 1e-14);
  EXPECT_NEAR(cell.amount(1) / before_b, 1, 1e-14);
  EXPECT_NEAR(cell.totals[0], 1e-5 + 0.01 / 300, 1e-15);
}

TEST(Reaction, ClassesOfSitesFollowTheirRates) {
  const Chemistry chemistry = simple();
  Cell cell(chemistry);
  // Water so much that it does not change: bound = share S (1 - exp(-rate t)), S = 5 x/(1 + x).
  const double x = 2e-3 / 1e-3, equilibrium = 5 * x / (1 + x);
  for (int i = 0; i < 1000; ++i) {
    cell.totals = {1e-5, 2e-3};
    cell.step(1e6, 1.0);
  }
  EXPECT_NEAR(cell.states.bound[0] / (0.25 * equilibrium * -std::expm1(-1.0)), 1, 1e-3);
  EXPECT_NEAR(cell.states.bound[1] / (0.75 * equilibrium * -std::expm1(-0.01)), 1, 1e-3);
}

TEST(Reaction, SitesInEquilibriumShareWithTheWater) {
  Chemistry chemistry = simple();
  chemistry.sites[0].rates.clear();
  chemistry.sites[0].shares.clear();
  Cell cell(chemistry);
  cell.step(0.3, 1e-6);
  const double x = cell.totals[1] / 1e-3;
  EXPECT_NEAR(cell.states.bound[0], 5 * x / (1 + x), 1e-12);
  EXPECT_NEAR(300 * cell.totals[1] + cell.states.bound[0], 300 * 2e-3, 1e-13);
}

/// A -> B -> C in a still cell; what remains of A and B by Bateman's equations.
double decay_error(int steps) {
  Chemistry chemistry;
  chemistry.activities = false;
  chemistry.water_density = 1;
  for (const char* name : {"A", "B", "C"}) {
    chemistry.primary.push_back({name, 0, 0, 0, {{chemistry.primary.size(), 1}}});
  }
  const double a = 2e-6, b = 5e-7, end = 1e6;
  chemistry.decays = {{0, a, {{1, 1}}}, {1, b, {{2, 1}}}};
  Reactions reactions(chemistry, {});
  const Solution water{{std::log(1e-3), std::log(1e-12), std::log(1e-12)}, {0, 0, 0}};
  CellStates states = reactions.states_of(water, {}, 1);
  std::vector<double> totals{1e-3, 1e-12, 1e-12};
  reactions.set_step(end / steps);
  double decayed = 0;
  for (int i = 0; i < steps; ++i) {
    EXPECT_EQ(reactions.step(std::vector{0.3}, totals, states), 0u);
    decayed += reactions.decayed()[2];
  }
  EXPECT_NEAR(totals[0] + totals[1] + totals[2], 1e-3 + 2e-12, 1e-16);
  EXPECT_NEAR(decayed, 300 * (totals[2] - 1e-12), 1e-12);
  const double of_a = 1e-3 * std::exp(-a * end);
  const double of_b = 1e-3 * a / (b - a) * (std::exp(-a * end) - std::exp(-b * end));
  return std::abs(totals[0] - of_a) + std::abs(totals[1] - of_b);
}

TEST(Reaction, DecayChainsAreOfFirstOrder) {
  const double coarse = decay_error(50), fine = decay_error(100);
  EXPECT_LT(fine, 1e-5);
  EXPECT_NEAR(coarse / fine, 2, 0.05);
}

TEST(Reaction, WhatIsBoundDecaysToo) {
  Chemistry chemistry = simple();
  chemistry.sites[0].rates.clear();
  chemistry.sites[0].shares.clear();
  chemistry.decays = {{1, 1e-6, {}}};
  Cell cell(chemistry);
  cell.step(0.3, 1e-9);
  const double before = cell.amount(1);
  cell.step(0.3, 1e5);
  EXPECT_NEAR(cell.amount(1) / before, 1 / 1.1, 1e-13);
}

/// Chemistry and ground water of the uranium case; totals that differ from cell to cell.
class Uranium : public ::testing::Test {
 protected:
  static constexpr std::size_t num_cells = 21;  // no multiple of a kernel's width
  static constexpr double dt = 1e5;

  struct Outcome {
    std::vector<double> totals;
    CellStates states;
  };

  /// A step of `count` cells, the first of them cell `first` of all.
  Outcome react(const ReactionKernel& kernel, std::size_t first, std::size_t count) const {
    Reactions reactions(chemistry_, std::vector<double>(chemistry_.minerals.size(), 100.0), kernel);
    const Solution& at = water_;
    std::vector<double> minerals(chemistry_.minerals.size());
    minerals[0] = 2e3;
    Outcome out;
    out.states = reactions.states_of(at, minerals, count);
    Speciation speciation(chemistry_);
    std::vector<double> of_one(chemistry_.num_primary());
    speciation.totals(at, of_one, {});
    for (std::size_t j = 0; j < of_one.size(); ++j) {
      for (std::size_t i = first; i < first + count; ++i) {
        const double phase = static_cast<double>(i + 3 * j);
        out.totals.push_back(of_one[j] * (1 + 0.3 * std::sin(phase)));
      }
    }
    reactions.set_step(dt);
    EXPECT_EQ(reactions.step(std::vector<double>(count, 0.25), out.totals, out.states), 0u);
    return out;
  }

  const Case case_ = app::check_case<Case>(CASES_DIR "/uranium.toml", {}, 1);
  const Chemistry chemistry_ = chemistry_of(case_);
  const Solution water_ = make_waters(case_, chemistry_)[0];
};

TEST_F(Uranium, WhatComesOutFulfilsTheFormulasOfOneCellAtATime) {
  const auto out = react(choose_reaction_kernel(), 0, num_cells);
  Speciation speciation(chemistry_);
  const std::size_t n = chemistry_.num_primary();
  std::vector<double> total(n), bound(n);
  for (std::size_t i = 0; i < num_cells; ++i) {
    Solution at;
    for (std::size_t j = 0; j < n; ++j)
      at.log_free.push_back(out.states.log_free[j * num_cells + i]);
    at.log_gamma.resize(chemistry_.num_species());
    for (int round = 0; round < 3; ++round) {
      for (std::size_t s = 0; s < chemistry_.num_species(); ++s) {
        const auto& species = s < n ? chemistry_.primary[s] : chemistry_.complexes[s - n];
        at.log_gamma[s] = log_gamma(chemistry_, species, out.states.strength[i]);
      }
    }
    EXPECT_NEAR(speciation.ionic_strength(at) / out.states.strength[i], 1, 1e-8);
    speciation.totals(at, total, {});
    for (std::size_t j = 0; j < n; ++j) {
      const double size = std::abs(total[j]) + std::exp(at.log_free[j]);
      EXPECT_NEAR(total[j], out.totals[j * num_cells + i], 1e-8 * size) << i << " " << j;
    }
    // A class has gone the part w of the way from what the first water bound.
    speciation.bound(0, at, bound, {});
    const auto& site = chemistry_.sites[0];
    const auto species = chemistry_.primary_of_site(0);
    std::vector<double> before(n);
    speciation.bound(0, water_, before, {});
    for (std::size_t r = 0; r < site.rates.size(); ++r) {
      const double w = dt * site.rates[r] / (1 + dt * site.rates[r]);
      for (std::size_t p = 0; p < species.size(); ++p) {
        const auto j = species[p];
        const double expected = site.shares[r] * (before[j] + w * (bound[j] - before[j]));
        const double got = out.states.bound[(r * species.size() + p) * num_cells + i];
        EXPECT_NEAR(got, expected, 1e-8 * std::abs(expected));
      }
    }
  }
}

TEST_F(Uranium, EachKernelGivesTheSame) {
  const auto kernels = reaction_kernels();
  ASSERT_GE(kernels.size(), 2u);
  EXPECT_EQ(kernels.back()->width, 1u);
  const auto one_by_one = react(*kernels.back(), 0, num_cells);
  for (const auto* kernel : kernels) {
    const auto out = react(*kernel, 0, num_cells);
    for (std::size_t k = 0; k < out.totals.size(); ++k) {
      EXPECT_NEAR(out.totals[k], one_by_one.totals[k], 1e-11 * std::abs(one_by_one.totals[k]))
          << kernel->name;
    }
    for (std::size_t k = 0; k < out.states.log_free.size(); ++k) {
      EXPECT_NEAR(out.states.log_free[k], one_by_one.states.log_free[k], 1e-9) << kernel->name;
    }
  }
}

/// Item (i, j) of a symmetric matrix of cell c, whose lower triangle is [slope][cell].
double item_of(const std::vector<double>& slopes, std::size_t i, std::size_t j, std::size_t width,
               std::size_t c) {
  return slopes[(std::max(i, j) * (std::max(i, j) + 1) / 2 + std::min(i, j)) * width + c];
}

TEST_F(Uranium, GainsAreRelatedToTotalsByTheirSlopes) {
  const std::size_t n = chemistry_.num_primary();
  for (const auto* kernel : reaction_kernels()) {
    const std::size_t width = kernel->width;
    auto states = react(*kernel, 0, width).states;
    Reactions reactions(chemistry_, std::vector<double>(chemistry_.minerals.size(), 100.0),
                        *kernel);
    reactions.set_step(dt);
    const auto& gaining = reactions.tables().gaining;
    const auto cells = reactions.balance(0, states);
    const auto count = reactions.tables().num_slopes() * width;
    const std::vector<double> totals(cells.total_slopes, cells.total_slopes + count);
    const std::vector<double> gains(cells.gain_slopes, cells.gain_slopes + count);
    std::vector<double> factors(count), changes(n * width), before;
    ASSERT_TRUE(reactions.relate(width, factors));
    std::vector<char> has_row(n, 0);
    for (const auto i : gaining) has_row[i] = 1;
    const std::vector<double> rows(cells.relations, cells.relations + gaining.size() * n * width);
    for (std::size_t k = 0; k < changes.size(); ++k) {
      changes[k] = totals[k] * (1 + 0.1 * static_cast<double>(k));
    }
    before = changes;
    reactions.divide(factors, changes);
    for (std::size_t c = 0; c < width; ++c) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0, size = 0;
        for (std::size_t k = 0; k < n; ++k) {
          const double term = item_of(totals, j, k, width, c) * changes[k * width + c];
          sum += term;
          size += std::abs(term);
        }
        EXPECT_NEAR(sum, before[j * width + c], 1e-10 * size) << kernel->name;
        for (std::size_t r = 0; r < gaining.size(); ++r) {
          double product = 0, largest = 0;
          for (std::size_t k = 0; k < n; ++k) {
            const double term = rows[(r * n + k) * width + c] * item_of(totals, k, j, width, c);
            product += term;
            largest += std::abs(term);
          }
          const double wanted = item_of(gains, gaining[r], j, width, c);
          EXPECT_NEAR(product, wanted, 1e-10 * largest) << kernel->name;
        }
        for (std::size_t i = 0; i < n; ++i) {
          if (has_row[i] != 0) continue;
          EXPECT_EQ(item_of(gains, i, j, width, c), 0);
        }
      }
    }
  }
}

TEST_F(Uranium, ACellDoesNotDependOnItsNeighbours) {
  const auto all = react(choose_reaction_kernel(), 0, num_cells);
  const auto some = react(choose_reaction_kernel(), 5, 3);
  for (std::size_t j = 0; j < chemistry_.num_primary(); ++j) {
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(some.totals[j * 3 + i], all.totals[j * num_cells + 5 + i]);
      EXPECT_EQ(some.states.log_free[j * 3 + i], all.states.log_free[j * num_cells + 5 + i]);
    }
  }
}

}  // namespace
}  // namespace tailrace::groundwater
