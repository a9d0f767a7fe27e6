// SPDX-License-Identifier: BSD-3-Clause
#include "summary.hpp"

#include <sys/resource.h>

#include <cmath>

#include "common/summary_json.hpp"
#include "run.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::turbulence {

namespace {

app::Json json_costs(const fft::PassCosts& costs) {
  return {{"physical pass",
           {{"memory_s", costs.physical_memory_s}, {"kernel_s", costs.physical_kernel_s}}},
          {"spectral pass",
           {{"memory_s", costs.spectral_memory_s}, {"kernel_s", costs.spectral_kernel_s}}}};
}

}  // namespace

void write_summary(const Comm& comm, const std::string& folder, const Summary& summary) {
  const OutputStatistics total = summary.output.over_ranks(comm);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::array<std::int64_t, 3> largest{summary.memory_bytes, usage.ru_maxrss * 1024,
                                      summary.field_bytes};
  Reduction(comm, {NumberType::int64, 3}, "mpi")
      .allreduce(std::span<std::int64_t>(largest), ReduceOp::max);
  const bool none = summary.output_mode == "none";
  app::Json json = app::new_summary(program_name);
  json["case"] = app::text_or_null(summary.case_name);
  json["case_file"] = app::text_or_null(summary.case_file);
  json["grid"] = summary.extents;
  json["precision"] = app::text_or_null(summary.precision);
  json["scheme"] = app::text_or_null(summary.scheme);
  json["dealias"] = app::text_or_null(summary.dealias);
  json["ranks"] = comm.num_ranks();
  json["rank_grid"] = summary.grid;
  json["rank_grid_why"] = app::text_or_null(summary.grid_why);
  json["threads"] = summary.threads;
  json["fft"] = {{"kernel", summary.kernel}, {"method", summary.method}};
  json["steps"] = summary.steps;
  json["time"] = summary.time;
  json["wall_s"] = summary.wall_s;
  json["seconds_per_step"] = app::step_times(summary.step_s);
  if (summary.costs) json["pass_costs"] = json_costs(*summary.costs);
  json["output"] = app::output_costs(summary.output_mode, summary.servers, total);
  json["output_cost"] = app::json_of_cost(summary.output_cost, total.writer_cpu_s);
  json["hidden_fraction"] = none ? NAN : total.hidden_fraction();
  json["stall_s"] = total.stall_s();
  json["times_s"] = app::times_of_modes(summary.output_mode, summary.wall_s);
  json["memory_bytes_per_rank_max"] = largest[0];
  json["resident_bytes_per_rank_max"] = largest[1];
  json["fields_in_memory"] = static_cast<double>(largest[0]) / static_cast<double>(largest[2]);
  json["last_checkpoint"] = app::text_or_null(summary.last_checkpoint);
  json["stopped_by"] = app::text_or_null(summary.stopped_by);
  app::write_summary_file(comm, folder, json);
}

}  // namespace tailrace::turbulence
