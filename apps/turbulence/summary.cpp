// SPDX-License-Identifier: BSD-3-Clause
#include "summary.hpp"

#include <sys/resource.h>

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/summary_text.hpp"
#include "core/json_text.hpp"
#include "run.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::turbulence {

namespace {

std::string json_costs(const fft::PassCosts& costs) {
  const auto pass = [](double memory_s, double kernel_s) {
    return fmt::format(R"({{"memory_s": {:.4g}, "kernel_s": {:.4g}}})", memory_s, kernel_s);
  };
  return fmt::format(R"({{"physical pass": {}, "spectral pass": {}}})",
                     pass(costs.physical_memory_s, costs.physical_kernel_s),
                     pass(costs.spectral_memory_s, costs.spectral_kernel_s));
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
  app::SummaryText text;
  text.add_program(program_name);
  text.add_text("case", summary.case_name);
  text.add_text("case_file", summary.case_file);
  text.add("grid", fmt::format("[{}]", fmt::join(summary.extents, ", ")));
  text.add_text("precision", summary.precision);
  text.add_text("scheme", summary.scheme);
  text.add_text("dealias", summary.dealias);
  text.add("ranks", fmt::format("{}", comm.num_ranks()));
  text.add("rank_grid", fmt::format("[{}]", fmt::join(summary.grid, ", ")));
  text.add_text("rank_grid_why", summary.grid_why);
  text.add("threads", fmt::format("{}", summary.threads));
  text.add("fft", fmt::format(R"({{"kernel": {}, "method": {}}})", json_quoted(summary.kernel),
                              json_quoted(summary.method)));
  text.add("steps", fmt::format("{}", summary.steps));
  text.add_number("time", summary.time);
  text.add_number("wall_s", summary.wall_s);
  text.add("seconds_per_step", app::json_step_times(summary.step_s));
  if (summary.costs) text.add("pass_costs", json_costs(*summary.costs));
  text.add("output", app::json_output(summary.output_mode, summary.servers, total));
  text.add_number("hidden_fraction", none ? NAN : total.hidden_fraction());
  text.add_number("stall_s", total.stall_s());
  text.add("times_s", app::json_times_of_modes(summary.output_mode, summary.wall_s));
  text.add("memory_bytes_per_rank_max", fmt::format("{}", largest[0]));
  text.add("resident_bytes_per_rank_max", fmt::format("{}", largest[1]));
  text.add_number("fields_in_memory",
                  static_cast<double>(largest[0]) / static_cast<double>(largest[2]));
  text.add_text("last_checkpoint", summary.last_checkpoint);
  text.add_text("stopped_by", summary.stopped_by);
  text.write(comm, folder);
}

}  // namespace tailrace::turbulence
