// SPDX-License-Identifier: BSD-3-Clause
#include "summary.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "core/json_text.hpp"
#include "core/whole_file.hpp"

namespace tailrace::turbulence {

namespace {

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

double median(std::vector<double> values) {
  if (values.empty()) return NAN;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string step_times(const std::vector<double>& step_s) {
  const bool any = !step_s.empty();
  return fmt::format(R"({{"median": {}, "min": {}, "max": {}}})", number(median(step_s)),
                     number(any ? *std::min_element(step_s.begin(), step_s.end()) : NAN),
                     number(any ? *std::max_element(step_s.begin(), step_s.end()) : NAN));
}

/// What output cost the simulation, whoever wrote: the longest times of all ranks.
std::string output_entry(const Summary& summary, const OutputStatistics& total) {
  std::string text = fmt::format(R"({{"mode": {}, "servers": {})", json_quoted(summary.output_mode),
                                 summary.servers.empty() ? "null" : json_quoted(summary.servers));
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
    text += fmt::format(R"(, "{}": {})", key, number(value));
  }
  return text + "}";
}

/// This run's wall time in the slot of its own mode; who compares runs fills the others.
std::string times_of_modes(const Summary& summary) {
  const auto slot = [&](const char* mode) {
    return summary.output_mode == mode ? number(summary.wall_s) : std::string("null");
  };
  return fmt::format(R"({{"none": {}, "synchronous": {}, "hidden": {}, "servers": {}}})",
                     slot("none"), slot("synchronous"), slot("hidden"), slot("servers"));
}

}  // namespace

void write_summary(const Comm& comm, const std::string& folder, const Summary& summary) {
  const OutputStatistics total = summary.output.over_ranks(comm);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::array<long long, 3> largest{summary.memory_bytes, usage.ru_maxrss * 1024LL,
                                   summary.field_bytes};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, largest.data(), 3, MPI_LONG_LONG, MPI_MAX, comm.raw()));
  const bool none = summary.output_mode == "none";
  const auto line = [](const char* key, const std::string& value) {
    return fmt::format("  \"{}\": {},\n", key, value);
  };
  std::string text = "{\n";
  text +=
      line("program", "\"tailrace-turbulence\"") + line("version", json_quoted(TAILRACE_VERSION));
  text += line("case", json_quoted(summary.case_name)) +
          line("case_file", json_quoted(summary.case_file));
  text += line("grid", fmt::format("[{}]", fmt::join(summary.extents, ", ")));
  text += line("precision", json_quoted(summary.precision)) +
          line("scheme", json_quoted(summary.scheme));
  text += line("dealias", json_quoted(summary.dealias));
  text += line("ranks", fmt::format("{}", comm.num_ranks()));
  text += line("rank_grid", fmt::format("[{}]", fmt::join(summary.grid, ", ")));
  text += line("rank_grid_why", json_quoted(summary.grid_why));
  text += line("threads", fmt::format("{}", summary.threads));
  text += line("fft", fmt::format(R"({{"kernel": {}, "method": {}}})", json_quoted(summary.kernel),
                                  json_quoted(summary.method)));
  text += line("steps", fmt::format("{}", summary.steps)) + line("time", number(summary.time));
  text += line("wall_s", number(summary.wall_s));
  text += line("seconds_per_step", step_times(summary.step_s));
  text += line("output", output_entry(summary, total));
  text += line("hidden_fraction", none ? "null" : number(total.hidden_fraction()));
  text += line("stall_s", number(total.stall_s())) + line("times_s", times_of_modes(summary));
  text += line("memory_bytes_per_rank_max", fmt::format("{}", largest[0]));
  text += line("resident_bytes_per_rank_max", fmt::format("{}", largest[1]));
  text += line("fields_in_memory",
               number(static_cast<double>(largest[0]) / static_cast<double>(largest[2])));
  text += line("last_checkpoint",
               summary.last_checkpoint.empty() ? "null" : json_quoted(summary.last_checkpoint));
  text += fmt::format("  \"stopped_by\": {}\n}}\n", json_quoted(summary.stopped_by));
  run_agreed(comm.raw(), [&] {
    if (comm.rank() == 0) write_whole_file(folder + "/summary.json", text);
  });
}

}  // namespace tailrace::turbulence
