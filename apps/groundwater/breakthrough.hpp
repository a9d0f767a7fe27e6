// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "case.hpp"
#include "chemistry.hpp"
#include "common/table_file.hpp"
#include "grid.hpp"
#include "state_files.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::groundwater {

/// RUN/breakthrough.csv: a line a step, region of `transport.observe` and primary species: the mean
/// total concentration of the region's water [mol/L], each cell weighed by its water.
class BreakthroughFile {
 public:
  /// Throws on all ranks alike `Errc::invalid_input` for a region without cells, `Errc::io`.
  /// `grid` outlives it. Collective, blocking.
  BreakthroughFile(const Case& values, const Grid& grid, const Chemistry& chemistry,
                   const std::string& folder, std::int64_t restart_step);
  /// `totals` [mol/L]: the own cells of each primary species; `water` [m3] of own cells.
  /// Collective, blocking. Throws `Errc::io` on all ranks.
  void append(const RunClock& clock, std::span<const double> totals, std::span<const double> water);

 private:
  const Comm* comm_;
  std::vector<std::string> regions_, species_;
  std::vector<std::vector<std::ptrdiff_t>> cells_;  ///< own ones of each region
  Reduction reduction_;
  std::optional<app::TableFile> file_;
};

}  // namespace tailrace::groundwater
