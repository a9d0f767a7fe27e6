// SPDX-License-Identifier: BSD-3-Clause
#include "limited_advection.hpp"

#include <algorithm>
#include <cmath>

namespace tailrace::groundwater {

namespace {

/// A difference of this part of the values is round-off of the linear solves.
constexpr double negligible = 1e-10;
/// What is left of the range, so that round-off makes no species less than nothing.
constexpr double within = 1 - 1e-12;

}  // namespace

LimitedAdvection::LimitedAdvection(const FlowEquations& flow, std::size_t num_species)
    : flow_(&flow),
      num_species_(num_species),
      num_own_(at(flow.grid().num_own())),
      num_wide_(at(flow.grid().num_wide())),
      halo_(flow.grid(), static_cast<int>(num_species)),
      before_(num_species * num_wide_),
      after_(before_.size()),
      gain_(num_species * num_own_),
      loss_(gain_.size()),
      all_gain_(before_.size()),
      all_loss_(before_.size()) {
  const auto& grid = flow.grid();
  for (std::ptrdiff_t own = 0; own < grid.num_own(); ++own) {
    const Cell cell = grid.own_cell(own);
    wide_of_.push_back(at(grid.wide_index(cell)));
    for (int axis = 0; axis < 3; ++axis) {
      Cell low = cell, high = cell;
      --low[at(axis)];
      ++high[at(axis)];
      // A wall between two own cells is that of the lower one.
      const auto d = at(axis);
      if (cell[d] == grid.own().start[d] && grid.inside(low)) add_wall(low, cell, axis);
      if (grid.inside(high)) add_wall(cell, high, axis);
    }
  }
  fluxes_.resize(num_species * walls_.size());
}

void LimitedAdvection::add_wall(const Cell& low, const Cell& high, int axis) {
  const auto& grid = flow_->grid();
  const auto& box = grid.own();
  const auto own_index = [&](const Cell& cell) -> std::ptrdiff_t {
    for (std::size_t d = 0; d < 3; ++d) {
      if (cell[d] < box.start[d] || cell[d] >= box.start[d] + box.extents[d]) return -1;
    }
    return ((cell[0] - box.start[0]) * box.extents[1] + cell[1] - box.start[1]) * box.extents[2] +
           cell[2] - box.start[2];
  };
  const double below = grid.axis(axis).width(low[at(axis)]);
  const double above = grid.axis(axis).width(high[at(axis)]);
  Wall wall;
  wall.low = at(grid.wide_index(low));
  wall.high = at(grid.wide_index(high));
  wall.own_low = own_index(low);
  wall.own_high = own_index(high);
  wall.axis = axis;
  wall.low_part = below / (below + above);
  wall.high_part = above / (below + above);
  wall.low_volume = grid.volume(low);
  wall.high_volume = grid.volume(high);
  walls_.push_back(wall);
}

void LimitedAdvection::correct(double dt, std::span<const double> new_water,
                               std::span<const double> before, std::span<double> totals) {
  halo_.fill(before, before_);
  halo_.fill(totals, after_);
  find_fluxes(dt);
  find_ratios(new_water);
  halo_.fill(gain_, all_gain_);
  halo_.fill(loss_, all_loss_);
  apply(new_water, totals);
}

/// The concentration that is to pass a wall, less that of the upwind step.
double LimitedAdvection::aim(const Wall& wall, double dt, double rate,
                             std::span<const double> before, std::span<const double> after) const {
  const bool up = rate >= 0;
  const auto from = up ? wall.low : wall.high, to = up ? wall.high : wall.low;
  const double part = up ? wall.low_part : wall.high_part;
  const double water =
      flow_->content(static_cast<std::ptrdiff_t>(from)) * (up ? wall.low_volume : wall.high_volume);
  const double passed = std::abs(rate) * dt / water;  // of the upstream cell
  const double face = passed <= 1 ? before[from] + (before[to] - before[from]) * part * (1 - passed)
                                  : after[from] + (after[to] - after[from]) * part;
  const double beyond = face - after[from];
  const double size = std::max({std::abs(after[from]), std::abs(after[to]), std::abs(face)});
  // Only what steepens the upwind step is taken: the rest would make ripples.
  const bool steepens = beyond * (after[to] - after[from]) > 0;
  return steepens && std::abs(beyond) > negligible * size ? beyond : 0;
}

void LimitedAdvection::find_fluxes(double dt) {
  const auto rates = flow_->wall_rates();
  for (std::size_t w = 0; w < walls_.size(); ++w) {
    const auto& wall = walls_[w];
    const auto side = at(2 * wall.axis);
    const double rate =
        wall.own_low >= 0 ? rates[at(wall.own_low)][side + 1] : rates[at(wall.own_high)][side];
    for (std::size_t s = 0; s < num_species_; ++s) {
      const auto before = std::span(before_).subspan(s * num_wide_, num_wide_);
      const auto after = std::span(after_).subspan(s * num_wide_, num_wide_);
      fluxes_[s * walls_.size() + w] = dt * rate * aim(wall, dt, rate, before, after);
    }
  }
}

/// Which part of all that would enter (or leave) a cell keeps it in its range.
void LimitedAdvection::find_ratios(std::span<const double> new_water) {
  std::vector<double> most(num_own_), least(num_own_), in(num_own_), out(num_own_);
  for (std::size_t s = 0; s < num_species_; ++s) {
    const auto before = std::span(before_).subspan(s * num_wide_, num_wide_);
    const auto after = std::span(after_).subspan(s * num_wide_, num_wide_);
    for (std::size_t i = 0; i < num_own_; ++i) {
      most[i] = std::max(before[wide_of_[i]], after[wide_of_[i]]);
      least[i] = std::min(before[wide_of_[i]], after[wide_of_[i]]);
      in[i] = out[i] = 0;
    }
    for (std::size_t w = 0; w < walls_.size(); ++w) {
      const auto& wall = walls_[w];
      const double flux = fluxes_[s * walls_.size() + w];
      const auto note = [&](std::ptrdiff_t own, std::size_t other, double gained) {
        if (own < 0) return;
        most[at(own)] = std::max({most[at(own)], before[other], after[other]});
        least[at(own)] = std::min({least[at(own)], before[other], after[other]});
        (gained > 0 ? in : out)[at(own)] += std::abs(gained);
      };
      note(wall.own_low, wall.high, -flux);
      note(wall.own_high, wall.low, flux);
    }
    for (std::size_t i = 0; i < num_own_; ++i) {
      const double now = after[wide_of_[i]];
      const double room = within * new_water[i] * (most[i] - now);
      const double stock = within * new_water[i] * (now - least[i]);
      gain_[s * num_own_ + i] = in[i] > room ? room / in[i] : 1;
      loss_[s * num_own_ + i] = out[i] > stock ? stock / out[i] : 1;
    }
  }
}

void LimitedAdvection::apply(std::span<const double> new_water, std::span<double> totals) const {
  for (std::size_t w = 0; w < walls_.size(); ++w) {
    const auto& wall = walls_[w];
    double part = 1;
    for (std::size_t s = 0; s < num_species_; ++s) {
      const double flux = fluxes_[s * walls_.size() + w];
      if (flux == 0) continue;
      const auto to = s * num_wide_ + (flux > 0 ? wall.high : wall.low);
      const auto from = s * num_wide_ + (flux > 0 ? wall.low : wall.high);
      part = std::min({part, all_gain_[to], all_loss_[from]});
    }
    for (std::size_t s = 0; s < num_species_; ++s) {
      const double moved = part * fluxes_[s * walls_.size() + w];
      auto of_species = totals.subspan(s * num_own_, num_own_);
      if (wall.own_low >= 0) of_species[at(wall.own_low)] -= moved / new_water[at(wall.own_low)];
      if (wall.own_high >= 0) of_species[at(wall.own_high)] += moved / new_water[at(wall.own_high)];
    }
  }
}

}  // namespace tailrace::groundwater
