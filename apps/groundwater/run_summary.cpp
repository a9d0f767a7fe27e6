// SPDX-License-Identifier: BSD-3-Clause
#include "run_summary.hpp"

#include <sys/resource.h>

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/summary_text.hpp"
#include "core/json_text.hpp"
#include "run.hpp"

namespace tailrace::groundwater {

namespace {

std::string json_species(const std::optional<SpeciesCounts>& counts) {
  if (!counts) return "null";
  return fmt::format(R"({{"kernel": {}, "failed_steps": {}, "newton": {}, "linear": {}}})",
                     json_quoted(counts->kernel), counts->failed_steps, counts->newton,
                     counts->linear);
}

/// How the file of cells was read; null without one.
std::string json_input(const RunSummary& summary, int num_ranks) {
  const int group = summary.cell_group_size;
  if (group == 0) return "null";
  const auto& counts = summary.cell_counts;
  return fmt::format(R"({{"pattern": {}, "group_size": {}, "readers": {}, "opens": {}, )"
                     R"("reads": {}, "bytes_read": {}, "io_s": {}, "move_s": {}, "read_s": {}}})",
                     json_quoted(summary.cell_pattern), group, (num_ranks + group - 1) / group,
                     counts.opens, counts.reads, counts.bytes_read, app::json_number(counts.io_s),
                     app::json_number(counts.move_s), app::json_number(summary.cell_read_s));
}

std::string json_terms(const std::vector<FlowTerm>& terms) {
  std::vector<std::string> out;
  for (const auto& term : terms) {
    out.push_back(fmt::format("{}: {}", json_quoted(term.name), app::json_number(term.rate)));
  }
  return fmt::format("{{{}}}", fmt::join(out, ", "));
}

/// A row for each kind and size, with the longest time of all ranks. Collective, blocking.
std::string json_reductions(const Comm& comm, std::vector<ReductionCount> rows) {
  std::vector<double> times;
  for (const auto& row : rows) times.push_back(row.time_s);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, times.data(), static_cast<int>(times.size()), MPI_DOUBLE,
                          MPI_MAX, comm.raw()));
  std::vector<std::string> out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out.push_back(fmt::format(R"({{"kind": "{}", "max_bytes": {}, "count": {}, "time_s": {}}})",
                              name(rows[r].kind), rows[r].max_bytes, rows[r].count,
                              app::json_number(times[r])));
  }
  return fmt::format("[{}]", fmt::join(out, ", "));
}

}  // namespace

void write_summary(const Comm& comm, const std::string& folder, const RunSummary& summary) {
  const OutputStatistics total = summary.output.over_ranks(comm);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  long long resident = usage.ru_maxrss * 1024LL;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &resident, 1, MPI_LONG_LONG, MPI_MAX, comm.raw()));
  const bool none = summary.output_mode == "none";
  const auto& counts = summary.counts;
  app::SummaryText text;
  text.add_program(program_name);
  text.add_text("case", summary.case_name);
  text.add_text("case_file", summary.case_file);
  text.add("grid", fmt::format("[{}]", fmt::join(summary.extents, ", ")));
  text.add("ranks", fmt::format("{}", comm.num_ranks()));
  text.add("rank_grid", fmt::format("[{}]", fmt::join(summary.ranks, ", ")));
  text.add("steps", fmt::format("{}", summary.steps));
  text.add_number("time", summary.time);
  text.add_number("wall_s", summary.wall_s);
  text.add("seconds_per_step", app::json_step_times(summary.step_s));
  text.add_text("linear_solver", summary.solver);
  text.add("solver", fmt::format(R"({{"steps": {}, "failed_steps": {}, "newton": {}, )"
                                 R"("linear": {}}})",
                                 counts.steps, counts.failed_steps, counts.iterations,
                                 counts.linear_iterations));
  text.add("species", json_species(summary.species));
  text.add("reductions", fmt::format(R"({{"norms_and_balances": {}, "linear_solver": {}, )"
                                     R"("by_size": {}}})",
                                     counts.own_reductions, counts.krylov_reductions,
                                     json_reductions(comm, summary.reductions)));
  text.add("input", json_input(summary, comm.num_ranks()));
  text.add("rates_m3_per_s", json_terms(summary.rates));
  text.add("ponding_m", json_terms(summary.ponding));
  text.add_number("worst_relative_balance", summary.worst_balance);
  text.add_number("worst_relative_species_balance", summary.worst_species_balance);
  text.add("output", app::json_output(summary.output_mode, summary.servers, total));
  text.add_number("hidden_fraction", none ? NAN : total.hidden_fraction());
  text.add_number("stall_s", total.stall_s());
  text.add("times_s", app::json_times_of_modes(summary.output_mode, summary.wall_s));
  text.add("resident_bytes_per_rank_max", fmt::format("{}", resident));
  text.add_text("last_checkpoint", summary.last_checkpoint);
  text.add_text("stopped_by", summary.stopped_by);
  text.write(comm, folder);
}

}  // namespace tailrace::groundwater
