// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "case.hpp"
#include "flow.hpp"
#include "limited_advection.hpp"
#include "linear_solver.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::groundwater {

inline constexpr double litres = 1000;  ///< in a cubic metre

/// Total concentrations carried by the water, by finite volumes over cells and one step of backward
/// Euler: upwind advection (with `transport.advection = "limited"` corrected to second order
/// after it), diffusion and dispersion through walls. All species have one matrix.
/// What is brought in by a boundary also diffuses in while water comes in there; what leaves is the
/// cell's own water.
class Transport {
 public:
  /// `sums` must outlive it. Collective, blocking.
  Transport(const Case& values, const FlowEquations& flow, std::size_t num_species,
            Reduction& sums);

  /// Takes `totals` (one array of own cells a species, one after the other [mol/L]) over a step of
  /// `dt` [s] of the flow last evaluated, in which the cells' water goes from `old_water` to
  /// `new_water` [m3]. `incoming[term]` are the totals of the water that a boundary or well brings.
  /// False if a linear solve does not converge; `why` says it. Collective, blocking.
  bool step(double dt, std::span<const double> old_water, std::span<const double> new_water,
            const std::vector<std::vector<double>>& incoming, std::span<double> totals,
            std::string& why);
  /// The linear equations of a step, for who solves them together with others: `values` (one an
  /// entry of the flow's graph [m3/s]) times the concentrations at its end are `rights` (own cells
  /// of each species [mol/L m3/s]). Both arguments as of `step`, `totals` of the start. Local.
  void assemble(double dt, std::span<const double> old_water, std::span<const double> new_water,
                const std::vector<std::vector<double>>& incoming, std::span<const double> totals);
  std::span<const double> values() const { return values_; }
  std::span<const double> rights() const { return rights_; }
  /// Counts what comes in with a step that ends at `totals`. Local.
  void set_inflows(const std::vector<std::vector<double>>& incoming,
                   std::span<const double> totals);
  /// What came in with the last step, less what left, of this rank, one a species [mol/s].
  const std::vector<double>& inflows() const { return inflows_; }
  std::int64_t linear_iterations() const { return linear_iterations_; }

 private:
  bool nearly(double residual);
  void set_walls(double dt, std::span<const double> new_water);

  const Case* case_;
  const FlowEquations* flow_;
  std::size_t num_species_;
  Reduction* sums_;
  std::vector<double> values_, rights_, exchanges_;
  std::vector<double> scaled_, scales_, right_, solution_, inflows_;
  std::optional<LimitedAdvection> limited_;
  std::vector<double> before_;  ///< totals at the start of a step, if it is limited
  std::unique_ptr<LinearSolver> linear_;
  std::int64_t linear_iterations_ = 0;
};

}  // namespace tailrace::groundwater
