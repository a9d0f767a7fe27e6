// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halo.hpp"
#include "linear_solver.hpp"
#include "reaction.hpp"
#include "tailrace/reduction.hpp"
#include "transport.hpp"

namespace tailrace::groundwater {

/// Transport and reactions of all species as one implicit system, by Newton's method.
///
/// Unknowns are ln of the free molalities of each cell, u. With transport's matrix A, its right
/// side b, the totals T(u) and what the solids gain G(u), the equations are
/// A T(u) + c G(u) = b, c the volume by dt. A Newton step is solved for the change of T, which
/// couples cells by A alone: (A + c dG/du (dT/du)^-1) change = b - A T - c G.
class CoupledSolver {
 public:
  /// All must outlive it. Collective, blocking.
  CoupledSolver(const Case& values, const FlowEquations& flow, Transport& transport,
                Reactions& reactions, Reduction& sums);

  /// A step as of `Transport::step` and `Reactions::step` together. False if it does not converge
  /// (`why` says it); then `totals` and `states` are of no use. Collective, blocking.
  bool step(double dt, std::span<const double> old_water, std::span<const double> new_water,
            const std::vector<std::vector<double>>& incoming, std::span<double> totals,
            CellStates& states, std::string& why);

  std::int64_t iterations() const { return iterations_; }
  std::int64_t linear_iterations() const { return linear_iterations_; }

 private:
  enum class Balance { open, holds, lost };
  bool evaluate(CellStates& states);
  Balance find_residual(bool good);
  std::span<double> factors_of(std::size_t first);
  double take_change(CellStates& states);

  const Case* case_;
  const FlowEquations* flow_;
  Transport* transport_;
  Reactions* reactions_;
  Reduction* sums_;
  Halo halo_;
  std::size_t n_, count_;
  std::vector<double> weights_;  ///< litres by a second: volume / (1000 dt) of own cells
  std::vector<double> totals_, wide_totals_, gains_;  ///< [primary][cell]
  std::vector<double> own_slopes_;  ///< of totals by their own species, [primary][cell]
  std::vector<double> factors_;     ///< of dT/du, group of cells by group
  std::vector<double> next_strength_, last_strength_;  ///< that follow, of `totals_`
  std::vector<double> residual_, change_, blocks_;     ///< n, n, (n x n): cell by cell
  std::unique_ptr<LinearSolver> linear_;
  std::int64_t iterations_ = 0, linear_iterations_ = 0;
};

}  // namespace tailrace::groundwater
