// SPDX-License-Identifier: BSD-3-Clause
#include "case.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/refuse_input.hpp"

namespace tailrace::helium {

namespace {

constexpr double coarsest = 0.8;  ///< radial step in units of the 1s state

void require_colours(const Case& values) {
  const auto& p = values.pulse;
  const auto colours = p.photon_energy.size();
  struct {
    const char* name;
    std::size_t size;
    bool optional;
  } const lists[] = {{"intensity", p.intensity.size(), false},
                     {"cycles", p.cycles.size(), false},
                     {"start", p.start.size(), true},
                     {"phase", p.phase.size(), true},
                     {"chirp", p.chirp.size(), true}};
  if (colours == 0)
    app::refuse_input("{}: `pulse.photon_energy` contains no colour", values.source);
  for (const auto& list : lists) {
    if (list.size == colours || (list.optional && list.size == 0)) continue;
    app::refuse_input(
        "{}: `pulse.{}` has {} numbers, `pulse.photon_energy` has {}: give one for "
        "each colour",
        values.source, list.name, list.size, colours);
  }
}

void require_sense(const Case& values) {
  const auto& atom = values.atom;
  if (atom.total_lmax > 2 * atom.lmax) {
    app::refuse_input(
        "{}: `atom.total_lmax` = {} is more than two electrons with `atom.lmax` = {} can have; "
        "give at most {}, or a larger lmax",
        values.source, atom.total_lmax, atom.lmax, 2 * atom.lmax);
  }
  if (values.grid.step * atom.charge > coarsest) {
    app::refuse_input(
        "{}: `grid.step` = {} is too coarse for a nucleus of charge {}: give at most "
        "{:.3g}; 0.25 is usual for helium",
        values.source, values.grid.step, atom.charge, coarsest / atom.charge);
  }
  const double box = values.grid.step * static_cast<double>(values.grid.points);
  if (values.grid.absorber >= box) {
    app::refuse_input(
        "{}: `grid.absorber` = {} is beyond the box, which ends at {}; give a "
        "smaller radius, or 0 for none",
        values.source, values.grid.absorber, box);
  }
  if (values.observables.radius >= box) {
    app::refuse_input("{}: `observables.radius` = {} is beyond the box, which ends at {:.6g}",
                      values.source, values.observables.radius, box);
  }
}

double at_or_0(const std::vector<double>& list, std::size_t i) {
  return list.empty() ? 0 : list[i];
}

}  // namespace

void complete(Case& values) {
  require_colours(values);
  require_sense(values);
}

std::vector<std::string> field_names(const Case& /*values*/) { return {"density"}; }

AtomOptions atom_options(const Case& values) {
  AtomOptions options;
  options.num_points = values.grid.points;
  options.step = values.grid.step;
  options.charge = values.atom.charge;
  options.lmax = static_cast<int>(values.atom.lmax);
  options.big_lmax = static_cast<int>(values.atom.total_lmax);
  options.triplet = values.atom.symmetry == "triplet";
  options.repulsion = values.atom.repulsion;
  return options;
}

Pulse pulse_of(const Case& values) {
  const auto& p = values.pulse;
  std::vector<Colour> colours;
  for (std::size_t i = 0; i < p.photon_energy.size(); ++i) {
    colours.push_back({p.photon_energy[i] / hartree_ev, std::sqrt(p.intensity[i] / intensity_w_cm2),
                       p.cycles[i], at_or_0(p.start, i), at_or_0(p.phase, i), at_or_0(p.chirp, i),
                       p.envelope == "gaussian"});
  }
  return Pulse(std::move(colours));
}

Steps steps_of(const Case& values) {
  const double whole = pulse_of(values).end() + values.time.after;
  const double count = std::ceil(whole / values.time.step * (1 - 1e-12));
  return {static_cast<std::int64_t>(count), whole / count};
}

std::string warning_of(const Case& values) {
  if (values.grid.absorber > 0) return "";
  constexpr double ionisation_energy = 0.9036;
  const auto pulse = pulse_of(values);
  const double end = pulse.end() + values.time.after;
  const double box = values.grid.step * static_cast<double>(values.grid.points);
  double farthest = 0, speed = 0;
  for (const auto& colour : pulse.colours()) {
    const double energy = colour.frequency - ionisation_energy;
    if (energy <= 0 || colour.field == 0) continue;
    // From the middle of the pulse on.
    const double here = std::sqrt(2 * energy);
    const double way = here * (end - colour.start - colour.duration() / 2);
    if (way > farthest) {
      farthest = way;
      speed = here;
    }
  }
  if (farthest <= box) return "";
  return fmt::format(
      "the box is small: electrons with a speed of {:.3g} a.u. that leave in the middle of the "
      "pulse reach {:.3g} a.u., but the box ends at {:.3g} and reflects them; use more "
      "grid.points, or grid.absorber",
      speed, farthest, box);
}

}  // namespace tailrace::helium
