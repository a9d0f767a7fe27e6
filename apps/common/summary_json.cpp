// SPDX-License-Identifier: BSD-3-Clause
#include "common/summary_json.hpp"

#include <algorithm>
#include <cmath>

#include "tailrace/more/whole_file.hpp"

namespace tailrace::app {

namespace {

constexpr auto replace = Json::error_handler_t::replace;

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::string json_line(const Json& json) { return json.dump(-1, ' ', false, replace); }

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json step_times(const std::vector<double>& step_s) {
  if (step_s.empty()) return {{"median", nullptr}, {"min", nullptr}, {"max", nullptr}};
  const auto [least, most] = std::ranges::minmax(step_s);
  return {{"median", median(step_s)}, {"min", least}, {"max", most}};
}

Json output_costs(const std::string& mode, const std::string& servers,
                  const OutputStatistics& total) {
  return {{"mode", mode},
          {"servers", text_or_null(servers)},
          {"steps", total.steps},
          {"complete", total.complete},
          {"dropped", total.dropped},
          {"thinned", total.thinned},
          {"lowered", total.lowered},
          {"spilled", total.spilled},
          {"failed", total.failed},
          {"bytes", total.bytes},
          {"written_bytes", total.written_bytes},
          {"slowest_step", total.slowest_step},
          {"run_s", total.run_s},
          {"call_s", total.call_s},
          {"agree_s", total.agree_s},
          {"copy_s", total.copy_s},
          {"room_s", total.room_s},
          {"end_s", total.end_s},
          {"stall_s", total.stall_s()},
          {"write_s", total.write_s},
          {"writer_cpu_s", total.writer_cpu_s},
          {"slowest_s", total.slowest_s},
          {"hidden_fraction", total.hidden_fraction()}};
}

Json json_of_cost(const CostOfOutput& cost, double writer_cpu_s) {
  return {{"cost_s", cost.cost_s()},
          {"cost_spread_s", cost.spread_s},
          {"cost_fraction", cost.fraction()},
          {"call_s", cost.call_s},
          {"capture_s", cost.capture_s},
          {"slower_s", cost.slower_s},
          {"run_s", cost.run_s},
          {"writer_cpu_s", writer_cpu_s},
          {"steps", cost.steps},
          {"steps_with_output", cost.steps_with_output}};
}

Json times_of_modes(const std::string& mode, double wall_s) {
  Json times{
      {"none", nullptr}, {"synchronous", nullptr}, {"hidden", nullptr}, {"servers", nullptr}};
  times[mode] = wall_s;
  return times;
}

Json new_summary(const char* program) {
  return {{"program", program}, {"version", TAILRACE_VERSION}};
}

void write_summary_file(const Comm& comm, const std::string& folder, const Json& summary) {
  run_agreed(comm.raw(), [&] {
    if (comm.rank() != 0) return;
    write_whole_file(folder + "/summary.json", summary.dump(2, ' ', false, replace) + "\n");
  });
}

}  // namespace tailrace::app
