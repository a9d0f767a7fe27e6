// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "flow.hpp"
#include "halo.hpp"

namespace tailrace::groundwater {

/// Advection of second order on top of an upwind step, by fluxes limited so that no new extrema
/// arise (Zalesak, "Fully multidimensional flux-corrected transport algorithms for fluids", J.
/// Comput. Phys. 31, 1979).
///
/// Through a wall where water takes longer than the step for its upstream cell, the aimed-at flux
/// is that of Lax and Wendroff, of second order in space and time; elsewhere it is that of the
/// values on both sides after the step, of second order in space. What it has beyond the upwind
/// flux is taken as far as no cell leaves the range of itself and its neighbours before and after
/// the upwind step. All species take the same part of it, the least of theirs: what is linear
/// between them, such as the balance of charges, stays so.
class LimitedAdvection {
 public:
  /// `flow` must outlive it. Collective, blocking.
  LimitedAdvection(const FlowEquations& flow, std::size_t num_species);

  /// Takes `totals` (own cells of each species, one after the other) from the end of an upwind step
  /// of `dt` [s], which began with `before`, to that of the limited one; `new_water` [m3] is that
  /// of own cells at the end. What all ranks hold together stays, to round-off. Collective,
  /// blocking.
  void correct(double dt, std::span<const double> new_water, std::span<const double> before,
               std::span<double> totals);

 private:
  /// A wall of an own cell; the lower and upper cell by their wide index.
  struct Wall {
    std::size_t low = 0, high = 0;
    std::ptrdiff_t own_low = -1, own_high = -1;  ///< -1: of another rank
    int axis = 0;
    double low_part = 0, high_part = 0;  ///< of the distance of their centres, up to the wall
    double low_volume = 0, high_volume = 0;
  };
  void add_wall(const Cell& low, const Cell& high, int axis);
  double aim(const Wall& wall, double dt, double rate, std::span<const double> before,
             std::span<const double> after) const;
  void find_fluxes(double dt);
  void find_ratios(std::span<const double> new_water);
  void apply(std::span<const double> new_water, std::span<double> totals) const;

  const FlowEquations* flow_;
  std::size_t num_species_, num_own_, num_wide_;
  Halo halo_;
  std::vector<Wall> walls_;
  std::vector<std::size_t> wide_of_;         ///< of own cells
  std::vector<double> before_, after_;       ///< the upwind step, wide cells of each species
  std::vector<double> fluxes_;               ///< beyond upwind, of each species through each wall
  std::vector<double> gain_, loss_;          ///< part that a cell may take: own cells
  std::vector<double> all_gain_, all_loss_;  ///< the same of wide cells
};

}  // namespace tailrace::groundwater
