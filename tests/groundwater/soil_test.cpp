// SPDX-License-Identifier: BSD-3-Clause
#include "soil.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"

namespace tailrace::groundwater {
namespace {

Soil loam() {
  Soil soil;
  soil.curve = Soil::Curve::van_genuchten;
  soil.porosity = 0.368;
  soil.residual = 0.102 / 0.368;
  soil.alpha = 3.35;
  soil.n = 2;
  soil.storage = 1e-4;
  return soil;
}

void expect_slopes(const Soil& soil, double h) {
  const double step = 1e-6 * std::max(1.0, std::abs(h));
  const Water low = water_at(soil, h - step), high = water_at(soil, h + step);
  const Water at = water_at(soil, h);
  const auto slope = [&](double a, double b) { return (b - a) / (2 * step); };
  EXPECT_NEAR(at.dcontent, slope(low.content, high.content), 1e-7 * std::abs(at.dcontent) + 1e-9);
  EXPECT_NEAR(at.dmobility, slope(low.mobility, high.mobility),
              1e-6 * std::abs(at.dmobility) + 1e-9);
  EXPECT_NEAR(at.dsaturation, slope(low.saturation, high.saturation),
              1e-7 * std::abs(at.dsaturation) + 1e-9);
}

TEST(Soil, SlopesAreThoseOfTheValues) {
  for (const auto curve :
       {Soil::Curve::saturated, Soil::Curve::van_genuchten, Soil::Curve::gardner}) {
    for (const double n : {1.3, 2.0, 5.0}) {
      Soil soil = loam();
      soil.curve = curve;
      soil.n = n;
      for (const double h : {-5e-4, -30.0, -10.0, -1.0, -0.1, -0.01, 0.5}) expect_slopes(soil, h);
    }
  }
}

TEST(Soil, VanGenuchtenByHand) {
  const Water at = water_at(loam(), -1);
  const double x = 3.35 * 3.35, full = 1 / std::sqrt(1 + x);
  EXPECT_NEAR(at.saturation, 0.102 / 0.368 + (1 - 0.102 / 0.368) * full, 1e-15);
  EXPECT_NEAR(at.content, 0.102 + (0.368 - 0.102) * full, 1e-15);
  const double open = 1 - std::sqrt(1 - full * full);
  EXPECT_NEAR(at.mobility, std::sqrt(full) * open * open, 1e-15);
}

TEST(Soil, DryGroundKeepsItsDigits) {
  // For dry ground kr -> m^2 x^(-2 - m/2).
  const Water at = water_at(loam(), -1e6);
  const double x = std::pow(3.35e6, 2);
  EXPECT_NEAR(at.mobility / (0.25 * std::pow(x, -2.25)), 1, 1e-9);
}

TEST(Soil, NoCurveIsSteepOrFlatJustBelowSaturation) {
  for (const auto curve : {Soil::Curve::van_genuchten, Soil::Curve::gardner}) {
    for (const double n : {1.09, 1.3, 2.0, 5.0}) {
      Soil soil = loam();
      soil.curve = curve;
      soil.n = n;
      const Water full = water_at(soil, 0), near = water_at(soil, -1e-12);
      EXPECT_DOUBLE_EQ(full.content, soil.porosity);
      EXPECT_EQ(full.mobility, 1);
      EXPECT_NEAR(near.mobility, 1, 1e-8);
      EXPECT_GT(full.dcontent, 0);  // else ground that drains from h = 0 has a singular matrix
      EXPECT_GT(full.dmobility, 0);
      EXPECT_LT(full.dmobility, 1000);
      EXPECT_EQ(water_at(soil, 1e-9).dmobility, 0);
    }
  }
}

TEST(Soil, SmoothingLeavesTheCurveBeyondItAsItIs) {
  Soil soil = loam(), exact = loam();
  soil.n = exact.n = 1.09;
  exact.smoothing = 0;
  for (const double h : {-1e-3, -0.01, -1.0, -100.0, -1e6}) {
    EXPECT_DOUBLE_EQ(water_at(soil, h).content, water_at(exact, h).content);
    EXPECT_DOUBLE_EQ(water_at(soil, h).mobility, water_at(exact, h).mobility);
  }
  EXPECT_NE(water_at(soil, -1e-4).mobility, water_at(exact, -1e-4).mobility);
  const Water desert = water_at(soil, -1e200);
  EXPECT_TRUE(std::isfinite(desert.dcontent) && std::isfinite(desert.dmobility));
}

TEST(Soil, TableIsLinear) {
  Soil soil = loam();
  soil.curve = Soil::Curve::table;
  soil.heads = {-10, -1, 0};
  soil.saturations = {0.2, 0.5, 1};
  soil.conductivities = {0.001, 0.1, 1};
  require_soil(soil, "table");
  EXPECT_DOUBLE_EQ(water_at(soil, -0.5).saturation, 0.75);
  EXPECT_DOUBLE_EQ(water_at(soil, -0.5).dmobility, 0.9);
  EXPECT_DOUBLE_EQ(water_at(soil, -20).saturation, 0.2);
  soil.heads = {-1, -10, 0};
  EXPECT_THROW(require_soil(soil, "table"), Error);
}

TEST(Soil, NegativePorosityIsRefused) {
  Soil soil = loam();
  soil.porosity = -0.1;
  try {
    require_soil(soil, "case.toml: material `sand`");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "case.toml: material `sand`: porosity is -0.1: it must be above 0 and at most 1");
  }
}

}  // namespace
}  // namespace tailrace::groundwater
