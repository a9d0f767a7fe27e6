// SPDX-License-Identifier: BSD-3-Clause
#include "summary.hpp"

#include <cmath>

#include <fmt/format.h>

#include "common/summary_text.hpp"
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
        fmt::format("warning: {:.2g} of what was ionised is beyond {:.4g} a.u., the "
                    "last tenth of the box; take more grid.points",
                    at_end, 0.9 * box));
  }
  const double at_largest =
      (summary.last.edge_l - summary.first.edge_l * summary.last.ground) / yield;
  if (values.atom.lmax > 0 && at_largest > much_at_largest_l) {
    warnings.push_back(
        fmt::format("warning: {:.2g} of what left the ground state has an electron "
                    "with l = {}, the largest; take a larger atom.lmax",
                    at_largest, values.atom.lmax));
  }
  return warnings;
}

std::string text_of(const Ionisation& ionisation) {
  return fmt::format(R"({{"both": {}, "one_or_excited": {}}})", app::json_number(ionisation.both),
                     app::json_number(ionisation.one));
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
  const auto whole = [](auto number) { return fmt::format("{}", number); };
  app::SummaryText text;
  text.add_program(program_name);
  text.add_text("case", values.about.name);
  text.add_text("case_file", values.source);
  text.add("points", whole(values.grid.points));
  text.add("channels", whole(summary.hamiltonian.channels().size()));
  text.add_text("gauge", values.pulse.gauge);
  text.add("ranks", whole(comm.num_ranks()));
  text.add_number("busiest_over_mean", summary.hamiltonian.blocks().imbalance());
  text.add_text("kernel", std::string(summary.hamiltonian.kernel()));
  text.add_text("method", std::string(summary.hamiltonian.blocks().method()));
  text.add_number("ground_energy", summary.ground.energy);
  text.add_number("ground_residual", summary.ground.residual);
  text.add_number("ground_s", summary.ground_s);
  text.add("steps", whole(summary.steps));
  text.add_number("time", summary.time);
  text.add_number("norm", summary.last.norm);
  text.add_number("ground_population", summary.last.ground);
  text.add_number("left_ground", left_ground(summary));
  text.add("ionisation", text_of(summary.ionisation));
  text.add_number("single_outside", summary.last.single_outside);
  text.add_number("double_outside", summary.last.double_outside);
  text.add_number("cross_section_mb", cross_section_of(summary));
  text.add_number("edge_l", summary.last.edge_l);
  text.add_number("edge_total_l", summary.last.edge_total_l);
  text.add_number("edge_r", summary.last.edge_r);
  text.add("applications", whole(summary.applications));
  text.add("largest_order", whole(summary.most_order));
  text.add_number("largest_error", summary.worst_error);
  text.add_number("wall_s", summary.wall_s);
  text.add("seconds_per_step", app::json_step_times(summary.step_s));
  text.add("output", app::json_output(summary.output_mode, summary.servers, density));
  text.add("electrons", app::json_output(summary.output_mode, summary.servers, electrons));
  text.add("checkpoints", app::json_output(summary.output_mode, summary.servers, checkpoints));
  text.add("times_s", app::json_times_of_modes(summary.output_mode, summary.wall_s));
  text.add_text("last_checkpoint", summary.last_checkpoint);
  text.add_text("stopped_by", summary.stopped_by);
  text.write(comm, folder);
}

}  // namespace tailrace::helium
