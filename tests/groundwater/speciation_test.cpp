// SPDX-License-Identifier: BSD-3-Clause
#include "speciation.hpp"

#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"

namespace tailrace::groundwater {
namespace {

using Kind = Condition::Kind;

Chemistry shipped(const std::string& name) {
  const std::string path = std::string(CHEMISTRY_DIR) + "/" + name;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return parse_chemistry(text.str(), path);
}

/// pH 5, 1e-3 mol/L of bicarbonate, calcium by the charge: the inlet of the calcite problem.
std::vector<Condition> inlet() {
  return {{Kind::activity, -5}, {Kind::total, 1e-3}, {Kind::charge}};
}

TEST(Speciation, InletOfTheCalciteProblem) {  // G9
  const Chemistry calcite = shipped("calcite.toml");
  Speciation speciation(calcite);
  const Solution water = solve_water(speciation, inlet(), "inlet");
  std::vector<double> total(3);
  speciation.totals(water, total, {});
  const auto free = [&](std::size_t j) { return 0.9971604 * std::exp(water.log_free[j]); };
  EXPECT_NEAR(free(0) / 1.0061293245e-5, 1, 1e-8);
  EXPECT_NEAR(free(1) / 4.3637218472e-5, 1, 1e-8);
  EXPECT_NEAR(free(2) / 1.6784737104e-5, 1, 1e-8);
  EXPECT_NEAR(total[0] / 9.6641473312e-4, 1, 1e-8);
  EXPECT_NEAR(total[2] / 1.6792633407e-5, 1, 1e-8);
  EXPECT_NEAR(total[1] / 1e-3, 1, 1e-12);
}

/// The totals that calcite leaves alone: of H+ and Ca++, and of HCO3- and Ca++.
TEST(Speciation, InletInEquilibriumWithCalcite) {  // G10
  const Chemistry calcite = shipped("calcite.toml");
  Speciation speciation(calcite);
  std::vector<double> before(3), after(3);
  speciation.totals(solve_water(speciation, inlet(), "inlet"), before, {});
  // Calcite is dissolved by bisection until the water is saturated.
  double low = 0, high = 2e-3, ph = 0;
  for (int i = 0; i < 60; ++i) {
    const double x = (low + high) / 2;
    const std::vector<Condition> mixed{
        {Kind::total, before[0] - x}, {Kind::total, before[1] + x}, {Kind::total, before[2] + x}};
    const Solution water = solve_water(speciation, mixed, "mixed");
    speciation.totals(water, after, {});
    ph = -(water.log_free[0] + water.log_gamma[0]) / std::log(10);
    (speciation.log_saturation(calcite.minerals[0], water) < 0 ? low : high) = x;
  }
  EXPECT_NEAR(after[2] / 9.2917959111e-4, 1, 1e-6);
  EXPECT_NEAR(after[1] / 1.9123870436e-3, 1, 1e-6);
  EXPECT_NEAR(ph, 7.7510019, 1e-6);
}

TEST(Speciation, ConditionOfAMineral) {
  const Chemistry calcite = shipped("calcite.toml");
  Speciation speciation(calcite);
  const std::vector<Condition> known{
      {Kind::activity, -8}, {Kind::total, 1e-3}, {Kind::mineral, 0, 0}};
  const Solution water = solve_water(speciation, known, "initial");
  EXPECT_NEAR(speciation.log_saturation(calcite.minerals[0], water), 0, 1e-11);
}

TEST(Speciation, DerivativesOfTotalsAndBoundAmounts) {
  Chemistry chemistry = shipped("calcite.toml");
  chemistry.sites = {{"X", 2.0, {}, {}}};
  chemistry.surface = {{"XCa", 0, -3, {{2, 1}, {0, -1}}}, {"XH", 0, -5, {{0, 1}}}};
  Speciation speciation(chemistry);
  Solution water = solve_water(speciation, inlet(), "inlet");
  std::vector<double> low(3), high(3), slopes(9);
  const auto check = [&](const auto& values) {
    values(low, slopes);
    const auto at = slopes;
    for (std::size_t k = 0; k < 3; ++k) {
      const double step = 1e-5;
      water.log_free[k] -= step;
      values(low, slopes);
      water.log_free[k] += 2 * step;
      values(high, slopes);
      water.log_free[k] -= step;
      for (std::size_t j = 0; j < 3; ++j) {
        EXPECT_NEAR(at[j * 3 + k], (high[j] - low[j]) / (2 * step),
                    1e-7 * std::abs(at[j * 3 + k]) + 1e-12);
      }
    }
  };
  check([&](std::vector<double>& v, std::vector<double>& j) { speciation.totals(water, v, j); });
  check([&](std::vector<double>& v, std::vector<double>& j) { speciation.bound(0, water, v, j); });
}

constexpr double kg_per_litre = 0.9971604;

/// Ground water of the 300 Area, by the order of uranium.toml; `cu` and `u` are totals [mol/kg].
std::vector<Condition> hanford(double cu, double u) {
  const auto total = [](double value) { return Condition{Kind::total, kg_per_litre * value}; };
  return {{Kind::mineral, 0, 0},
          total(1.20644e-3),
          total(cu),
          total(5.09772e-4),
          total(u),
          total(1.54789e-4),
          {Kind::charge},
          total(2.57305e-3),
          total(6.97741e-4),
          total(2.09491e-5),
          {Kind::mineral, 0, 2},
          total(4.69979e-4),
          total(6.37961e-4),
          total(1e-7),
          total(1e-7)};
}

struct HanfordWater {
  HanfordWater(const Chemistry& chemistry, double cu, double u)
      : speciation(chemistry), total(15), bound(15) {
    const Solution water = solve_water(speciation, hanford(cu, u), "hanford");
    ph = -(water.log_free[0] + water.log_gamma[0]) / std::log(10);
    speciation.totals(water, total, {});
    speciation.bound(0, water, bound, {});
    for (std::size_t j = 0; j < 15; ++j) {
      charge += chemistry.primary[j].charge * total[j];
    }
  }
  Speciation speciation;
  std::vector<double> total, bound;
  double ph = 0, charge = 0;
};

// Beside PFLOTRAN's 543_hanford_srfcplx_base after 86 s [mol/kg]: extremes over its cells, some of
// which have nearly kept their first water. Sites: 15.264 mol/m3.
TEST(Speciation, UraniumOfHanford) {
  const Chemistry uranium = shipped("uranium.toml");
  ASSERT_EQ(uranium.num_primary(), 15U);
  ASSERT_EQ(uranium.complexes.size(), 88U);
  const HanfordWater ground(uranium, 1e-8, 2.483e-11), source(uranium, 1e-6, 2.34845e-7);
  EXPECT_NEAR(ground.ph, 7.5969854321757, 1e-7);
  EXPECT_NEAR(ground.total[0] / kg_per_litre / 1.0855277799745e-4, 1, 1e-7);
  EXPECT_NEAR(ground.total[6] / kg_per_litre / 1.3418586224455e-3, 1, 1e-9);
  EXPECT_NEAR(source.total[6] / kg_per_litre / 1.3411963794307e-3, 1, 1e-4);
  EXPECT_NEAR(ground.total[10] / kg_per_litre / 1.6744383087894e-9, 1, 1e-3);
  EXPECT_NEAR(source.bound[4] / (1.1435933585828e-4 + 2.9298623430652e-4), 1, 1e-4);
  EXPECT_NEAR(source.bound[7] / 2.9298623430652e-4, 1, 1e-4);
  EXPECT_NEAR(ground.charge, 0, 1e-15);
  EXPECT_NEAR(source.charge, 0, 1e-15);
}

TEST(Chemistry, MessagesNameSpeciesAndNeighbours) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      parse_chemistry(text, "c.toml");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string start = "[[chemistry.primary]]\nname = \"Ca++\"\ncharge = 2\n";
  EXPECT_EQ(message(start + "[[chemistry.complex]]\nname = \"CaOH+\"\nformula = \"Ca+ \"\n"),
            "c.toml: complex `CaOH+`: `Ca+` is not a species; did you mean `Ca++`?");
  EXPECT_EQ(message(start + "[[chemistry.primary]]\nname = \"Ca++\"\n"),
            "c.toml: two species are named `Ca++`");
  EXPECT_NE(message("[chemistry]\nsource = \"x\"\n").find("no primary species"), std::string::npos);
  EXPECT_NE(message(start + "charg = 2\n").find("did you mean `chemistry.primary.charge`"),
            std::string::npos);
}

TEST(Speciation, WaterThatCannotBeIsRefused) {
  const Chemistry calcite = shipped("calcite.toml");
  Speciation speciation(calcite);
  // A strong acid without anything that balances its charge.
  const std::vector<Condition> known{{Kind::total, 1e-3}, {Kind::charge}, {Kind::total, -1e-3}};
  EXPECT_THROW(solve_water(speciation, known, "well"), Error);
}

}  // namespace
}  // namespace tailrace::groundwater
