// SPDX-License-Identifier: BSD-3-Clause
// The viscosity that a run has, measured over many steps that each change the flow little, as
// they do in resolved turbulence: its error must not be that of one rounding a step.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "flow_fixture.hpp"

namespace tailrace::turbulence {
namespace {

struct Setting {
  double viscosity, dt;
};
constexpr Setting settings[] = {{1e-3, 2e-3}, {1.0 / 1600, 5e-4}, {1e-4, 5e-3}};
constexpr int num_steps = 800;

/// Sum of the squares of field `f` over all modes, on all ranks.
template <class Real>
double square_sum(Flow<Real>& flow, int f) {
  double sum = 0;
  for (const auto& [k, value] : modes_of(flow.solver, f)) {
    sum += mirror_weight(k[0]) * std::norm(value);
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, flow.comm.raw());
  return sum;
}

/// Diffusivity by which the squares of a field of wave number 1 fall from `before` to `after`.
double diffusivity(double before, double after, double dt) {
  return std::log(before / after) / (2 * num_steps * dt);
}

struct Measured {
  double viscosity = 0;    ///< of the velocity
  double diffusivity = 0;  ///< of the scalar
};

/// A shear flow (sin z, cos z, 0), which has no nonlinear term, and a scalar that it does not stir.
template <class Real>
Measured measure(const Setting& setting, const std::string& scheme) {
  Flow<Real> flow(MPI_COMM_WORLD, {"grid.n=8", "flow.initial=abc", "flow.a=1", "flow.b=0",
                                   "flow.c=0", fmt::format("flow.viscosity={}", setting.viscosity),
                                   "scalars.schmidt=[0.5]", "time.scheme=" + scheme});
  for_each_mode(flow.solver.modes(), [&](std::ptrdiff_t index, int kx, int ky, int kz) {
    const bool wave = kx == 0 && ky == 0 && std::abs(kz) == 1;
    flow.solver.scalar(0)[static_cast<std::size_t>(index)] = wave ? Real(0.3) : Real(0);
  });
  double velocity = square_sum(flow, 0) + square_sum(flow, 1), scalar = square_sum(flow, 3);
  for (int i = 0; i < num_steps; ++i) flow.solver.step(setting.dt);
  return {diffusivity(velocity, square_sum(flow, 0) + square_sum(flow, 1), setting.dt),
          diffusivity(scalar, square_sum(flow, 3), setting.dt)};
}

template <class Real>
void expect_viscosity(double tolerance) {
  for (const auto& setting : settings) {
    for (const auto* scheme : {"rk4", "rk2"}) {
      const auto found = measure<Real>(setting, scheme);
      EXPECT_NEAR(found.viscosity / setting.viscosity, 1, tolerance)
          << scheme << " viscosity " << setting.viscosity << " dt " << setting.dt;
      EXPECT_NEAR(found.diffusivity / (2 * setting.viscosity), 1, tolerance)
          << scheme << " diffusivity " << 2 * setting.viscosity << " dt " << setting.dt;
    }
  }
}

TEST(Viscosity, IsWhatWasAskedForInDouble) { expect_viscosity<double>(1e-9); }

// Rounding leaves some 1e-7 of u in all, whatever the number of steps; the flow has lost 2e-4 of u
// or more by then. A factor of E in float was off by 1.4, 14 and 4.6 %.
TEST(Viscosity, IsWhatWasAskedForInSingle) { expect_viscosity<float>(1e-3); }

// Nothing is left of modes that a step damps out; they do not grow.
TEST(Viscosity, StrongDampingDampsOut) {
  for (const auto* scheme : {"rk4", "rk2"}) {
    Flow<float> flow(MPI_COMM_WORLD, {"grid.n=8", "flow.initial=random", "flow.k_peak=1",
                                      "flow.viscosity=1e6", std::string("time.scheme=") + scheme});
    const double before = square_sum(flow, 0);
    ASSERT_GT(before, 0.01);
    for (int i = 0; i < 3; ++i) flow.solver.step(0.1);
    EXPECT_LT(square_sum(flow, 0), 1e-12 * before);
  }
}

}  // namespace
}  // namespace tailrace::turbulence
