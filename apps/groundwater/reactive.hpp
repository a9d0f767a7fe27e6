// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "case.hpp"
#include "common/table_file.hpp"
#include "coupled.hpp"
#include "flow.hpp"
#include "reaction.hpp"
#include "state_files.hpp"
#include "tailrace/reduction.hpp"
#include "transport.hpp"

namespace tailrace::groundwater {

/// The chemistry file of a case. Throws as `parse_chemistry`, and
/// `Errc::io`. Local, without MPI.
Chemistry chemistry_of(const Case& values);

/// Names of the fields of `ReactiveTransport`: total_X, pH, X_volume_fraction, in that order of
/// species and minerals. Local.
std::vector<std::string> species_fields(const Chemistry& chemistry);

/// The waters of a case by their names, in the order of `[[chemistry.waters]]`. Throws
/// `Errc::invalid_input` that names water, condition and what would be right. Local.
std::vector<Solution> make_waters(const Case& values, const Chemistry& chemistry);

/// How species were solved for so far; the same on all ranks.
struct SpeciesCounts {
  std::string kernel;  ///< of the reactions
  std::int64_t failed_steps = 0;
  std::int64_t newton = 0;  ///< of all cells together, of implicit steps
  std::int64_t linear = 0;
};

/// Species that the flow carries and that react in each cell: transport, then reactions, each over
/// the whole step, or both in one implicit system.
class ReactiveTransport {
 public:
  /// Every cell holds the initial water, in equilibrium with its surfaces. Throws on all ranks
  /// alike. Collective, blocking.
  ReactiveTransport(const Case& values, const FlowEquations& flow);

  /// A step of `dt` [s] of the flow last evaluated. False (and nothing has changed) if a linear
  /// solve or the reactions of a cell do not converge. Collective, blocking.
  bool step(double dt, std::span<const double> old_water, std::span<const double> new_water,
            std::string& why);

  /// Those of `species_fields` [mol/L, 1, 1], own cells. Local.
  std::vector<NamedField> fields() const;
  /// What a restart needs. Local.
  std::vector<NamedField> state() const;
  void set_state(const std::vector<NamedField>& state);

  /// Total concentrations [mol/L]: the own cells of each primary species. Local.
  std::span<const double> totals() const { return totals_; }
  const Chemistry& chemistry() const { return chemistry_; }
  SpeciesCounts counts() const;  ///< local
  /// Of each species what is in water and solids [mol], then what came in [mol/s], then what decays
  /// made of it [mol/s] in the last step, over all ranks. Collective, blocking.
  std::vector<double> amounts(std::span<const double> water);

 private:
  std::vector<double> contents_of(std::span<const double> water) const;
  bool react(double dt, std::span<const double> new_water, std::string& why);

  const FlowEquations* flow_;
  Chemistry chemistry_;
  Reduction sums_;
  Reactions reactions_;
  Transport transport_;
  std::optional<CoupledSolver> coupled_;
  std::vector<std::vector<double>> incoming_;  ///< totals by boundary and well
  std::size_t count_;                          ///< own cells
  std::vector<double> totals_, before_;        ///< [mol/L], own cells of each species
  CellStates states_;
  double last_dt_ = 0;
  std::int64_t failed_steps_ = 0;
};

/// RUN/species.csv: a line a step and species: amount in the grid [mol], what came in and what
/// decays made of it [mol/s], and what is missing, relative to the amount.
class SpeciesFile {
 public:
  /// Collective, blocking. Throws `Errc::io` on all ranks.
  SpeciesFile(const Comm& comm, const std::string& folder, const Chemistry& chemistry,
              std::int64_t restart_step);
  /// `amounts` as of `ReactiveTransport::amounts`. Collective, blocking.
  void append(const RunClock& clock, const std::vector<double>& amounts);
  /// The amounts that the next line is compared with. Local.
  void set_amounts(const std::vector<double>& amounts) { last_ = amounts; }
  double worst() const { return worst_; }

 private:
  const Comm* comm_;
  std::vector<std::string> names_;
  std::vector<double> last_;
  std::optional<app::TableFile> file_;
  double worst_ = 0;
};

}  // namespace tailrace::groundwater
