// SPDX-License-Identifier: BSD-3-Clause
// RUN/summary.json. Numbers that are not finite are written as null.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/output_cost.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/output_statistics.hpp"

namespace tailrace::app {

using Json = nlohmann::ordered_json;

/// One line of JSON. Bytes that are no UTF-8 become U+FFFD. Local, as all of this file but
/// `write_summary_file`.
std::string json_line(const Json& json);

/// `text`, or null if it is empty.
Json text_or_null(const std::string& text);

/// {"median": ..., "min": ..., "max": ...} of the seconds of each step.
Json step_times(const std::vector<double>& step_s);

/// What output cost the simulation with any kind of output: the longest times of all ranks. `mode`
/// is none, synchronous, hidden or servers; `servers` is the session's description, "" without one.
Json output_costs(const std::string& mode, const std::string& servers,
                  const OutputStatistics& total);

/// `cost` with its sum (`cost_s`), the spread and the share of the run; null: not known.
/// `writer_cpu_s` is that of all ranks.
Json json_of_cost(const CostOfOutput& cost, double writer_cpu_s);

/// `wall_s` as the time of `mode`, and null for the other modes, which comparisons of runs fill in.
Json times_of_modes(const std::string& mode, double wall_s);

/// A summary that begins with "program" and "version".
Json new_summary(const char* program);

/// Writes FOLDER/summary.json under a temporary name and renames it. Collective, blocking. Throws
/// `Errc::io` on all ranks.
void write_summary_file(const Comm& comm, const std::string& folder, const Json& summary);

}  // namespace tailrace::app
