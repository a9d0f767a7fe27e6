// SPDX-License-Identifier: BSD-3-Clause
#include "common/summary_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "core/json_text.hpp"
#include "core/whole_file.hpp"

namespace tailrace::app {

namespace {

double median(std::vector<double> values) {
  if (values.empty()) return NAN;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

std::string json_step_times(const std::vector<double>& step_s) {
  const bool measured = !step_s.empty();
  return fmt::format(R"({{"median": {}, "min": {}, "max": {}}})", json_number(median(step_s)),
                     json_number(measured ? *std::min_element(step_s.begin(), step_s.end()) : NAN),
                     json_number(measured ? *std::max_element(step_s.begin(), step_s.end()) : NAN));
}

std::string json_output(const std::string& mode, const std::string& servers,
                        const OutputStatistics& total) {
  std::string text = fmt::format(R"({{"mode": {}, "servers": {})", json_quoted(mode),
                                 servers.empty() ? "null" : json_quoted(servers));
  for (const auto& [key, count] : std::initializer_list<std::pair<const char*, std::int64_t>>{
           {"steps", total.steps},
           {"complete", total.complete},
           {"dropped", total.dropped},
           {"thinned", total.thinned},
           {"lowered", total.lowered},
           {"spilled", total.spilled},
           {"failed", total.failed},
           {"bytes", total.bytes},
           {"written_bytes", total.written_bytes},
           {"slowest_step", total.slowest_step}}) {
    text += fmt::format(R"(, "{}": {})", key, count);
  }
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, double>>{
           {"run_s", total.run_s},
           {"call_s", total.call_s},
           {"agree_s", total.agree_s},
           {"copy_s", total.copy_s},
           {"room_s", total.room_s},
           {"end_s", total.end_s},
           {"stall_s", total.stall_s()},
           {"write_s", total.write_s},
           {"slowest_s", total.slowest_s},
           {"hidden_fraction", total.hidden_fraction()}}) {
    text += fmt::format(R"(, "{}": {})", key, json_number(value));
  }
  return text + "}";
}

std::string json_times_of_modes(const std::string& mode, double wall_s) {
  const auto slot = [&](const char* name) {
    return mode == name ? json_number(wall_s) : std::string("null");
  };
  return fmt::format(R"({{"none": {}, "synchronous": {}, "hidden": {}, "servers": {}}})",
                     slot("none"), slot("synchronous"), slot("hidden"), slot("servers"));
}

void SummaryText::add(const char* key, const std::string& value) {
  lines_ += fmt::format("{}  \"{}\": {}", lines_.empty() ? "" : ",\n", key, value);
}

void SummaryText::add_text(const char* key, const std::string& text) {
  add(key, text.empty() ? "null" : json_quoted(text));
}

void SummaryText::add_number(const char* key, double value) { add(key, json_number(value)); }

void SummaryText::add_program(const char* name) {
  add_text("program", name);
  add_text("version", TAILRACE_VERSION);
}

void SummaryText::write(const Comm& comm, const std::string& folder) const {
  run_agreed(comm.raw(), [&] {
    if (comm.rank() != 0) return;
    write_whole_file(folder + "/summary.json", "{\n" + lines_ + "\n}\n");
  });
}

}  // namespace tailrace::app
