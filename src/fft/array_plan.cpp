// SPDX-License-Identifier: BSD-3-Clause
#include "array_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tailrace/more/axis_text.hpp"

namespace tailrace::fft {

namespace {

std::size_t at(int axis) { return static_cast<std::size_t>(axis); }

std::vector<TransformedAxis> axes_of(const ArrayProblem& problem) {
  auto axes = problem.axes;
  if (axes.empty()) {
    for (int axis = 0; axis < static_cast<int>(problem.extents.size()); ++axis) {
      axes.push_back({.axis = axis});
    }
  }
  return axes;
}

/// The axis that ranks divide once `turn` of `axes` is whole; -1 if there is none.
int partner_of(const std::vector<TransformedAxis>& axes, std::size_t turn,
               const std::vector<int>& grid) {
  const auto& one = axes[turn];
  const auto fits = [&](int axis) { return axis != one.axis && grid[at(axis)] == 1; };
  if (one.swap_with >= 0) return fits(one.swap_with) ? one.swap_with : -1;
  for (auto before = turn + 1; before < axes.size(); ++before) {
    if (fits(axes[before].axis)) return axes[before].axis;
  }
  const auto comes_later = [&](int axis) {
    return std::any_of(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(turn),
                       [&](const auto& other) { return other.axis == axis; });
  };
  for (const bool later : {false, true}) {
    for (int axis = 0; axis < static_cast<int>(grid.size()); ++axis) {
      if (fits(axis) && comes_later(axis) == later) return axis;
    }
  }
  return -1;
}

/// The steps with a grid that is complete; empty if an axis cannot become whole.
std::vector<ArrayStep> steps_of(const ArrayProblem& problem, const std::vector<int>& grid) {
  const auto axes = axes_of(problem);
  ArrayState state{problem.extents, grid, {}, problem.complex_field};
  for (int axis = 0; axis < static_cast<int>(grid.size()); ++axis) state.order.push_back(axis);
  std::vector<ArrayStep> steps;
  for (auto turn = axes.size(); turn-- > 0;) {
    const auto& one = axes[turn];
    if (state.grid[at(one.axis)] > 1) {
      const int partner = partner_of(axes, turn, state.grid);
      if (partner < 0) return {};
      ArrayStep step{.is_exchange = true, .axis = one.axis, .before = state, .after = {}};
      std::swap(state.grid[at(one.axis)], state.grid[at(partner)]);
      for (auto& axis : state.order) {
        axis = axis == one.axis ? partner : axis == partner ? one.axis : axis;
      }
      step.after = state;
      steps.push_back(std::move(step));
    }
    ArrayStep step{.axis = one.axis, .kind = one.kind, .before = state, .after = {}};
    step.points = state.extents[at(one.axis)];
    step.kept = one.kept == 0 ? step.points : one.kept;
    step.items = one.kind != AxisKind::fourier ? LineItems::real
                 : state.is_complex            ? LineItems::full
                                               : LineItems::half;
    state.extents[at(one.axis)] = num_modes(step.items, step.kept);
    state.is_complex |= step.items != LineItems::real;
    step.after = state;
    steps.push_back(std::move(step));
  }
  return steps;
}

double busiest(const ArrayState& state) {
  double items = state.is_complex ? 2 : 1;
  for (std::size_t axis = 0; axis < state.grid.size(); ++axis) {
    const auto parts = state.grid[axis];
    items *= static_cast<double>((state.extents[axis] + parts - 1) / parts);
  }
  return items;
}

double cost_of(const std::vector<ArrayStep>& steps) {
  double cost = 0;
  for (const auto& step : steps) cost += (step.is_exchange ? 2 : 1) * busiest(step.before);
  return cost;
}

/// Calls body(grid) for each way to put `ranks` ranks on the axes that are still 0.
template <class Body>
void for_grids(std::vector<int>& grid, std::size_t axis, int ranks, const Body& body) {
  while (axis < grid.size() && grid[axis] != 0) ++axis;
  if (axis == grid.size()) {
    if (ranks == 1) body(grid);
    return;
  }
  for (int parts = 1; parts <= ranks; ++parts) {
    if (ranks % parts != 0) continue;
    grid[axis] = parts;
    for_grids(grid, axis + 1, ranks / parts, body);
  }
  grid[axis] = 0;
}

std::vector<int> choose_grid(const ArrayProblem& problem, int num_ranks) {
  auto grid = problem.grid;
  grid.resize(problem.extents.size(), 0);
  int ranks = num_ranks;
  for (const int parts : grid) ranks /= std::max(parts, 1);
  std::vector<int> best;
  double least = std::numeric_limits<double>::infinity();
  for_grids(grid, 0, ranks, [&](const std::vector<int>& tried) {
    const auto steps = steps_of(problem, tried);
    if (steps.empty()) return;
    const double cost = cost_of(steps);
    if (cost < least) {
      least = cost;
      best = tried;
    }
  });
  return best;
}

std::string find_axis_fault(const ArrayProblem& problem, const TransformedAxis& one,
                            std::vector<bool>& seen) {
  const auto num_dims = static_cast<int>(problem.extents.size());
  const auto axis = axis_number(one.axis, problem.extents.size());
  if (one.axis < 0 || one.axis >= num_dims) {
    return fmt::format("axis {} of an array with {} axes", axis, num_dims);
  }
  if (seen[at(one.axis)]) return fmt::format("axis {} is listed twice", axis);
  seen[at(one.axis)] = true;
  if (one.kind < AxisKind::fourier || one.kind > AxisKind::dst4) {
    return fmt::format("axis {}: kind {} is unknown", axis, static_cast<int>(one.kind));
  }
  const auto points = problem.extents[at(one.axis)];
  if (one.kind == AxisKind::dct1 && points < 2) {
    return fmt::format("axis {}: a dct1 needs 2 points or more", axis);
  }
  if (one.kept < 0 || one.kept > points) {
    return fmt::format("axis {}: kept {} of {} points: must be 1 to {}, or 0 for all", axis,
                       one.kept, points, points);
  }
  if (one.swap_with < -1 || one.swap_with >= num_dims || one.swap_with == one.axis) {
    return fmt::format("axis {}: swap_with {}: must be another axis, or {}", axis,
                       axis_number(one.swap_with, problem.extents.size()),
                       axes_as_fortran() ? 0 : -1);
  }
  return "";
}

std::string find_grid_fault(const ArrayProblem& problem, int num_ranks) {
  if (problem.grid.empty()) return "";
  std::ptrdiff_t ranks = 1;
  bool chooses = false, fits = problem.grid.size() == problem.extents.size();
  for (const int parts : problem.grid) {
    fits = fits && parts >= 0 && parts <= num_ranks;
    chooses |= parts == 0;
    if (fits && parts > 0) ranks *= parts;
    fits = fits && ranks <= num_ranks;
  }
  fits = fits && num_ranks % ranks == 0 && (chooses || ranks == num_ranks);
  if (fits) return "";
  return fmt::format("grid {} for {} axes on {} ranks: needs ranks along each axis, 0 to choose",
                     per_axis(problem.grid, " x "), problem.extents.size(), num_ranks);
}

}  // namespace

std::ptrdiff_t num_modes(LineItems items, std::ptrdiff_t kept) {
  return items == LineItems::half ? kept / 2 + 1 : kept;
}

std::string find_fault(const ArrayProblem& problem, int num_ranks) {
  const auto num_dims = problem.extents.size();
  if (num_dims < 1 || num_dims > static_cast<std::size_t>(max_dims)) {
    return fmt::format("{} axes: must be 1 to {}", num_dims, max_dims);
  }
  constexpr double most_items = 7.2e16;        // somewhat fewer than a layout has at most
  constexpr std::ptrdiff_t longest = 1 << 30;  // the kernels count in int
  double items = 1;
  for (std::size_t axis = 0; axis < num_dims; ++axis) {
    const auto points = problem.extents[axis];
    if (points < 1) {
      return fmt::format("extent {} of axis {}: must be at least 1", points,
                         axis_number(static_cast<std::ptrdiff_t>(axis), num_dims));
    }
    items *= static_cast<double>(points);
  }
  if (problem.scale == 0 || !std::isfinite(problem.scale)) {
    return fmt::format("scale {}: must be a number that is not 0", problem.scale);
  }
  if (items > most_items) return fmt::format("{:g} items: more than {:g}", items, most_items);
  const auto axes = axes_of(problem);
  std::vector<bool> seen(num_dims);
  for (const auto& one : axes) {
    if (auto fault = find_axis_fault(problem, one, seen); !fault.empty()) return fault;
    if (problem.extents[at(one.axis)] > longest) {
      return fmt::format("axis {}: {} points: at most {} are transformed",
                         axis_number(one.axis, num_dims), problem.extents[at(one.axis)], longest);
    }
  }
  if (auto fault = find_grid_fault(problem, num_ranks); !fault.empty()) return fault;
  if (choose_grid(problem, num_ranks).empty()) {
    return fmt::format(
        "extents {}, grid {} on {} ranks: when a divided axis is transformed, another axis must be "
        "whole to swap with (swap_with)",
        per_axis(problem.extents, " x "),
        problem.grid.empty() ? "chosen" : per_axis(problem.grid, " x "), num_ranks);
  }
  return "";
}

ArrayPlan plan_array(const ArrayProblem& problem, int num_ranks) {
  ArrayPlan plan{problem, {}};
  plan.problem.axes = axes_of(problem);
  plan.problem.grid = choose_grid(problem, num_ranks);
  plan.steps = steps_of(plan.problem, plan.problem.grid);
  return plan;
}

}  // namespace tailrace::fft
