// SPDX-License-Identifier: BSD-3-Clause
#include "summary.hpp"

#include <cmath>

#include <fmt/format.h>

#include "common/summary_json.hpp"
#include "run.hpp"

namespace tailrace::helium {

namespace {

/// Shares of what has left the ground state, beyond which a limit of the basis is told.
constexpr double much_at_edge = 0.01, much_at_largest_l = 0.1;

double left_ground(const Summary& summary) { return 1 - summary.last.ground; }

/// Limits of box and partial waves that the run has felt.
std::vector<std::string> warnings_of(const Summary& summary) {
  std::vector<std::string> warnings;
  const auto& values = summary.values;
  const double yield = left_ground(summary);
  if (yield <= 1e-10) return warnings;
  const double at_end = summary.last.edge_r / yield;
  if (at_end > much_at_edge && values.grid.absorber <= 0) {
    const double box = values.grid.step * static_cast<double>(values.grid.points);
    warnings.push_back(
        fmt::format("warning: {:.2g} of the ionised population is beyond {:.4g} a.u., in the "
                    "last tenth of the box; use more grid.points",
                    at_end, 0.9 * box));
  }
  const double at_largest =
      (summary.last.edge_l - summary.first.edge_l * summary.last.ground) / yield;
  if (values.atom.lmax > 0 && at_largest > much_at_largest_l) {
    warnings.push_back(
        fmt::format("warning: {:.2g} of the population outside the ground state has an "
                    "electron with l = {}, the largest; use a larger atom.lmax",
                    at_largest, values.atom.lmax));
  }
  return warnings;
}

}  // namespace

double cross_section_of(const Summary& summary) {
  const auto& colours = summary.pulse.colours();
  const bool one = colours.size() == 1 && !colours[0].gaussian && colours[0].chirp == 0;
  if (!summary.whole || !one || colours[0].field == 0) return NAN;
  return cross_section(left_ground(summary), colours[0]);
}

std::vector<std::string> lines_of(const Summary& summary) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("left the ground state: {:.6e}; both electrons free: {:.3e}",
                              left_ground(summary), summary.ionisation.both));
  const double sigma = cross_section_of(summary);
  const double energy = summary.pulse.colours()[0].frequency * hartree_ev;
  if (std::isfinite(sigma) && energy > 24.59) {
    lines.push_back(
        fmt::format("one-photon cross-section at {:.2f} eV: {:.4g} Mb; fit to "
                    "measurements (Yan et al. 1998): {:.4g} Mb",
                    energy, sigma, fitted_cross_section(energy)));
  }
  for (const auto& warning : warnings_of(summary)) lines.push_back(warning);
  return lines;
}

void write_summary(const Comm& comm, const std::string& folder, const Summary& summary) {
  const auto density = summary.density.over_ranks(comm);
  const auto electrons = summary.electrons.over_ranks(comm);
  const auto checkpoints = summary.checkpoints.over_ranks(comm);
  const auto& values = summary.values;
  app::Json json = app::new_summary(program_name);
  json["case"] = app::text_or_null(values.about.name);
  json["case_file"] = app::text_or_null(values.source);
  json["points"] = values.grid.points;
  json["channels"] = summary.hamiltonian.channels().size();
  json["gauge"] = app::text_or_null(values.pulse.gauge);
  json["ranks"] = comm.num_ranks();
  json["busiest_over_mean"] = summary.hamiltonian.blocks().imbalance();
  json["kernel"] = summary.hamiltonian.kernel();
  json["method"] = summary.hamiltonian.blocks().method();
  json["ground_energy"] = summary.ground.energy;
  json["ground_residual"] = summary.ground.residual;
  json["ground_s"] = summary.ground_s;
  json["steps"] = summary.steps;
  json["time"] = summary.time;
  json["norm"] = summary.last.norm;
  json["ground_population"] = summary.last.ground;
  json["left_ground"] = left_ground(summary);
  json["ionisation"] = {{"both", summary.ionisation.both},
                        {"one_or_excited", summary.ionisation.one}};
  json["single_outside"] = summary.last.single_outside;
  json["double_outside"] = summary.last.double_outside;
  json["cross_section_mb"] = cross_section_of(summary);
  json["edge_l"] = summary.last.edge_l;
  json["edge_total_l"] = summary.last.edge_total_l;
  json["edge_r"] = summary.last.edge_r;
  json["applications"] = summary.applications;
  json["largest_order"] = summary.most_order;
  json["largest_error"] = summary.worst_error;
  json["wall_s"] = summary.wall_s;
  json["seconds_per_step"] = app::step_times(summary.step_s);
  json["output"] = app::output_costs(summary.output_mode, summary.servers, density);
  json["electrons"] = app::output_costs(summary.output_mode, summary.servers, electrons);
  json["checkpoints"] = app::output_costs(summary.output_mode, summary.servers, checkpoints);
  json["output_cost"] =
      app::json_of_cost(summary.output_cost, density.writer_cpu_s + electrons.writer_cpu_s);
  json["times_s"] = app::times_of_modes(summary.output_mode, summary.wall_s);
  json["last_checkpoint"] = app::text_or_null(summary.last_checkpoint);
  json["stopped_by"] = app::text_or_null(summary.stopped_by);
  app::write_summary_file(comm, folder, json);
}

}  // namespace tailrace::helium
