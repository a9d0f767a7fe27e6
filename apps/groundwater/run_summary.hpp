// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "common/output_cost.hpp"
#include "flow.hpp"
#include "flow_solver.hpp"
#include "reactive.hpp"
#include "tailrace/input.hpp"
#include "tailrace/more/output_statistics.hpp"
#include "tailrace/more/reduction_tally.hpp"

namespace tailrace::groundwater {

/// What RUN/summary.json says.
struct RunSummary {
  std::string case_name, case_file, solver, output_mode, servers, last_checkpoint, stopped_by;
  Cell extents{};
  std::array<int, 3> ranks{};
  std::int64_t steps = 0;
  double time = 0, wall_s = 0;
  std::vector<double> step_s;
  SolverCounts counts;
  std::vector<ReductionCount> reductions;  ///< of this rank
  std::vector<FlowTerm> rates;             ///< of the last step
  std::vector<FlowTerm> ponding;           ///< deepest, of boundaries whose water ponds [m]
  std::optional<SpeciesCounts> species;
  double worst_balance = 0, worst_species_balance = NAN;
  std::string cell_pattern;
  int cell_group_size = 0;  ///< 0 = no file of cells was read
  InputStatistics cell_counts;
  double cell_read_s = 0;
  OutputStatistics output;
  app::CostOfOutput output_cost;  ///< for this rank
};

/// Writes FOLDER/summary.json. Collective, blocking. Throws `Errc::io` on all ranks.
void write_summary(const Comm& comm, const std::string& folder, const RunSummary& summary);

}  // namespace tailrace::groundwater
