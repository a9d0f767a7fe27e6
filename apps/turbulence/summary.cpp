// SPDX-License-Identifier: BSD-3-Clause
#include "summary.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>

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

std::string output_entry(const Summary& summary, const OutputStatistics& total) {
  return fmt::format(
      R"({{"mode": {}, "files": {}, "bytes": {}, "call_s": {}, "stall_s": {}, "write_s": {}}})",
      json_quoted(summary.output_mode), total.files, total.bytes, number(total.call_s),
      number(total.stall_s), number(total.write_s));
}

/// What servers did and what the simulation saw of it. `stall_s` is all of it: the time that the
/// simulation spent inside calls. Times are the longest of all ranks. Collective.
std::string servers_entry(MPI_Comm comm, const Summary& summary) {
  if (!summary.stream) return "null";
  const auto& mine = *summary.stream;
  std::array<double, 8> longest{mine.run_s,  mine.call_s, mine.agree_s, mine.copy_s,
                                mine.room_s, mine.end_s,  mine.write_s, mine.slowest_s};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, longest.data(), 8, MPI_DOUBLE, MPI_MAX, comm));
  const auto [run_s, call_s, agree_s, copy_s, room_s, end_s, write_s, slowest_s] = longest;
  auto total = mine;
  total.room_s = room_s;
  total.end_s = end_s;
  total.write_s = write_s;
  const auto counts = fmt::format(
      R"("steps": {}, "complete": {}, "dropped": {}, "thinned": {}, "lowered": {}, "spilled": {}, "failed": {})",
      mine.steps, mine.complete, mine.dropped, mine.thinned, mine.lowered, mine.spilled,
      mine.failed);
  const auto times = fmt::format(
      R"("stall_s": {}, "agree_s": {}, "copy_s": {}, "room_s": {}, "end_s": {}, "write_s": {}, "hidden_fraction": {})",
      number(call_s), number(agree_s), number(copy_s), number(room_s), number(end_s),
      number(write_s), number(total.hidden_fraction()));
  return fmt::format(
      R"({{"description": {}, {}, "run_s": {}, {}, "written_bytes": {}, "slowest_s": {}, "slowest_step": {}}})",
      json_quoted(summary.servers), counts, number(run_s), times, mine.written_bytes,
      number(slowest_s), mine.slowest_step);
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

OutputStatistics total_statistics(MPI_Comm comm, const OutputStatistics& mine) {
  std::array<double, 4> largest{mine.call_s, mine.stall_s, mine.write_s,
                                static_cast<double>(mine.files)};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, largest.data(), 4, MPI_DOUBLE, MPI_MAX, comm));
  long long bytes = mine.bytes;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_LONG_LONG, MPI_SUM, comm));
  OutputStatistics total;
  total.call_s = largest[0];
  total.stall_s = largest[1];
  total.write_s = largest[2];
  total.files = static_cast<std::ptrdiff_t>(largest[3]);
  total.bytes = bytes;
  return total;
}

double hidden_fraction(const OutputStatistics& total) {
  const double cost_s = total.call_s - total.stall_s + total.write_s;
  if (cost_s <= 0) return 1;
  return std::clamp(1 - total.call_s / cost_s, 0.0, 1.0);
}

void write_summary(const Comm& comm, const std::string& folder, const Summary& summary) {
  const OutputStatistics total = total_statistics(comm.raw(), summary.output);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::array<long long, 3> largest{summary.memory_bytes, usage.ru_maxrss * 1024LL,
                                   summary.field_bytes};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, largest.data(), 3, MPI_LONG_LONG, MPI_MAX, comm.raw()));
  const bool none = summary.output_mode == "none";
  const double hidden = summary.output_mode == "synchronous" ? 0.0 : hidden_fraction(total);
  const std::string servers = servers_entry(comm.raw(), summary);
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
  text += line("servers", servers);
  text += line("hidden_fraction", none ? "null" : number(hidden));
  text += line("stall_s", number(total.stall_s)) + line("times_s", times_of_modes(summary));
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
