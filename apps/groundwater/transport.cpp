// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/region.hpp"

namespace tailrace::groundwater {

Transport::Transport(const Case& values, const FlowEquations& flow, std::size_t num_species,
                     Reduction& sums)
    : case_(&values),
      flow_(&flow),
      num_species_(num_species),
      sums_(&sums),
      values_(flow.graph().columns.size()),
      rights_(num_species * at(flow.grid().num_own())),
      scaled_(values_.size()),
      scales_(at(flow.grid().num_own())),
      right_(scales_.size()),
      solution_(scales_.size()),
      inflows_(num_species) {
  if (values.transport.advection == "limited") limited_.emplace(flow, num_species);
}

// Row i: water/dt c_i + sum(outflow c_i) - sum(inflow c_there) + sum(exchange (c_i - c_there)).
void Transport::set_walls(double dt, std::span<const double> new_water) {
  const auto& grid = flow_->grid();
  const auto& graph = flow_->graph();
  const auto& t = case_->transport;
  std::fill(values_.begin(), values_.end(), 0.0);
  for (std::ptrdiff_t own = 0; own < grid.num_own(); ++own) {
    const auto i = at(own);
    const Cell cell = grid.own_cell(own);
    const auto here = grid.wide_index(cell);
    double diagonal = new_water[i] / dt;
    for (int side = 0; side < 6; ++side) {
      const auto place = graph.neighbours[i][at(side)];
      if (place < 0) continue;
      const int d = side / 2;
      Cell there = cell;
      there[at(d)] += side % 2 == 0 ? -1 : 1;
      const double rate = flow_->wall_rates()[i][at(side)];
      const double out = side % 2 == 0 ? -rate : rate;
      const double area = grid.area(cell, d);
      const double distance =
          (grid.axis(d).width(cell[at(d)]) + grid.axis(d).width(there[at(d)])) / 2;
      const double content = (flow_->content(here) + flow_->content(grid.wide_index(there))) / 2;
      const double exchange =
          (content * t.diffusion * area + t.dispersivity * std::abs(rate)) / distance;
      diagonal += std::max(out, 0.0) + exchange;
      values_[at(place)] = std::min(out, 0.0) - exchange;
    }
    values_[at(graph.diagonal[i])] = diagonal;
  }
  for (const auto& p : flow_->passages()) {
    auto& diagonal = values_[at(graph.diagonal[at(p.own)])];
    diagonal += p.inflow > 0 ? 0 : -p.inflow;
  }
}

void Transport::assemble(double dt, std::span<const double> old_water,
                         std::span<const double> new_water,
                         const std::vector<std::vector<double>>& incoming,
                         std::span<const double> totals) {
  set_walls(dt, new_water);
  const auto& grid = flow_->grid();
  const auto passages = flow_->passages();
  const std::size_t count = scales_.size();
  exchanges_.clear();  // with boundaries that water comes in by
  for (const auto& p : passages) {
    const auto wide = grid.wide_index(grid.own_cell(p.own));
    const double speed = p.area > 0 ? p.inflow / p.area : 0;
    const double exchange = (flow_->content(wide) * case_->transport.diffusion +
                             case_->transport.dispersivity * speed) *
                            p.reach;
    exchanges_.push_back(p.inflow > 0 ? exchange : 0);
    values_[at(flow_->graph().diagonal[at(p.own)])] += exchanges_.back();
  }
  for (std::size_t s = 0; s < num_species_; ++s) {
    const auto right = std::span(rights_).subspan(s * count, count);
    for (std::size_t i = 0; i < count; ++i) right[i] = old_water[i] / dt * totals[s * count + i];
    for (std::size_t p = 0; p < passages.size(); ++p) {
      const double brought = std::max(passages[p].inflow, 0.0) + exchanges_[p];
      right[at(passages[p].own)] += brought * incoming[passages[p].term][s];
    }
  }
}

void Transport::set_inflows(const std::vector<std::vector<double>>& incoming,
                            std::span<const double> totals) {
  const auto passages = flow_->passages();
  for (std::size_t s = 0; s < num_species_; ++s) {
    inflows_[s] = 0;
    for (std::size_t p = 0; p < passages.size(); ++p) {
      const double c = totals[s * scales_.size() + at(passages[p].own)];
      const double outside = incoming[passages[p].term][s];
      inflows_[s] += litres * (passages[p].inflow * (passages[p].inflow > 0 ? outside : c) +
                               exchanges_[p] * (outside - c));
    }
  }
}

/// Whether a residual is as small beside the right side as round-off may leave it. Collective.
bool Transport::nearly(double residual) {
  double squares = 0;
  for (const double value : right_) squares += value * value;
  return residual <= 1e-11 * std::sqrt(sums_->allreduce(squares));
}

bool Transport::step(double dt, std::span<const double> old_water,
                     std::span<const double> new_water,
                     const std::vector<std::vector<double>>& incoming, std::span<double> totals,
                     std::string& why) {
  const app::Region region("transport");
  if (limited_) before_.assign(totals.begin(), totals.end());
  assemble(dt, old_water, new_water, incoming, totals);
  const auto& graph = flow_->graph();
  const std::size_t count = scales_.size();
  for (std::size_t i = 0; i < count; ++i) {  // to a diagonal of 1
    scales_[i] = 1 / values_[at(graph.diagonal[i])];
    for (auto e = graph.row_starts[i]; e < graph.row_starts[i + 1]; ++e) {
      scaled_[at(e)] = scales_[i] * values_[at(e)];
    }
  }
  if (linear_ == nullptr) {
    linear_ =
        make_linear_solver(*case_, flow_->grid(), graph, 0, {.couplings = scaled_, .blocks = {}},
                           {.tolerance = case_->transport.tolerance});
  } else {
    linear_->set_values({.couplings = scaled_, .blocks = {}});
  }
  for (std::size_t s = 0; s < num_species_; ++s) {
    auto of_species = totals.subspan(s * count, count);
    for (std::size_t i = 0; i < count; ++i) right_[i] = scales_[i] * rights_[s * count + i];
    std::copy(of_species.begin(), of_species.end(), solution_.begin());
    const auto result = linear_->solve(right_, solution_);
    linear_iterations_ += result.iterations;
    // A tolerance near round-off may just not be reached.
    if (!result.converged && !nearly(result.residual_norm)) {
      why = fmt::format("the transport of species {} has not converged: {}", s + 1, result.why);
      return false;
    }
    std::copy(solution_.begin(), solution_.end(), of_species.begin());
  }
  set_inflows(incoming, totals);
  if (limited_) limited_->correct(dt, new_water, before_, totals);
  return true;
}

}  // namespace tailrace::groundwater
