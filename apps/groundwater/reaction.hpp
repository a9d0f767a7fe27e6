// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "reaction_kernel.hpp"
#include "speciation.hpp"

namespace tailrace::groundwater {

/// Water and solids of many cells; each array has the cells side by side.
struct CellStates {
  std::size_t num_cells = 0;
  std::vector<double> log_free;  ///< ln of free molalities [mol/kg], [primary][cell]
  std::vector<double> strength;  ///< ionic strength that activities follow [mol/kg], [cell]
  std::vector<double> minerals;  ///< amounts [mol/m3 of ground], [mineral][cell]
  /// Bound amounts [mol/m3 of ground], [row][cell]: site after site a row for each class and
  /// primary species of the site.
  std::vector<double> bound;
};

/// The sets of bound amounts that `site` has: as many as rates, or one. Local.
std::size_t num_classes(const Site& site);

/// Reactions in the cells of a rank, each over a step of backward Euler, as many cells side by side
/// as the processor's registers hold (reaction_body.hpp). Keeps work arrays, so one object a
/// thread. All local.
class Reactions {
 public:
  /// `areas`: reactive area of each mineral [m2/m3 of ground]. `chemistry` must outlive it.
  Reactions(const Chemistry& chemistry, std::vector<double> areas,
            const ReactionKernel& kernel = choose_reaction_kernel());

  /// `num_cells` cells of that water and amount of each mineral, the sites in equilibrium with it.
  CellStates states_of(const Solution& water, std::span<const double> minerals,
                       std::size_t num_cells);
  /// What follow are of steps of `dt` [s].
  void set_step(double dt);

  /// Lets cells with `contents` of water [m3/m3 of ground] react: on entry `totals` [mol/L],
  /// [primary][cell], is what transport has brought, on exit what is left in the water; what the
  /// water gains the solids lose, to round-off. A mineral dissolves no further than to nothing.
  /// Decays come first, then all else. Cells of which Newton's method does not converge are
  /// counted, and nothing of use is left in any.
  std::size_t step(std::span<const double> contents, std::span<double> totals, CellStates& states);
  /// What decays alone make of `totals` and `states`.
  void decay(std::span<const double> contents, std::span<double> totals, CellStates& states);
  /// What decays made of each primary species in the last step [mol/m3 of ground], [primary][cell];
  /// empty if nothing decays.
  std::span<const double> decayed() const { return decayed_; }

  /// A cell's balance by `CellBalance`, as views of work arrays: items [row], `kernel().width`
  /// apart. For cells [first, first + width) of which there are `states.num_cells`.
  CellBalance balance(std::size_t first, CellStates& states);
  /// After `balance`: rows of its `relations` for those of `tables().gaining`; the factors that
  /// `divide` needs go to `factors`, (tables().num_slopes(), kernel().width). False if there are
  /// none for one of the first `num_cells` cells.
  bool relate(std::size_t num_cells, std::span<double> factors);
  /// `changes` of totals [primary][cell of a group] become those of ln of the free molalities.
  void divide(std::span<const double> factors, std::span<double> changes);
  /// Ends a step that was solved outside: `totals` become those of the waters of `states`, the
  /// solids gain what is theirs.
  void settle(std::span<const double> contents, std::span<double> totals, CellStates& states);

  const ReactionKernel& kernel() const { return *kernel_; }
  const ReactionTables& tables() const { return tables_; }

 private:
  void make_tables(const std::vector<double>& areas);
  ReactionTables::Formula add_formula(const Formula& formula);
  void make_group();
  void load(std::size_t first, const CellStates& states);
  void store(std::size_t first, CellStates& states) const;
  void load_brought(std::size_t first, std::span<const double> contents,
                    std::span<const double> totals);
  void store_brought(std::size_t first, std::span<double> totals) const;

  const Chemistry* chemistry_;
  const ReactionKernel* kernel_;
  std::vector<double> speeds_;  ///< of minerals [mol/m3/s]
  ReactionTables tables_;
  std::vector<double> remains_;  ///< of decays in a step, (primary x primary); empty: none
  std::vector<double> memory_, decayed_;
  CellGroup group_;
  CellBalance balance_;
  double* scratch_ = nullptr;
};

}  // namespace tailrace::groundwater
