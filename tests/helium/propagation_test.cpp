// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <complex>

#include <gtest/gtest.h>

#include "krylov.hpp"
#include "pulse.hpp"

namespace tailrace::helium {
namespace {

struct Outcome {
  double norm_squared = 0;
  double in_ground = 0;  ///< population of the ground state
};

/// From the ground state through a pulse, in steps of about `dt`.
Outcome run(const AtomOptions& options, const Colour& colour, Coupling coupling, double dt,
            MPI_Comm ranks = MPI_COMM_WORLD) {
  const Comm comm(ranks);
  Hamiltonian hamiltonian(comm, options);
  const auto ground = find_ground_state(hamiltonian, 1e-10, 20000).wave;
  const auto size = ground.size();
  Wave wave = ground;
  wave.resize(2 * size);
  const Pulse pulse({colour});
  Propagator propagator(hamiltonian, {});
  const int steps = static_cast<int>(std::ceil(pulse.end() / dt));
  Outcome out;
  dt = pulse.end() / steps;
  for (int n = 0; n < steps; ++n) {
    const double time = (n + 0.5) * dt;
    const double field = coupling == Coupling::velocity ? pulse.potential_of_step(time, dt)
                                                        : pulse.field_of_step(time, dt);
    out.norm_squared = propagator.step(wave, dt, coupling, field);
  }
  double overlap[] = {hamiltonian.local_dot(ground.data(), wave.data()),
                      hamiltonian.local_dot(ground.data(), wave.data() + size)};
  hamiltonian.add_up(overlap, 2);
  out.in_ground = overlap[0] * overlap[0] + overlap[1] * overlap[1];
  return out;
}

/// One electron of He+ in the same grid, l = 0 and 1, length gauge, Crank-Nicolson steps as small
/// as it takes: another program for the same physics. Population of the ground state after the
/// pulse.
double ground_of_one_electron(const AtomOptions& options, const Colour& colour, double dt) {
  using Complex = std::complex<double>;
  const Radial radial(options.num_points, options.step, options.charge);
  const auto n = static_cast<std::size_t>(options.num_points);
  const double h = options.step;
  const auto apply = [&](const std::vector<Complex>& f, double field) {
    std::vector<Complex> out(2 * n);
    for (std::size_t l = 0; l < 2; ++l) {
      for (std::size_t i = 0; i < n; ++i) {
        const auto at = [&](std::ptrdiff_t shift) {
          const auto j = static_cast<std::ptrdiff_t>(i) + shift;
          return j < 0 || j >= options.num_points ? Complex(0)
                                                  : f[l * n + static_cast<std::size_t>(j)];
        };
        const auto row = static_cast<std::ptrdiff_t>(i);
        const Complex second = 30.0 * at(0) - 16.0 * (at(-1) + at(1)) + at(-2) + at(2);
        out[l * n + i] = second / (24 * h * h) +
                         radial.potential(row, static_cast<int>(l)) * at(0) +
                         field * radial.r(row) / std::sqrt(3.0) * f[(1 - l) * n + i];
      }
    }
    return out;
  };
  const auto ground = radial.states_below(0, 0, 1).vectors.at(0);
  std::vector<Complex> f(2 * n);
  std::copy(ground.begin(), ground.end(), f.begin());
  const Pulse pulse({colour});
  const int steps = static_cast<int>(std::ceil(pulse.end() / dt));
  dt = pulse.end() / steps;
  for (int s = 0; s < steps; ++s) {  // Taylor series of exp(-i dt H), to rounding errors
    auto term = f;
    for (int order = 1; order <= 60; ++order) {
      term = apply(term, pulse.field_of_step((s + 0.5) * dt, dt));
      double size = 0;
      for (std::size_t i = 0; i < 2 * n; ++i) {
        term[i] *= Complex(0, -dt / order);
        f[i] += term[i];
        size += std::norm(term[i]);
      }
      if (size < 1e-34) break;
    }
  }
  Complex overlap = 0;
  for (std::size_t i = 0; i < n; ++i) overlap += ground[i] * f[i];
  return std::norm(overlap);
}

/// H2: without 1/r12 two electrons stay in the ground state with the square of one's probability,
/// as l <= 1 and L <= 2 hold all their partial waves.
TEST(Propagation, WithoutRepulsionIsThatOfTwoElectrons) {
  AtomOptions options;
  options.num_points = 48;
  options.lmax = 1;
  options.big_lmax = 2;
  options.repulsion = false;
  const Colour colour{.frequency = 1.5, .field = 0.1, .cycles = 4};
  const double one = ground_of_one_electron(options, colour, 0.05);
  const auto two = run(options, colour, Coupling::length, 0.05);
  EXPECT_NEAR(two.in_ground, one * one, 1e-9);
  EXPECT_LT(one, 0.98);  // the pulse does something
}

/// H5: the norm stays, H6: gauges agree to what this grid and these partial waves allow.
TEST(Propagation, GaugesAgreeAndTheNormStays) {
  if (Comm(MPI_COMM_WORLD).num_ranks() > 2) GTEST_SKIP() << "the same on any number of ranks";
  AtomOptions options;
  options.num_points = 56;
  options.lmax = 2;
  const Colour colour{.frequency = 1.5, .field = 0.02, .cycles = 3};
  const auto length = run(options, colour, Coupling::length, 0.1);
  const auto velocity = run(options, colour, Coupling::velocity, 0.1);
  EXPECT_NEAR(length.norm_squared, 1, 1e-12);
  EXPECT_NEAR(velocity.norm_squared, 1, 1e-12);
  EXPECT_NEAR((1 - length.in_ground) / (1 - velocity.in_ground), 1, 0.015);
}

/// Steps in a changing field are of fourth order.
TEST(Propagation, IsOfFourthOrderInTime) {
  if (Comm(MPI_COMM_WORLD).num_ranks() > 1) GTEST_SKIP() << "the same on any number of ranks";
  AtomOptions options;
  options.num_points = 30;
  options.step = 0.3;
  options.lmax = 1;
  const Colour colour{.frequency = 1.5, .field = 0.3, .cycles = 3};
  for (const auto coupling : {Coupling::length, Coupling::velocity}) {
    double found[3];
    for (const int halved : {0, 1, 2}) {
      found[halved] = run(options, colour, coupling, 0.4 / (1 << halved)).in_ground;
    }
    const double ratio = (found[0] - found[1]) / (found[1] - found[2]);
    EXPECT_NEAR(std::log2(std::abs(ratio)), 4, 0.7);
  }
}

/// Any number of ranks, and both symmetries, give what one rank gives.
TEST(Propagation, IsTheSameOnAnyNumberOfRanks) {
  AtomOptions options;
  options.num_points = 32;
  options.step = 0.3;
  const Colour colour{.frequency = 1.5, .field = 0.1, .cycles = 1};
  for (const bool triplet : {false, true}) {
    options.triplet = triplet;
    for (const auto coupling : {Coupling::length, Coupling::velocity}) {
      const auto all = run(options, colour, coupling, 0.1);
      const auto alone = run(options, colour, coupling, 0.1, MPI_COMM_SELF);
      EXPECT_NEAR(all.in_ground, alone.in_ground, 1e-12);
      EXPECT_NEAR(all.norm_squared, 1, 1e-12);
    }
  }
}

}  // namespace
}  // namespace tailrace::helium
