// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/output_cost.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/fused.hpp"
#include "tailrace/more/output_statistics.hpp"

namespace tailrace::turbulence {

/// What RUN/summary.json tells about a run.
struct Summary {
  std::string case_name, case_file, precision, scheme, dealias, kernel, method;
  std::array<std::ptrdiff_t, 3> extents{};  ///< (nz, ny, nx)
  std::array<int, 2> grid{};                ///< ranks along z, y
  std::string grid_why;
  int threads = 1;
  std::int64_t steps = 0;  ///< last step number
  double time = 0;
  double wall_s = 0;           ///< time loop, with all output
  std::vector<double> step_s;  ///< seconds of each step of this run
  std::string output_mode;
  OutputStatistics output;              ///< of this rank
  app::CostOfOutput output_cost;        ///< for this rank
  std::string servers;                  ///< what the session says of itself; "" without one
  std::ptrdiff_t memory_bytes = 0;      ///< arrays of this rank
  std::ptrdiff_t field_bytes = 0;       ///< one physical field of this rank
  std::optional<fft::PassCosts> costs;  ///< of a substage
  std::string stopped_by = "end";       ///< end, max_steps, SIGTERM, ...
  std::string last_checkpoint;
};

/// Writes FOLDER/summary.json under a temporary name and renames it. Collective, blocking. Throws
/// `Errc::io` on all ranks.
void write_summary(const Comm& comm, const std::string& folder, const Summary& summary);

}  // namespace tailrace::turbulence
