// SPDX-License-Identifier: BSD-3-Clause
#include "coupled.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/region.hpp"

namespace tailrace::groundwater {

namespace {

/// Of the balance of each species, relative to all that is in the cells and their walls.
constexpr double tolerance = 1e-12;
/// Newton steps are solved no better than that, and no worse.
constexpr double linear_tolerance = 1e-4;
constexpr int max_iterations = 40;

}  // namespace

CoupledSolver::CoupledSolver(const Case& values, const FlowEquations& flow, Transport& transport,
                             Reactions& reactions, Reduction& sums)
    : case_(&values),
      flow_(&flow),
      transport_(&transport),
      reactions_(&reactions),
      sums_(&sums),
      halo_(flow.grid(), static_cast<int>(reactions.tables().num_primary)),
      n_(reactions.tables().num_primary),
      count_(at(flow.grid().num_own())),
      weights_(count_),
      totals_(n_ * count_),
      wide_totals_(n_ * at(flow.grid().num_wide())),
      gains_(n_ * count_),
      own_slopes_(n_ * count_),
      factors_(reactions.tables().num_slopes() * (count_ + reactions.kernel().width)),
      next_strength_(count_),
      residual_(n_ * count_),
      change_(n_ * count_),
      blocks_(n_ * n_ * count_) {}

std::span<double> CoupledSolver::factors_of(std::size_t first) {
  const std::size_t slopes = reactions_->tables().num_slopes();
  return std::span(factors_).subspan(first * slopes, slopes * reactions_->kernel().width);
}

/// Totals, gains, and of their derivatives what a Newton step needs: factors of dT/du, and the
/// blocks c dG/du (dT/du)^-1. False if dT/du of a cell is not positive definite. Local.
bool CoupledSolver::evaluate(CellStates& states) {
  const std::size_t width = reactions_->kernel().width;
  const auto& gaining = reactions_->tables().gaining;
  bool good = true;
  last_strength_ = states.strength;
  for (std::size_t first = 0; first < count_; first += width) {
    const auto cells = reactions_->balance(first, states);
    const std::size_t num_cells = std::min(width, count_ - first);
    for (std::size_t s = 0; s < n_; ++s) {
      for (std::size_t c = 0; c < num_cells; ++c) {
        totals_[s * count_ + first + c] = cells.totals[s * width + c];
        gains_[s * count_ + first + c] = cells.gains[s * width + c];
        own_slopes_[s * count_ + first + c] = cells.total_slopes[(s * (s + 1) / 2 + s) * width + c];
      }
    }
    good = reactions_->relate(num_cells, factors_of(first)) && good;
    for (std::size_t c = 0; c < num_cells; ++c) {
      double* const block = &blocks_[(first + c) * n_ * n_];
      for (std::size_t r = 0; r < gaining.size(); ++r) {
        for (std::size_t k = 0; k < n_; ++k) {
          block[gaining[r] * n_ + k] =
              weights_[first + c] * cells.relations[(r * n_ + k) * width + c];
        }
      }
    }
  }
  std::swap(next_strength_, states.strength);
  states.strength = last_strength_;
  return good;
}

/// Lost if `good` is false on any rank. Collective.
CoupledSolver::Balance CoupledSolver::find_residual(bool good) {
  const auto& graph = flow_->graph();
  const auto& grid = flow_->grid();
  const auto values = transport_->values();
  const std::size_t num_wide = at(grid.num_wide());
  halo_.fill(totals_, wide_totals_);
  std::vector<double> sums(2 * n_ + 1);
  for (std::size_t i = 0; i < count_; ++i) {
    const Cell cell = grid.own_cell(static_cast<std::ptrdiff_t>(i));
    const double diagonal = values[at(graph.diagonal[i])];
    for (std::size_t s = 0; s < n_; ++s) {
      residual_[i * n_ + s] = transport_->rights()[s * count_ + i] -
                              diagonal * totals_[s * count_ + i] -
                              weights_[i] * gains_[s * count_ + i];
    }
    for (int side = 0; side < 6; ++side) {
      const auto place = graph.neighbours[i][at(side)];
      if (place < 0) continue;
      Cell there = cell;
      there[at(side / 2)] += side % 2 == 0 ? -1 : 1;
      const std::size_t wide = at(grid.wide_index(there));
      for (std::size_t s = 0; s < n_; ++s) {
        residual_[i * n_ + s] -= values[at(place)] * wide_totals_[s * num_wide + wide];
      }
    }
    for (std::size_t s = 0; s < n_; ++s) {
      sums[s] += std::abs(residual_[i * n_ + s]);
      sums[n_ + s] += diagonal * own_slopes_[s * count_ + i];
    }
  }
  sums[2 * n_] = good ? 0 : 1;
  sums_->allreduce(std::span(sums));
  if (sums[2 * n_] > 0) return Balance::lost;
  for (std::size_t s = 0; s < n_; ++s) {
    if (!(sums[s] <= tolerance * sums[n_ + s])) return Balance::open;
  }
  return Balance::holds;
}

/// The change of totals as one of ln of free molalities; its largest. Local.
double CoupledSolver::take_change(CellStates& states) {
  const std::size_t width = reactions_->kernel().width;
  std::vector<double> changes(n_ * width);
  double largest = 0;
  for (std::size_t first = 0; first < count_; first += width) {
    const std::size_t num_cells = std::min(width, count_ - first);
    for (std::size_t s = 0; s < n_; ++s) {
      for (std::size_t c = 0; c < num_cells; ++c) {
        changes[s * width + c] = change_[(first + c) * n_ + s];
      }
    }
    reactions_->divide(factors_of(first), changes);
    for (std::size_t s = 0; s < n_; ++s) {
      for (std::size_t c = 0; c < num_cells; ++c) {
        const double change = changes[s * width + c];
        if (!std::isfinite(change)) return INFINITY;
        largest = std::max(largest, std::abs(change));
        states.log_free[s * count_ + first + c] += std::clamp(change, -2.0, 2.0);
      }
    }
  }
  std::swap(states.strength, next_strength_);
  return largest;
}

bool CoupledSolver::step(double dt, std::span<const double> old_water,
                         std::span<const double> new_water,
                         const std::vector<std::vector<double>>& incoming, std::span<double> totals,
                         CellStates& states, std::string& why) {
  const app::Region region("transport and reactions");
  std::vector<double> contents(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    const double volume = flow_->volume(static_cast<std::ptrdiff_t>(i));
    contents[i] = new_water[i] / volume;
    weights_[i] = volume / (1000 * dt);
  }
  reactions_->set_step(dt);
  reactions_->decay(contents, totals, states);
  transport_->assemble(dt, old_water, new_water, incoming, totals);
  for (int iteration = 0; iteration < max_iterations; ++iteration) {
    const Balance balance = find_residual(evaluate(states));
    if (balance == Balance::lost) break;
    if (balance == Balance::holds && iteration > 0) {
      reactions_->settle(contents, totals, states);
      transport_->set_inflows(incoming, totals);
      return true;
    }
    ++iterations_;
    const sparse::CoupledValues matrix{.couplings = transport_->values(), .blocks = blocks_};
    if (linear_ == nullptr) {
      linear_ =
          make_linear_solver(*case_, flow_->grid(), flow_->graph(), static_cast<int>(n_), matrix,
                             {.tolerance = std::min(case_->linear.tolerance, linear_tolerance)});
    } else {
      linear_->set_values(matrix);
    }
    std::fill(change_.begin(), change_.end(), 0.0);
    const auto result = linear_->solve(residual_, change_);
    linear_iterations_ += result.iterations;
    if (!result.usable) {
      why = "the linear solver of transport and reactions ended early: " + result.why;
      return false;
    }
    if (!std::isfinite(sums_->allreduce(take_change(states), ReduceOp::max))) break;
  }
  why = fmt::format("transport and reactions did not converge in {} iterations", max_iterations);
  return false;
}

}  // namespace tailrace::groundwater
