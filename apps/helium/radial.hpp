// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tailrace::helium {

constexpr int most_ion_states = 60;  ///< bound states of He+ of one l that a box may hold

/// One electron on r_i = (i + 1) h, i = 0, ..., n - 1, with f(0) = 0 and f = 0 beyond the box:
/// -1/2 d2/dr2 + l (l + 1) / (2 r2) - charge / r, in differences of `points` points (3 or 5). With
/// 5 points f(-h) = (-1)^(l + 1) f(h), and one diagonal number, of i = 0 and l = 0, makes the
/// energy of the 1s state exactly -charge^2 / 2 (the nuclear correction).
class Radial {
 public:
  /// Throws `Errc::invalid_input` for a grid that cannot hold the 1s state. Local, as all of this
  /// class.
  Radial(std::ptrdiff_t num_points, double step, double charge, int points = 5);

  std::ptrdiff_t num_points() const { return num_points_; }
  double step() const { return step_; }
  double charge() const { return charge_; }
  double r(std::ptrdiff_t i) const { return step_ * static_cast<double>(i + 1); }
  /// The nuclear correction [energy]; 0 with 3 points.
  double nuclear_correction() const { return correction_; }
  /// What stands on the diagonal beside the second difference of the inner points: centrifugal
  /// term, nucleus, corrections, ghost point.
  double potential(std::ptrdiff_t i, int l) const;

  struct States {
    std::vector<double> energies;              ///< ascending
    std::vector<std::vector<double>> vectors;  ///< of length num_points; sum of squares 1
  };
  /// The states of angular momentum l below `energy`, at most `most`.
  States states_below(int l, double energy, int most) const;

 private:
  std::vector<double> banded(int l) const;

  std::ptrdiff_t num_points_;
  double step_, charge_;
  int points_;
  double correction_ = 0;
};

}  // namespace tailrace::helium
