// SPDX-License-Identifier: BSD-3-Clause
#include "run_summary.hpp"

#include <sys/resource.h>

#include <cmath>

#include "common/summary_json.hpp"
#include "run.hpp"

namespace tailrace::groundwater {

namespace {

app::Json json_species(const std::optional<SpeciesCounts>& counts) {
  if (!counts) return {};
  return {{"kernel", counts->kernel},
          {"failed_steps", counts->failed_steps},
          {"newton", counts->newton},
          {"linear", counts->linear}};
}

/// How the file of cells was read; null without one.
app::Json json_input(const RunSummary& summary, int num_ranks) {
  const int group = summary.cell_group_size;
  if (group == 0) return {};
  const auto& counts = summary.cell_counts;
  return {{"pattern", summary.cell_pattern},
          {"group_size", group},
          {"readers", (num_ranks + group - 1) / group},
          {"opens", counts.opens},
          {"reads", counts.reads},
          {"bytes_read", counts.bytes_read},
          {"io_s", counts.io_s},
          {"move_s", counts.move_s},
          {"read_s", summary.cell_read_s}};
}

app::Json json_terms(const std::vector<FlowTerm>& terms) {
  auto json = app::Json::object();
  for (const auto& term : terms) json[term.name] = term.rate;
  return json;
}

/// A row for each kind and size, with the longest time of all ranks. Collective, blocking.
app::Json json_reductions(const Comm& comm, const std::vector<ReductionCount>& rows) {
  std::vector<double> times;
  for (const auto& row : rows) times.push_back(row.time_s);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, times.data(), static_cast<int>(times.size()), MPI_DOUBLE,
                          MPI_MAX, comm.raw()));
  auto json = app::Json::array();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    json.push_back({{"kind", name(rows[r].kind)},
                    {"max_bytes", rows[r].max_bytes},
                    {"count", rows[r].count},
                    {"time_s", times[r]}});
  }
  return json;
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
  app::Json json = app::new_summary(program_name);
  json["case"] = app::text_or_null(summary.case_name);
  json["case_file"] = app::text_or_null(summary.case_file);
  json["grid"] = summary.extents;
  json["ranks"] = comm.num_ranks();
  json["rank_grid"] = summary.ranks;
  json["steps"] = summary.steps;
  json["time"] = summary.time;
  json["wall_s"] = summary.wall_s;
  json["seconds_per_step"] = app::step_times(summary.step_s);
  json["linear_solver"] = app::text_or_null(summary.solver);
  json["solver"] = {{"steps", counts.steps},
                    {"failed_steps", counts.failed_steps},
                    {"newton", counts.iterations},
                    {"linear", counts.linear_iterations}};
  json["species"] = json_species(summary.species);
  json["reductions"] = {{"norms_and_balances", counts.own_reductions},
                        {"linear_solver", counts.krylov_reductions},
                        {"by_size", json_reductions(comm, summary.reductions)}};
  json["input"] = json_input(summary, comm.num_ranks());
  json["rates_m3_per_s"] = json_terms(summary.rates);
  json["ponding_m"] = json_terms(summary.ponding);
  json["worst_relative_balance"] = summary.worst_balance;
  json["worst_relative_species_balance"] = summary.worst_species_balance;
  json["output"] = app::output_costs(summary.output_mode, summary.servers, total);
  json["output_cost"] = app::json_of_cost(summary.output_cost, total.writer_cpu_s);
  json["hidden_fraction"] = none ? NAN : total.hidden_fraction();
  json["stall_s"] = total.stall_s();
  json["times_s"] = app::times_of_modes(summary.output_mode, summary.wall_s);
  json["resident_bytes_per_rank_max"] = resident;
  json["last_checkpoint"] = app::text_or_null(summary.last_checkpoint);
  json["stopped_by"] = app::text_or_null(summary.stopped_by);
  app::write_summary_file(comm, folder, json);
}

}  // namespace tailrace::groundwater
