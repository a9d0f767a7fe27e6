// SPDX-License-Identifier: BSD-3-Clause
#include "forcing.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "flow_fixture.hpp"
#include "statistics.hpp"

namespace tailrace::turbulence {
namespace {

std::vector<std::string> forced(const std::string& type,
                                const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings{"flow.initial=random",    "flow.k_peak=2",
                                    "forcing.type=" + type,   "forcing.variance=0.05",
                                    "forcing.time_scale=0.3", "forcing.seed=9"};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

void advance(Flow<double>& flow, Forcing<double>& forcing, int steps, double dt) {
  for (int s = 0; s < steps; ++s) {
    forcing.before_step(flow.solver, dt);
    flow.solver.step(dt);
    forcing.after_step(flow.solver, dt);
  }
}

TEST(Forcing, ConstantEnergyHoldsTheLowShells) {
  Flow<double> flow(MPI_COMM_WORLD, forced("constant_energy"));
  Forcing<double> forcing(flow.comm, flow.values, flow.solver);
  StatisticsKernel<double> kernel(flow.comm, flow.solver);
  const auto before = kernel.measure(flow.solver).spectrum;
  advance(flow, forcing, 5, 0.02);
  const auto after = kernel.measure(flow.solver).spectrum;
  EXPECT_NEAR(after[1], before[1], 1e-14);
  EXPECT_NEAR(after[2], before[2], 1e-14);
  EXPECT_GT(std::abs(after[4] - before[4]), 1e-8);
  EXPECT_GT(forcing.power(), 0);
}

TEST(Forcing, PowerClosesTheEnergyBalance) {
  // After 0.1 s with small steps: change of energy = (power - dissipation) * time.
  for (const auto* type : {"constant_energy", "stochastic"}) {
    Flow<double> flow(MPI_COMM_WORLD, forced(type));
    Forcing<double> forcing(flow.comm, flow.values, flow.solver);
    StatisticsKernel<double> kernel(flow.comm, flow.solver);
    const double dt = 0.002;
    double given = 0;
    const double first = kernel.measure(flow.solver).energy;
    double lost = 0, last_rate = kernel.measure(flow.solver).dissipation;
    for (int s = 0; s < 50; ++s) {
      advance(flow, forcing, 1, dt);
      given += forcing.power() * dt;
      const double rate = kernel.measure(flow.solver).dissipation;
      lost += (rate + last_rate) / 2 * dt;
      last_rate = rate;
    }
    const double change = kernel.measure(flow.solver).energy - first;
    EXPECT_NEAR(change, given - lost, 1e-3 * lost) << type;
    EXPECT_GT(std::abs(given), 0.05 * lost) << type;
  }
}

TEST(Forcing, SameOnAnyNumberOfRanks) {
  for (const auto* type : {"constant_energy", "stochastic"}) {
    Flow<double> all(MPI_COMM_WORLD, forced(type));
    Flow<double> alone(MPI_COMM_SELF, forced(type));
    Forcing<double> force_all(all.comm, all.values, all.solver);
    Forcing<double> force_alone(alone.comm, alone.values, alone.solver);
    advance(all, force_all, 4, 0.02);
    advance(alone, force_alone, 4, 0.02);
    for (int c = 0; c < 3; ++c) {
      EXPECT_LT(largest_difference(all.solver, alone.solver, c), 1e-13) << type;
    }
    StatisticsKernel<double> kernel(all.comm, all.solver);
    EXPECT_LT(kernel.measure(all.solver).divergence_max, 1e-13);
  }
}

TEST(Forcing, KeepsTheFieldReal) {
  Flow<double> flow(MPI_COMM_SELF, forced("stochastic"));
  Forcing<double> forcing(flow.comm, flow.values, flow.solver);
  advance(flow, forcing, 3, 0.05);
  const auto u = modes_of(flow.solver, 0);
  for (const auto& [k, value] : u) {
    if (k[0] != 0) continue;
    ASSERT_LT(std::abs(value - std::conj(u.at({0, -k[1], -k[2]}))), 1e-15);
  }
}

TEST(Forcing, StochasticNumbersHaveTheirVarianceAndMemory) {
  Flow<double> flow(MPI_COMM_SELF, forced("stochastic"));
  Forcing<double> forcing(flow.comm, flow.values, flow.solver);
  const double dt = 0.15;  // half the time scale: correlation exp(-1/2)
  double square = 0, product = 0;
  const int draws = 400;
  std::vector<double> last(forcing.state().begin(), forcing.state().end());
  const auto count = static_cast<double>(last.size()) * draws;
  for (int s = 0; s < draws; ++s) {
    flow.solver.set_time(0, s);
    forcing.before_step(flow.solver, dt);
    const auto now = forcing.state();
    for (std::size_t i = 0; i < now.size(); ++i) {
      square += now[i] * now[i];
      product += now[i] * last[i];
    }
    last.assign(now.begin(), now.end());
  }
  EXPECT_NEAR(square / count, 0.05, 0.05 * 0.05);
  EXPECT_NEAR(product / count, 0.05 * std::exp(-0.5), 0.05 * 0.05);
}

TEST(Forcing, StateComesBack) {
  Flow<double> one(MPI_COMM_WORLD, forced("stochastic"));
  Forcing<double> first(one.comm, one.values, one.solver);
  advance(one, first, 3, 0.05);
  Forcing<double> second(one.comm, one.values, one.solver);
  EXPECT_TRUE(second.set_state(first.state()));
  EXPECT_TRUE(std::equal(first.state().begin(), first.state().end(), second.state().begin()));
  EXPECT_FALSE(second.set_state(std::vector<double>{1, 2}));
}

TEST(Forcing, RefusesShellsBeyondTheGrid) {
  Flow<double> flow(MPI_COMM_WORLD, forced("stochastic", {"forcing.k_max=7"}));
  EXPECT_THROW(Forcing<double>(flow.comm, flow.values, flow.solver), Error);
}

}  // namespace
}  // namespace tailrace::turbulence
