// SPDX-License-Identifier: BSD-3-Clause
#include "coupled.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/region.hpp"
#include "small_solve.hpp"

namespace tailrace::groundwater {

namespace {

std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

/// Of the balance of each species, relative to all that is in the cells and their walls.
constexpr double tolerance = 1e-12;
/// Newton steps are solved no better than that, and no worse.
constexpr double linear_tolerance = 1e-4;
constexpr int max_iterations = 40;

/// Of the triangle of cell `c` of `width` into a full row-major matrix.
void unpack(const double* triangle, std::size_t width, std::size_t c, std::size_t n, double* full) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      full[i * n + j] = full[j * n + i] = triangle[(i * (i + 1) / 2 + j) * width + c];
    }
  }
}

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
      total_slopes_(n_ * n_ * count_),
      gain_slopes_(n_ * n_ * count_),
      next_strength_(count_),
      residual_(n_ * count_),
      change_(n_ * count_),
      blocks_(n_ * n_ * flow.graph().columns.size()) {}

/// Totals, gains and their derivatives at `states`.
void CoupledSolver::evaluate(CellStates& states) {
  const std::size_t width = reactions_->kernel().width;
  last_strength_ = states.strength;
  for (std::size_t first = 0; first < count_; first += width) {
    const auto cells = reactions_->balance(first, states);
    for (std::size_t c = 0; c < std::min(width, count_ - first); ++c) {
      const std::size_t i = first + c;
      for (std::size_t s = 0; s < n_; ++s) {
        totals_[s * count_ + i] = cells.totals[s * width + c];
        gains_[s * count_ + i] = cells.gains[s * width + c];
      }
      unpack(cells.total_slopes, width, c, n_, &total_slopes_[i * n_ * n_]);
      unpack(cells.gain_slopes, width, c, n_, &gain_slopes_[i * n_ * n_]);
    }
  }
  std::swap(next_strength_, states.strength);
  states.strength = last_strength_;
}

/// Whether the balance of every species holds. Collective.
bool CoupledSolver::find_residual() {
  const auto& graph = flow_->graph();
  const auto& grid = flow_->grid();
  const auto values = transport_->values();
  const std::size_t num_wide = at(grid.num_wide());
  halo_.fill(totals_, wide_totals_);
  std::vector<double> sums(2 * n_);
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
      sums[n_ + s] += diagonal * total_slopes_[(i * n_ + s) * n_ + s];
    }
  }
  sums_->allreduce(std::span(sums));
  bool good = true;
  for (std::size_t s = 0; s < n_; ++s) good = good && sums[s] <= tolerance * sums[n_ + s];
  return good;
}

/// Blocks of A + c dG/du (dT/du)^-1; what is beside the diagonal is a number.
void CoupledSolver::set_matrix() {
  const auto& graph = flow_->graph();
  const auto values = transport_->values();
  const std::size_t size = n_ * n_;
  std::vector<double> slopes(size), columns;
  std::vector<std::size_t> rows;  // of dG/du that are not 0: few, and the same in all cells mostly
  for (std::size_t i = 0; i < count_; ++i) {
    for (auto e = graph.row_starts[i]; e < graph.row_starts[i + 1]; ++e) {
      for (std::size_t s = 0; s < n_; ++s) blocks_[at(e) * size + s * n_ + s] = values[at(e)];
    }
    rows.clear();
    for (std::size_t s = 0; s < n_; ++s) {
      const double* const row = &gain_slopes_[i * size + s * n_];
      if (std::any_of(row, row + n_, [](double slope) { return slope != 0; })) rows.push_back(s);
    }
    columns.resize(n_ * rows.size());
    for (std::size_t k = 0; k < n_; ++k) {
      for (std::size_t r = 0; r < rows.size(); ++r) {
        columns[k * rows.size() + r] = gain_slopes_[i * size + rows[r] * n_ + k];
      }
    }
    std::copy_n(&total_slopes_[i * size], size, slopes.begin());  // symmetric
    if (!rows.empty() && !solve_small(slopes, columns, rows.size())) {
      std::fill(columns.begin(), columns.end(), NAN);
    }
    double* const block = &blocks_[at(graph.diagonal[i]) * size];
    std::fill_n(block, size, 0.0);
    for (std::size_t s = 0; s < n_; ++s) block[s * n_ + s] = values[at(graph.diagonal[i])];
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t k = 0; k < n_; ++k) {
        block[rows[r] * n_ + k] += weights_[i] * columns[k * rows.size() + r];
      }
    }
  }
}

/// The change of totals as one of ln of free molalities; its largest. Local.
double CoupledSolver::take_change(CellStates& states) {
  double largest = 0;
  std::vector<double> slopes(n_ * n_);
  for (std::size_t i = 0; i < count_; ++i) {
    std::copy_n(&total_slopes_[i * n_ * n_], n_ * n_, slopes.begin());
    const auto change = std::span(change_).subspan(i * n_, n_);
    if (!solve_small(slopes, change)) return INFINITY;
    for (std::size_t s = 0; s < n_; ++s) {
      if (!std::isfinite(change[s])) return INFINITY;
      largest = std::max(largest, std::abs(change[s]));
      states.log_free[s * count_ + i] += std::clamp(change[s], -2.0, 2.0);
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
    evaluate(states);
    if (find_residual() && iteration > 0) {
      reactions_->settle(contents, totals, states);
      transport_->set_inflows(incoming, totals);
      return true;
    }
    ++iterations_;
    set_matrix();
    if (linear_ == nullptr) {
      linear_ = make_linear_solver(*case_, flow_->grid(), flow_->graph(), static_cast<int>(n_),
                                   blocks_, std::min(case_->linear.tolerance, linear_tolerance));
    } else {
      linear_->set_values(blocks_);
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
  why = fmt::format("transport and reactions have not converged in {} iterations", max_iterations);
  return false;
}

}  // namespace tailrace::groundwater
