// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "speciation.hpp"

namespace tailrace::groundwater {

/// What reacts in one cell beside its water. Amounts are in mol/m3 of ground.
struct CellSolids {
  std::vector<double> minerals;  ///< amount, one a mineral
  std::vector<double> areas;     ///< reactive area [m2/m3 of ground], one a mineral
  /// Bound amounts of each site: of a site in equilibrium one set of primary species, of one with
  /// rates a set for each rate; sets one after the other.
  std::vector<double> bound;
};

/// The sets of bound amounts that `site` has: as many as rates, or one. Local.
std::size_t num_classes(const Site& site);

/// Reactions in one cell after the other, each over a step of backward Euler; keeps work arrays, so
/// one object a thread. What the water gains the solids lose, to round-off.
class CellReaction {
 public:
  explicit CellReaction(const Chemistry& chemistry);

  /// Bound amounts in equilibrium with the water. Local.
  void equilibrate(const Solution& water, CellSolids& solids);

  /// Lets a cell with `content` of water [m3/m3 of ground] react for `dt` [s]: on entry `total`
  /// [mol/L] is what transport has brought, on exit what is left in the water; water and solids
  /// are taken from the start of the step to its end. A mineral dissolves no further than to
  /// nothing. False if Newton's method does not converge; then nothing has changed. Local.
  bool step(double content, double dt, std::span<double> total, Solution& water,
            CellSolids& solids);

 private:
  bool solve(double dt, double per_litre, std::span<const double> brought, Solution& water,
             const CellSolids& solids);
  void assemble(double dt, double per_litre, std::span<const double> brought, const Solution& water,
                const CellSolids& solids);
  void add_minerals(double dt, const Solution& water, const CellSolids& solids);
  void add_bound(double dt, const Solution& water, const CellSolids& solids);

  const Chemistry* chemistry_;
  Speciation speciation_;
  std::size_t n_;
  std::vector<double> total_, slopes_, matrix_, residual_, bound_, bound_slopes_, gained_;
};

}  // namespace tailrace::groundwater
