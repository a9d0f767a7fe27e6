// SPDX-License-Identifier: BSD-3-Clause
#include "initial.hpp"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "common/random.hpp"
#include "flow_fixture.hpp"
#include "statistics.hpp"

namespace tailrace::turbulence {
namespace {

const std::vector<std::string> random_flow{
    "flow.initial=random", "flow.k_peak=3",          "flow.energy=0.75",  "flow.seed=11",
    "scalars.schmidt=[1]", "scalars.initial=random", "scalars.variance=2"};

/// `base` with more settings.
std::vector<std::string> with(std::vector<std::string> base, const std::vector<std::string>& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

TEST(Random, PhiloxGivesThePublishedNumbers) {
  // Known answers of Random123 (kat_vectors, philox4x32 10 rounds).
  EXPECT_EQ(app::philox({0, 0, 0, 0}, 0),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(app::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, NormalNumbersHaveMeanZeroAndVarianceOne) {
  double sum = 0, square = 0;
  const int draws = 20000;
  for (int i = 0; i < draws; ++i) {
    for (const double value : app::normal_numbers({static_cast<std::uint32_t>(i), 1, 2, 3}, 42)) {
      sum += value;
      square += value * value;
    }
  }
  EXPECT_NEAR(sum / (4 * draws), 0, 0.015);
  EXPECT_NEAR(square / (4 * draws), 1, 0.02);
}

TEST(Initial, TaylorGreenHasItsValuesAtThePoints) {
  Flow<double> flow(MPI_COMM_WORLD, {"grid.nx=9", "grid.ny=12", "grid.nz=10", "flow.amplitude=2"});
  const Box box = flow.solver.transform().physical_box();
  std::vector<double> u(static_cast<std::size_t>(box.num_items())), v(u), w(u);
  double* fields[] = {u.data(), v.data(), w.data()};
  flow.solver.to_physical(fields);
  std::size_t at = 0;
  for (auto k = box.start[0]; k < box.start[0] + box.extents[0]; ++k) {
    for (auto j = box.start[1]; j < box.start[1] + box.extents[1]; ++j) {
      for (auto i = box.start[2]; i < box.start[2] + box.extents[2]; ++i, ++at) {
        const double x = 2 * M_PI * static_cast<double>(i) / 9;
        const double y = 2 * M_PI * static_cast<double>(j) / 12;
        const double z = 2 * M_PI * static_cast<double>(k) / 10;
        ASSERT_NEAR(u[at], 2 * std::sin(x) * std::cos(y) * std::cos(z), 1e-14);
        ASSERT_NEAR(v[at], -2 * std::cos(x) * std::sin(y) * std::cos(z), 1e-14);
        ASSERT_NEAR(w[at], 0, 1e-14);
      }
    }
  }
}

TEST(Initial, ShellsOfARandomFieldHaveTheEnergyAskedFor) {
  const std::vector<std::vector<std::string>> shapes{
      {"grid.n=16"},
      {"grid.nx=15"},
      {"grid.nz=21"},
      {"dealias.method=phase_shift"},
      {"grid.nx=17", "grid.ny=32", "grid.nz=23", "flow.k_peak=4"}};
  for (const auto& shape : shapes) {
    Flow<double> flow(MPI_COMM_WORLD, with(random_flow, shape));
    StatisticsKernel<double> kernel(flow.comm, flow.solver);
    const auto& now = kernel.measure(flow.solver);
    auto shares =
        spectrum_shares(4, flow.values.flow.k_peak, static_cast<int>(now.spectrum.size()));
    const double largest = largest_isotropic_wave_number(flow.solver.options());
    int whole = 0;
    for (std::size_t s = 0; s < shares.size(); ++s) {
      if (static_cast<double>(s) + 0.5 > largest) shares[s] = 0;
      if (shares[s] > 0) ++whole;
    }
    const double held = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (std::size_t s = 0; s < shares.size(); ++s) {
      EXPECT_NEAR(now.spectrum[s], 0.75 * shares[s] / held, 1e-14) << shape[0] << " shell " << s;
    }
    EXPECT_NEAR(now.energy, 0.75, 1e-13) << shape[0];
    EXPECT_GE(whole, 3);
    EXPECT_LT(now.divergence_max, 1e-14);
  }
}

TEST(Initial, SharesAddUpToOne) {
  const auto shares = spectrum_shares(4, 3, 60);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-14);
  EXPECT_GT(shares[3], shares[2]);
  EXPECT_GT(shares[3], shares[4]);
}

TEST(Initial, RandomFieldsAreTheSameOnAnyNumberOfRanks) {
  for (const auto* shape : {"grid.n=16", "grid.ny=15", "grid.lx=9.5"}) {
    const auto settings = with(random_flow, {shape});
    Flow<double> all(MPI_COMM_WORLD, settings);
    Flow<double> alone(MPI_COMM_SELF, settings);
    for (int f = 0; f < 4; ++f) {
      EXPECT_LT(largest_difference(all.solver, alone.solver, f), 1e-15) << shape;
    }
  }
}

TEST(Initial, RandomFieldsAreTheSameOnFinerGrids) {
  // Shells up to 4 fit both grids whole; k_peak = 1 leaves next to nothing beyond them.
  const auto settings = with(random_flow, {"flow.k_peak=1"});
  Flow<double> coarse(MPI_COMM_WORLD, settings);
  Flow<double> fine(MPI_COMM_SELF, with(settings, {"grid.n=24"}));
  for (int f = 0; f < 4; ++f) {
    const auto finer = modes_of(fine.solver, f);
    for (const auto& [k, value] : modes_of(coarse.solver, f)) {
      if (std::hypot(k[0], k[1], k[2]) >= 4.5) continue;
      ASSERT_LT(std::abs(value - finer.at(k)), 1e-15);
    }
  }
}

TEST(Initial, SeedsDiffer) {
  Flow<double> one(MPI_COMM_SELF, random_flow);
  Flow<double> two(MPI_COMM_SELF, with(random_flow, {"flow.seed=12"}));
  EXPECT_GT(largest_difference(one.solver, two.solver, 0), 0.01);
}

TEST(Initial, SingleFollowsDouble) {
  Flow<float> narrow(MPI_COMM_WORLD, with(random_flow, {"grid.precision=single"}));
  Flow<double> wide(MPI_COMM_SELF, random_flow);
  EXPECT_LT(largest_difference(narrow.solver, wide.solver, 1), 1e-6);
}

}  // namespace
}  // namespace tailrace::turbulence
