// SPDX-License-Identifier: BSD-3-Clause
#include "radial.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"

namespace tailrace::helium {
namespace {

/// H1: with 3 points the 1s energy of the grid is (1 - sqrt(1 + Z^2 h^2)) / h^2, exactly.
TEST(Radial, ThreePointsHaveTheExactEnergyOfTheGrid) {
  struct {
    std::ptrdiff_t num_points;
    double step, charge, energy;
  } const known[] = {{600, 0.05, 1, -0.4996878900}, {200, 0.1, 2, -1.980390}};
  for (const auto& k : known) {
    const Radial radial(k.num_points, k.step, k.charge, 3);
    const double zh = k.charge * k.step;
    const double exact = (1 - std::sqrt(1 + zh * zh)) / (k.step * k.step);
    const double found = radial.states_below(0, 0, 1).energies.at(0);
    EXPECT_NEAR(found, exact, 1e-11);
    EXPECT_NEAR(found, k.energy, 1e-6);
  }
}

TEST(Radial, TheNuclearCorrectionMakesTheGroundStateExact) {
  const Radial coarse(100, 0.25, 2), fine(150, 0.1, 2);
  EXPECT_NEAR(coarse.nuclear_correction(), -1.1102, 1e-4);
  EXPECT_NEAR(fine.nuclear_correction(), -2.0411, 1e-4);
  EXPECT_NEAR(coarse.states_below(0, 0, 1).energies.at(0), -2, 1e-12);
  EXPECT_NEAR(fine.states_below(0, 0, 1).energies.at(0), -2, 1e-12);
}

/// -Z^2 / (2 n^2), to fourth order in h.
TEST(Radial, ExcitedStatesConverge) {
  double errors[2];
  for (const int fine : {0, 1}) {
    const double step = fine == 1 ? 0.1 : 0.2;
    const Radial radial(fine == 1 ? 400 : 200, step, 2);
    errors[fine] = std::abs(radial.states_below(1, 0, 1).energies.at(0) + 0.5);
    EXPECT_NEAR(radial.states_below(0, 0, 3).energies.at(1), -0.5, 5e-4);
  }
  EXPECT_NEAR(std::log2(errors[0] / errors[1]), 4, 0.5);
}

TEST(Radial, RefusesAGridWithoutTheState) {
  EXPECT_THROW(Radial(4, 0.1, 2), Error);
  EXPECT_THROW(Radial(100, 0, 2), Error);
}

}  // namespace
}  // namespace tailrace::helium
