// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "hamiltonian.hpp"
#include "projection.hpp"

namespace tailrace::helium {

/// What is known of a wave at one time.
struct Observables {
  double norm = 0;            ///< squared
  double ground = 0;          ///< population of the ground state
  double energy = 0;          ///< <H> without field, per norm
  double dipole = 0;          ///< <z1 + z2>
  double single_outside = 0;  ///< one electron beyond a radius
  double double_outside = 0;  ///< both
  double edge_l = 0;          ///< population of channels with an l at its largest
  double edge_total_l = 0;    ///< population of channels with the largest L
  double edge_r = 0;          ///< population with an electron in the last tenth of the box
};

/// Ionisation after the pulse.
struct Ionisation {
  double both = 0;  ///< both electrons in states of E > 0 of He+
  double one =
      0;  ///< what is neither that nor the ground state, which excited atoms are counted with
};

/// Measures waves of one Hamiltonian.
class Observer {
 public:
  /// `ground` is the real ground state, kept as it is. Local.
  Observer(Hamiltonian& hamiltonian, const Wave& ground, double radius);

  /// Two applications of H and one sum over the ranks. Collective, blocking.
  Observables measure(const Wave& wave);
  /// Takes the ground state away and then, of each electron, the bound states of He+, which the
  /// radial grid has. One sum over the ranks of (states x channels x points) numbers. Collective,
  /// blocking.
  Ionisation ionisation(const Wave& wave);
  /// |f(r1, r2)|^2, summed over the channels, of this rank's blocks: rows of whole blocks, one
  /// block after another. Local.
  void density(const Wave& wave, std::vector<double>& out) const;

 private:
  void overlaps(const Wave& wave, double (&out)[2]) const;
  void add_up_shares(const Wave& wave, double (&shares)[num_shares]) const;
  void project(const Wave& wave, std::vector<double>& projected) const;

  Hamiltonian& hamiltonian_;
  const Wave& ground_;
  double radius_;
  Wave scratch_;
  std::vector<Radial::States> bound_;  ///< of each l
  std::size_t most_bound_ = 0;         ///< of any l
};

}  // namespace tailrace::helium
