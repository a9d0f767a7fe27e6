// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/table_file.hpp"
#include "flow.hpp"
#include "flow_solver.hpp"
#include "state_files.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::groundwater {

/// RUN/balance.csv: a line a step with what the store has gained, what came in through each
/// boundary and well, and the rest [m3/s].
class BalanceFile {
 public:
  /// Lines up to `restart_step` of an earlier part of the run are kept (-1: none). Collective,
  /// blocking. Throws `Errc::io` on all ranks.
  BalanceFile(const Comm& comm, const std::string& folder, const std::vector<FlowTerm>& terms,
              std::int64_t restart_step);
  /// `terms` of this rank. Collective, blocking. Throws `Errc::io` on all ranks.
  void append(const RunClock& clock, const StepOutcome& outcome, std::vector<FlowTerm> terms);
  /// Rates of the last line, over all ranks.
  const std::vector<FlowTerm>& last() const { return last_; }
  /// Largest |error| / moved so far.
  double worst() const { return worst_; }

 private:
  const Comm* comm_;
  Reduction reduction_;
  std::optional<app::TableFile> file_;
  std::vector<FlowTerm> last_;
  double worst_ = 0;
};

}  // namespace tailrace::groundwater
