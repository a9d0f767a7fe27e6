// SPDX-License-Identifier: BSD-3-Clause
#include "flow_solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "common/region.hpp"
#include "common/stop_signal.hpp"

namespace tailrace::groundwater {

namespace {

/// Where no step reduces the residual any more, it is round-off if it is as small as that.
constexpr double good_enough = 1e-8;

}  // namespace

FlowSolver::FlowSolver(const Case& values, FlowEquations& equations)
    : case_(values),
      equations_(equations),
      grid_(equations.grid()),
      halo_(grid_),
      reduction_(grid_.comm(), {.type = NumberType::float64, .max_items = 7}),
      wide_h_(static_cast<std::size_t>(grid_.num_wide())),
      jacobian_(equations.graph().columns.size()) {
  for (auto* array : {&old_contents_, &residual_, &change_, &trial_, &contents_}) {
    array->resize(static_cast<std::size_t>(grid_.num_own()));
  }
}

FlowSolver::Norms FlowSolver::measure(std::span<const double> h, double dt) {
  halo_.fill(h, wide_h_);
  equations_.evaluate(wide_h_, old_contents_, dt, residual_, jacobian_);
  std::array<double, 7> sums{};
  equations_.contents(h, contents_);
  for (std::size_t i = 0; i < residual_.size(); ++i) {
    const double stored = dt > 0 ? (contents_[i] - old_contents_[i]) / dt : 0;
    sums[0] += residual_[i] * residual_[i];
    sums[1] += std::abs(residual_[i]);
    sums[2] += residual_[i];
    sums[3] += stored;
    sums[4] += std::abs(stored);
  }
  sums[5] = equations_.round_off();
  for (const auto& term : equations_.terms()) sums[4] += std::abs(term.rate);
  sums[6] = app::StopSignal::is_wanted() ? 1 : 0;
  reduction_.allreduce(std::span<double>(sums));
  ++counts_.own_reductions;
  return {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6]};
}

bool FlowSolver::solve_linear(StepOutcome& outcome) {
  if (linear_ == nullptr) {
    linear_ = make_linear_solver(case_, grid_, equations_.graph(), 0,
                                 {.couplings = jacobian_, .blocks = {}},
                                 {.tolerance = case_.linear.tolerance,
                                  .symmetric = equations_.symmetric(),
                                  .wants_to_stop = app::StopSignal::is_wanted});
  } else {
    linear_->set_values({.couplings = jacobian_, .blocks = {}});
  }
  std::fill(change_.begin(), change_.end(), 0.0);
  const auto result = linear_->solve(residual_, change_);
  counts_.linear_iterations += result.iterations;
  counts_.krylov_reductions += result.num_reductions;
  outcome.linear_iterations += result.iterations;
  outcome.stopped = result.stopped;
  // One that ended early is still a direction to search in.
  if (!result.usable) outcome.why = "the linear solver ended early: " + result.why;
  return result.usable;
}

/// h - change, or less of the change until the residual is smaller. False if none makes it so.
bool FlowSolver::search_line(std::span<double> h, double dt, Norms& norms) {
  double part = 1;
  for (int halving = 0; halving < 12; ++halving, part /= 2) {
    for (std::size_t i = 0; i < h.size(); ++i) trial_[i] = h[i] - part * change_[i];
    const Norms there = measure(trial_, dt);
    if (!std::isfinite(there.squares) || there.squares > (1 - 1e-4 * part) * norms.squares) {
      continue;
    }
    std::copy(trial_.begin(), trial_.end(), h.begin());
    norms = there;
    return true;
  }
  return false;
}

/// Newton's iterations from `h`, which is where they end, converged or not.
StepOutcome FlowSolver::iterate(std::span<double> h, double dt) {
  StepOutcome outcome;
  Norms norms = measure(h, dt);
  bool at_round_off = false;
  const auto small = [&](double tolerance) {
    return norms.sizes <= tolerance * norms.moved + norms.round_off;
  };
  const auto limit = static_cast<int>(case_.newton.max_iterations);
  // A first iteration unless the residual is round-off, so that a step that changes little is
  // taken, too.
  while (!small(outcome.iterations == 0 ? 0 : case_.newton.tolerance) &&
         outcome.iterations < limit) {
    outcome.stopped = norms.wishes > 0;
    if (outcome.stopped) break;
    ++outcome.iterations;
    if (!solve_linear(outcome)) break;
    if (!search_line(h, dt, norms)) {
      measure(h, dt);  // the equations as they are at h
      at_round_off = small(good_enough);
      if (!at_round_off) outcome.why = "the line search found no step that reduces the residual";
      break;
    }
  }
  counts_.iterations += outcome.iterations;
  outcome.converged = !outcome.stopped && outcome.why.empty() && std::isfinite(norms.squares) &&
                      (at_round_off || small(case_.newton.tolerance));
  if (!outcome.converged && outcome.why.empty()) {
    outcome.why = fmt::format("Newton's method did not converge in {} iterations", limit);
  }
  outcome.storage = norms.storage;
  outcome.error = norms.sum;
  outcome.moved = norms.moved;
  outcome.round_off = norms.round_off;
  return outcome;
}

StepOutcome FlowSolver::step(std::span<double> h, double dt) {
  const app::Region region("flow");
  const std::vector<double> start(h.begin(), h.end());
  equations_.contents(h, old_contents_);
  StepOutcome outcome = iterate(h, dt);
  // Full ground that stores no water has no derivative by its heads: start where it begins to
  // drain.
  if (!outcome.converged && !outcome.stopped && outcome.iterations <= 2 &&
      !equations_.symmetric()) {
    for (std::size_t i = 0; i < h.size(); ++i) h[i] = std::min(start[i], 0.0);
    outcome = iterate(h, dt);
  }
  if (!outcome.stopped) ++(outcome.converged ? counts_.steps : counts_.failed_steps);
  if (!outcome.converged) std::copy(start.begin(), start.end(), h.begin());
  return outcome;
}

std::string FlowSolver::describe() const {
  return linear_ == nullptr ? "no matrix yet" : linear_->describe();
}

std::ptrdiff_t FlowSolver::memory_bytes() const {
  const auto items = wide_h_.size() + 6 * residual_.size() + jacobian_.size();
  return static_cast<std::ptrdiff_t>(items * sizeof(double));
}

}  // namespace tailrace::groundwater
