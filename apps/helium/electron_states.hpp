// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "projection.hpp"
#include "tailrace/more/stage.hpp"
#include "wave_parts.hpp"

namespace tailrace::helium {

struct ElectronOptions {
  AtomOptions atom;
  double radius = 10;           ///< of single_outside, double_outside
  int energies = 150;           ///< of an electron that has left, evenly spaced
  double largest_energy = 6.0;  ///< [hartree]
};

/// What servers make of a wave: populations of partial waves and of the states of the ion, and
/// distributions of energy and momentum of the electrons that have left, by projection onto
/// products of states of one electron (Feist et al., Phys. Rev. A 77, 043420 (2008)). Called with a
/// step whose attribute "reference" is there, it keeps that wave, whose real part is the ground
/// state, and makes nothing of it. The bases are computed on the server, by the first call.
class ElectronStates {
 public:
  explicit ElectronStates(const ElectronOptions& options);

  /// Collective over the servers.
  StageResults operator()(const Attributes& about, std::span<const StagePart> parts,
                          const StageSum& sum);

 private:
  struct Found;
  struct Writer;
  void make_functions();
  void measure(std::vector<WavePart>& wave, const StageSum& sum, Found& found) const;
  void project(const std::vector<WavePart>& wave, std::size_t channel, const StageSum& sum,
               Found& found) const;
  void add_bound(const Channel& channel, const double* lines, Found& found) const;
  void add_single(const Channel& channel, const double* lines, Found& found) const;
  void add_double(const Channel& channel, const double* lines, Found& found) const;
  void write_spectra(const Found& found, Writer& to) const;
  StageResults results_of(const Found& found, double time) const;

  ElectronOptions options_;
  Radial radial_;
  std::vector<Channel> channels_;
  std::vector<int> mirrors_;
  std::vector<double> energies_;
  std::size_t num_points_, num_bound_ = 0;  ///< bound states of the l that has most
  std::vector<Functions> bound_;            ///< of the ion, of each l
  std::vector<Functions> outer_;            ///< Coulomb waves beside the ion
  std::vector<Functions> bare_;             ///< beside the bare nucleus
  std::vector<Functions> inner_;            ///< bound_, then bare_: what F is first projected onto
  std::vector<WavePart> ground_;
};

/// The same as a function of a session, with a state that its copies share.
ResultsFunction electron_states(const ElectronOptions& options);

}  // namespace tailrace::helium
