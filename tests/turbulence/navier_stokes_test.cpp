// SPDX-License-Identifier: BSD-3-Clause
// The solver against exact solutions, against published numbers, and against itself on other grids
// of ranks, exchange methods and precisions.
#include "navier_stokes.hpp"

#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tailrace::turbulence {
namespace {

constexpr double pi = std::numbers::pi;
using Velocity = std::function<std::array<double, 3>(double x, double y, double z)>;

NavierStokesOptions options_for(std::ptrdiff_t nz, std::ptrdiff_t ny, std::ptrdiff_t nx,
                                double nu) {
  NavierStokesOptions options;
  options.extents = {nz, ny, nx};
  options.lengths = {2 * pi, 2 * pi, 2 * pi};
  options.viscosity = nu;
  return options;
}

template <class Real>
void set_field(NavierStokes<Real>& flow, std::span<std::complex<Real>> modes,
               const std::function<double(double, double, double)>& value) {
  const auto box = flow.transform().physical_box();
  const auto n = flow.options().extents;
  const auto lengths = flow.options().lengths;
  std::vector<Real> physical;
  const double points = static_cast<double>(n[0] * n[1] * n[2]);
  for (std::ptrdiff_t z = 0; z < box.extents[0]; ++z)
    for (std::ptrdiff_t y = 0; y < box.extents[1]; ++y)
      for (std::ptrdiff_t x = 0; x < n[2]; ++x) {
        const auto at = [&](std::ptrdiff_t i, std::size_t axis) {
          return lengths[axis] * static_cast<double>(i) / static_cast<double>(n[axis]);
        };
        physical.push_back(static_cast<Real>(
            value(at(x, 2), at(y + box.start[1], 1), at(z + box.start[0], 0)) / points));
      }
  const Real* in[1] = {physical.data()};
  std::complex<Real>* out[1] = {modes.data()};
  flow.transform().forward(std::span<const Real* const>(in),
                           std::span<std::complex<Real>* const>(out));
}

template <class Real>
void set_velocity(NavierStokes<Real>& flow, const Velocity& velocity) {
  for (int c = 0; c < 3; ++c) {
    set_field<Real>(flow, flow.velocity(c), [&](double x, double y, double z) {
      return velocity(x, y, z)[static_cast<std::size_t>(c)];
    });
  }
  flow.project();
}

Velocity taylor_green() {
  return [](double x, double y, double z) -> std::array<double, 3> {
    return {std::sin(x) * std::cos(y) * std::cos(z), -std::cos(x) * std::sin(y) * std::cos(z), 0};
  };
}
Velocity abc() {
  return [](double x, double y, double z) -> std::array<double, 3> {
    return {std::sin(z) + 0.5 * std::cos(y), 0.7 * std::sin(x) + std::cos(z),
            0.5 * std::sin(y) + 0.7 * std::cos(x)};
  };
}
// Many modes, without symmetry.
Velocity mixed() {
  return [](double x, double y, double z) -> std::array<double, 3> {
    return {std::sin(y + 0.3) * std::cos(2 * z) + 0.4 * std::cos(3 * y - z),
            std::sin(2 * z - x) + 0.3 * std::cos(x + 1), std::cos(x - 2 * y + 0.5) + 0.2};
  };
}

struct Sums {
  double energy = 0, enstrophy = 0, divergence = 0;
};

template <class Real>
Sums sums(NavierStokes<Real>& flow) {
  const auto& modes = flow.modes();
  double local[2] = {0, 0};
  double divergence = 0;
  for (std::size_t j = 0; j < modes.ky.size(); ++j)
    for (std::size_t l = 0; l < modes.kz.size(); ++l)
      for (std::size_t i = 0; i < modes.kx.size(); ++i) {
        const auto at = static_cast<std::size_t>(modes.index(static_cast<std::ptrdiff_t>(j),
                                                             static_cast<std::ptrdiff_t>(l),
                                                             static_cast<std::ptrdiff_t>(i)));
        const double x = flow.kx()[i], y = flow.ky()[j], z = flow.kz()[l];
        const std::complex<double> u(flow.velocity(0)[at]), v(flow.velocity(1)[at]),
            w(flow.velocity(2)[at]);
        const double e =
            (modes.kx[i] == 0 ? 0.5 : 1.0) * (std::norm(u) + std::norm(v) + std::norm(w));
        local[0] += e;
        local[1] += e * (x * x + y * y + z * z);
        divergence = std::max(divergence, std::abs(x * u + y * v + z * w));
      }
  MPI_Allreduce(MPI_IN_PLACE, local, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &divergence, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return {local[0], local[1], divergence};
}

// All modes of a component in global order on every rank.
template <class Real>
std::vector<std::complex<double>> gather(NavierStokes<Real>& flow, int component) {
  const auto kept = flow.transform().spectral_extents();
  std::vector<std::complex<double>> all(static_cast<std::size_t>(kept[0] * kept[1] * kept[2]));
  const auto boxes = flow.transform().spectral_layout().boxes([] {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }());
  if (!boxes.empty()) {
    const auto& box = boxes[0];
    const auto modes = flow.velocity(component);
    std::size_t at = 0;
    for (std::ptrdiff_t j = 0; j < box.extents[1]; ++j)
      for (std::ptrdiff_t l = 0; l < box.extents[0]; ++l)
        for (std::ptrdiff_t i = 0; i < box.extents[2]; ++i, ++at) {
          all[static_cast<std::size_t>((l * kept[1] + j + box.start[1]) * kept[2] + i +
                                       box.start[2])] = std::complex<double>(modes[at]);
        }
  }
  MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(2 * all.size()), MPI_DOUBLE, MPI_SUM,
                MPI_COMM_WORLD);
  return all;
}

double largest_difference(const std::vector<std::complex<double>>& a,
                          const std::vector<std::complex<double>>& b) {
  double largest = a.size() == b.size() ? 0 : 1e30;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(NavierStokes, AbcFlowDecaysExactly) {
  Comm comm(MPI_COMM_WORLD);
  for (const auto scheme : {Scheme::rk2, Scheme::rk4}) {
    for (const auto dealias : {Dealias::two_thirds, Dealias::phase_shift}) {
      auto options = options_for(12, 9, 16, 0.1);
      options.scheme = scheme;
      options.dealias = dealias;
      NavierStokes<double> flow(comm, options);
      set_velocity(flow, abc());
      const auto before = gather(flow, 1);
      for (int i = 0; i < 10; ++i) flow.step(0.05);
      auto expected = before;
      for (auto& mode : expected) mode *= std::exp(-0.1 * 0.5);
      EXPECT_LE(largest_difference(gather(flow, 1), expected), 1e-14);
      EXPECT_NEAR(flow.time(), 0.5, 1e-15);
      EXPECT_EQ(flow.step_number(), 10);
    }
  }
}

TEST(NavierStokes, TaylorGreenMatchesPublishedEnergy) {
  Comm comm(MPI_COMM_WORLD);
  auto options = options_for(64, 64, 64, 0.000625);
  NavierStokes<double> flow(comm, options);
  set_velocity(flow, taylor_green());
  EXPECT_NEAR(sums(flow).energy, 0.125, 1e-15);
  for (int i = 0; i < 10; ++i) flow.step(0.01);
  EXPECT_NEAR(sums(flow).energy, 0.124953117517, 1e-12);
  EXPECT_LE(sums(flow).divergence, 1e-14);
}

// The error of a step size against a much finer one must fall by 2^order when it is halved.
TEST(NavierStokes, ConvergesInTimeWithItsOrder) {
  Comm comm(MPI_COMM_WORLD);
  const auto run = [&](Scheme scheme, int steps) {
    auto options = options_for(16, 16, 16, 0.02);
    options.scheme = scheme;
    NavierStokes<double> flow(comm, options);
    set_velocity(flow, mixed());
    for (int i = 0; i < steps; ++i) flow.step(0.4 / steps);
    return gather(flow, 0);
  };
  const auto exact = run(Scheme::rk4, 256);
  for (const auto& [scheme, order] : {std::pair{Scheme::rk2, 2.0}, std::pair{Scheme::rk4, 4.0}}) {
    const double coarse = largest_difference(run(scheme, 16), exact);
    const double fine = largest_difference(run(scheme, 32), exact);
    EXPECT_NEAR(std::log2(coarse / fine), order, 0.25);
  }
}

// Without viscosity the truncated system conserves energy; only the time error is left, which must
// vanish with the fifth power of the step.
TEST(NavierStokes, InviscidEnergyIsConserved) {
  Comm comm(MPI_COMM_WORLD);
  const auto drift = [&](double dt) {
    NavierStokes<double> flow(comm, options_for(16, 18, 20, 0.0));
    set_velocity(flow, mixed());
    const double before = sums(flow).energy;
    flow.step(dt);
    return std::abs(sums(flow).energy / before - 1);
  };
  EXPECT_LE(drift(0.001), 1e-14);
  EXPECT_GT(drift(0.1) / drift(0.05), 20);
}

TEST(NavierStokes, SameOnEveryGridMethodAndThreadCount) {
  Comm comm(MPI_COMM_WORLD);
  Comm self(MPI_COMM_SELF);
  const auto advance = [](NavierStokes<double>& flow) {
    set_velocity(flow, mixed());
    for (int i = 0; i < 3; ++i) flow.step(0.02);
  };
  auto options = options_for(14, 15, 17, 0.01);
  // The reference is the flow on one rank, computed by every rank alone.
  NavierStokes<double> alone(self, options);
  advance(alone);
  const auto kept = alone.transform().spectral_extents();
  std::vector<std::complex<double>> reference(
      static_cast<std::size_t>(kept[0] * kept[1] * kept[2]));
  for (std::ptrdiff_t j = 0, at = 0; j < kept[1]; ++j)
    for (std::ptrdiff_t l = 0; l < kept[0]; ++l)
      for (std::ptrdiff_t i = 0; i < kept[2]; ++i, ++at) {
        reference[static_cast<std::size_t>((l * kept[1] + j) * kept[2] + i)] =
            alone.velocity(2)[static_cast<std::size_t>(at)];
      }
  int num_runs = 0;
  for (int pz = 1; pz <= comm.num_ranks(); ++pz) {
    if (comm.num_ranks() % pz != 0) continue;
    options.grid = {pz, comm.num_ranks() / pz};
    for (const auto& method : fft::exchange_methods()) {
      for (const int threads : {1, 2}) {
        options.fft.method = std::string(method.name);
        options.fft.threads = threads;
        options.fft.chunks = threads;
        std::optional<NavierStokes<double>> flow;
        try {
          flow.emplace(comm, options);
        } catch (const Error& error) {  // not every method is for every grid
          EXPECT_NE(std::string(error.what()).find("does not apply"), std::string::npos)
              << error.what();
          continue;
        }
        ++num_runs;
        advance(*flow);
        EXPECT_LE(largest_difference(gather(*flow, 2), reference), 1e-14)
            << method.name << " on " << pz << " x " << options.grid[1];
      }
    }
  }
  EXPECT_GE(num_runs, 8);  // four methods, 1 and 2 threads
}

TEST(NavierStokes, SinglePrecisionFollowsDouble) {
  Comm comm(MPI_COMM_WORLD);
  const auto options = options_for(16, 16, 16, 0.01);
  NavierStokes<double> precise(comm, options);
  NavierStokes<float> single(comm, options);
  set_velocity(precise, mixed());
  set_velocity(single, mixed());
  for (int i = 0; i < 5; ++i) {
    precise.step(0.02);
    single.step(0.02);
  }
  EXPECT_LE(largest_difference(gather(precise, 0), gather(single, 0)), 1e-6);
}

// A scalar carried by a uniform flow is shifted; diffusion is exact.
TEST(NavierStokes, ScalarIsCarriedAndDiffuses) {
  Comm comm(MPI_COMM_WORLD);
  auto options = options_for(16, 12, 20, 0.2);
  options.scalars = {{0.5, {0, 0, 0}}, {2.0, {0, 0, 0}}};
  NavierStokes<double> flow(comm, options);
  set_velocity(flow, [](double, double, double) -> std::array<double, 3> { return {1, 2, -1}; });
  for (int s = 0; s < 2; ++s) {
    set_field<double>(flow, flow.scalar(s),
                      [](double x, double y, double z) { return std::sin(x + 2 * y - z); });
  }
  const double dt = 0.01;
  for (int i = 0; i < 50; ++i) flow.step(dt);
  const double t = 0.5;
  NavierStokes<double> expected(comm, options);
  for (int s = 0; s < 2; ++s) {
    const double diffusivity = 0.2 / options.scalars[static_cast<std::size_t>(s)].schmidt;
    set_field<double>(expected, expected.scalar(s), [&](double x, double y, double z) {
      return std::exp(-6 * diffusivity * t) * std::sin(x - t + 2 * (y - 2 * t) - (z + t));
    });
    double error = 0;
    for (std::size_t i = 0; i < flow.scalar(s).size(); ++i) {
      error = std::max(error, std::abs(flow.scalar(s)[i] - expected.scalar(s)[i]));
    }
    EXPECT_LE(error, 2e-7);  // time error of RK4: phase 6 t (6 dt)^4 / 120
  }
}

// With a mean gradient G and a uniform flow U the scalar mean falls by G.U t.
TEST(NavierStokes, MeanGradientFeedsTheScalar) {
  Comm comm(MPI_COMM_WORLD);
  auto options = options_for(8, 8, 8, 0.1);
  options.scalars = {{1.0, {0.5, 0, -1}}};
  NavierStokes<double> flow(comm, options);
  set_velocity(flow, [](double, double, double) -> std::array<double, 3> { return {1, 3, 2}; });
  for (int i = 0; i < 10; ++i) flow.step(0.1);
  double mean = 0;
  if (comm.rank() == 0) mean = flow.scalar(0)[0].real();
  MPI_Bcast(&mean, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  EXPECT_NEAR(mean, -(0.5 * 1 - 1 * 2) * 1.0, 1e-13);
}

TEST(NavierStokes, CapturedFieldsAreThoseAtTheStartOfTheStep) {
  Comm comm(MPI_COMM_WORLD);
  for (const auto dealias : {Dealias::two_thirds, Dealias::phase_shift}) {
    auto options = options_for(10, 12, 14, 0.01);
    options.dealias = dealias;
    NavierStokes<double> flow(comm, options);
    set_velocity(flow, mixed());
    const auto items = static_cast<std::size_t>(flow.transform().physical_box().num_items());
    std::vector<double> u(items), w(items), captured_u(items), captured_w(items);
    double* now[] = {u.data(), nullptr, w.data()};
    flow.to_physical(now);
    double* later[] = {captured_u.data(), nullptr, captured_w.data()};
    flow.capture(later);
    const double rate = flow.measure_courant_rate();
    flow.capture(later);
    flow.step(0.01);
    EXPECT_DOUBLE_EQ(flow.courant_rate(), rate);
    double error = 0;
    for (std::size_t i = 0; i < items; ++i) {
      error = std::max({error, std::abs(u[i] - captured_u[i]), std::abs(w[i] - captured_w[i])});
    }
    EXPECT_LE(error, 1e-14);
  }
}

TEST(NavierStokes, CourantRateIsTheLargestOverTheGrid) {
  Comm comm(MPI_COMM_WORLD);
  auto options = options_for(8, 8, 16, 0.01);
  NavierStokes<double> flow(comm, options);
  set_velocity(flow, [](double, double, double) -> std::array<double, 3> { return {1, -2, 3}; });
  EXPECT_NEAR(flow.measure_courant_rate(), (1 * 16 + 2 * 8 + 3 * 8) / (2 * pi), 1e-12);
}

// A constant force on one mode of a fluid at rest, orthogonal to its wave number, acts as f t.
TEST(NavierStokes, ForcingAcceleratesItsModes) {
  Comm comm(MPI_COMM_WORLD);
  NavierStokes<double> flow(comm, options_for(8, 8, 8, 0.0));
  const auto& modes = flow.modes();
  std::vector<ForcedMode<double>> forced;
  for (std::size_t j = 0; j < modes.ky.size(); ++j)
    for (std::size_t l = 0; l < modes.kz.size(); ++l)
      for (std::size_t i = 0; i < modes.kx.size(); ++i)
        if (modes.kx[i] == 1 && modes.ky[j] == 0 && modes.kz[l] == 0) {
          forced.push_back(
              {modes.index(static_cast<std::ptrdiff_t>(j), static_cast<std::ptrdiff_t>(l),
                           static_cast<std::ptrdiff_t>(i)),
               {0.0, {0.25, 0.5}, 0.0}});
        }
  flow.set_forcing(forced);
  for (int i = 0; i < 4; ++i) flow.step(0.25);
  const double energy = sums(flow).energy;
  EXPECT_NEAR(energy, 0.25 * 0.25 + 0.5 * 0.5, 1e-14);
}

// Two shifted grids and a sphere of sqrt(2) n / 3: aliasing is cancelled to the order of the
// scheme, so the flow follows that of a grid twice as fine cut to the same sphere far better than
// with no care.
TEST(NavierStokes, PhaseShiftKeepsMoreModes) {
  Comm comm(MPI_COMM_WORLD);
  auto options = options_for(24, 24, 24, 0.01);
  NavierStokes<double> thirds(comm, options);
  options.dealias = Dealias::phase_shift;
  NavierStokes<double> shifted(comm, options);
  EXPECT_EQ(thirds.transform().spectral_extents(), (std::array<std::ptrdiff_t, 3>{15, 15, 8}));
  EXPECT_EQ(shifted.transform().spectral_extents(), (std::array<std::ptrdiff_t, 3>{23, 23, 12}));
  set_velocity(thirds, mixed());
  set_velocity(shifted, mixed());
  for (int i = 0; i < 20; ++i) {
    thirds.step(0.01);
    shifted.step(0.01);
  }
  EXPECT_NEAR(sums(shifted).energy, sums(thirds).energy, 1e-6);
  EXPECT_LE(sums(shifted).divergence, 1e-13);
}

TEST(NavierStokes, RefusesNonsense) {
  Comm comm(MPI_COMM_WORLD);
  auto bad = options_for(8, 8, 8, -1);
  EXPECT_THROW((NavierStokes<double>(comm, bad)), Error);
  bad = options_for(0, 8, 8, 0.1);
  EXPECT_THROW((NavierStokes<double>(comm, bad)), Error);
}

}  // namespace
}  // namespace tailrace::turbulence
