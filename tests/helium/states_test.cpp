// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>

#include <gtest/gtest.h>

#include "krylov.hpp"

namespace tailrace::helium {
namespace {

AtomOptions atom(std::ptrdiff_t num_points, double step, int lmax) {
  AtomOptions options;
  options.num_points = num_points;
  options.step = step;
  options.lmax = lmax;
  options.big_lmax = 0;
  return options;
}

double ground_energy(const AtomOptions& options) {
  const Comm comm(MPI_COMM_WORLD);
  Hamiltonian hamiltonian(comm, options);
  return find_ground_state(hamiltonian, 1e-9, 20000).energy;
}

/// H2: without 1/r12 the energy is twice that of He+.
TEST(GroundState, WithoutRepulsionIsTwoElectrons) {
  auto options = atom(60, 0.2, 1);
  options.repulsion = false;
  EXPECT_NEAR(ground_energy(options), -4, 1e-10);
}

/// The s-wave energies of this discretisation, and H3: the limit -2.879028765 by Richardson.
TEST(GroundState, SWavesAreOfFourthOrder) {
  const double coarse = ground_energy(atom(60, 0.2, 0)), fine = ground_energy(atom(120, 0.1, 0));
  EXPECT_NEAR(coarse, -2.880623, 1e-6);
  EXPECT_NEAR(fine, -2.879132, 1e-6);
  EXPECT_NEAR(fine + (fine - coarse) / 15, -2.879028765, 1e-5);
}

/// H3: partial-wave limits -2.900516220 (l <= 1), -2.9027668 (l <= 2).
TEST(GroundState, PartialWavesHaveTheirLimits) {
  const double p_fine = ground_energy(atom(120, 0.1, 1));
  const double p = p_fine + (p_fine - ground_energy(atom(60, 0.2, 1))) / 15;
  EXPECT_NEAR(p_fine, -2.900633, 1e-6);
  EXPECT_NEAR(p, -2.900516220, 2e-5);
  const double d_fine = ground_energy(atom(120, 0.1, 2));
  EXPECT_NEAR(d_fine, -2.902886, 1e-6);
  EXPECT_NEAR(d_fine + (d_fine - ground_energy(atom(60, 0.2, 2))) / 15, -2.9027668, 2e-5);
}

/// H4: the triplet 1s2s, -2.175229378, to a few 1e-4 on this grid.
TEST(GroundState, OfTheTripletIsTheOneOf1s2s) {
  auto options = atom(100, 0.2, 2);
  options.triplet = true;
  const double coarse = ground_energy(options);
  EXPECT_NEAR(coarse, -2.175229378, 5e-4);
}

}  // namespace
}  // namespace tailrace::helium
