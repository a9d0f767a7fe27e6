// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "tailrace/comm.hpp"
#include "tailrace/more/output_statistics.hpp"

namespace tailrace::app {

/// A JSON number, or null for what is not finite. Local, as all of this file but what says so.
std::string json_number(double value);

/// {"median": ..., "min": ..., "max": ...} of the seconds of each step.
std::string json_step_times(const std::vector<double>& step_s);

/// What output cost the simulation, whoever wrote: the longest times of all ranks. `mode` is none,
/// synchronous, hidden or servers; `servers` what the session says of itself, "" without one.
std::string json_output(const std::string& mode, const std::string& servers,
                        const OutputStatistics& total);

/// `wall_s` in the slot of `mode`, null in those of the others; who compares runs fills them.
std::string json_times_of_modes(const std::string& mode, double wall_s);

/// RUN/summary.json in the making: a JSON object, a line a key.
class SummaryText {
 public:
  /// `value` is JSON.
  void add(const char* key, const std::string& value);
  void add_text(const char* key, const std::string& text);  ///< null if it is empty
  void add_number(const char* key, double value);
  /// "program" and "version".
  void add_program(const char* name);
  /// Writes FOLDER/summary.json under a temporary name and renames it. Collective, blocking. Throws
  /// `Errc::io` on all ranks.
  void write(const Comm& comm, const std::string& folder) const;

 private:
  std::string lines_;
};

}  // namespace tailrace::app
