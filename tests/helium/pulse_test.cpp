// SPDX-License-Identifier: BSD-3-Clause
#include "pulse.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace tailrace::helium {
namespace {

TEST(Pulse, TheFieldIsTheSlopeOfThePotential) {
  Colour chirped{
      .frequency = 1.2, .field = 0.05, .cycles = 6, .start = 3, .phase = 0.4, .chirp = 0.02};
  Colour bell{.frequency = 0.8, .field = 0.03, .cycles = 12, .gaussian = true};
  const Pulse pulse({chirped, bell});
  for (double time = 1; time < pulse.end(); time += 2.7) {
    const double h = 1e-4;
    const double slope =
        (pulse.vector_potential(time + h) - pulse.vector_potential(time - h)) / (2 * h);
    EXPECT_NEAR(pulse.electric_field(time), -slope, 1e-9);
  }
}

TEST(Pulse, VanishesAtBothEnds) {
  for (const bool gaussian : {false, true}) {
    const Pulse pulse({{.frequency = 1.5, .field = 1, .cycles = 10, .gaussian = gaussian}});
    EXPECT_NEAR(pulse.vector_potential(0), 0, 1e-12);
    EXPECT_NEAR(pulse.vector_potential(pulse.end()), 0, 1e-12);
    EXPECT_EQ(pulse.vector_potential(pulse.end() + 1), 0);
    EXPECT_NEAR(std::abs(pulse.electric_field(pulse.end() / 2)), 1, 1e-6);
  }
}

/// H7: values of the published fit.
TEST(Pulse, TheFitHasItsValues) {
  EXPECT_NEAR(fitted_cross_section(40.82), 3.072, 1e-3);
  EXPECT_NEAR(fitted_cross_section(149.7), 0.1330, 1e-4);
}

}  // namespace
}  // namespace tailrace::helium
