// SPDX-License-Identifier: BSD-3-Clause
#include "geometry.hpp"

#include <cmath>

#include <fmt/format.h>

#include "tailrace/more/axis_text.hpp"

namespace tailrace::fft {

namespace {

std::vector<Range> split_all(std::ptrdiff_t count, int parts) {
  std::vector<Range> ranges;
  for (int part = 0; part < parts; ++part) ranges.push_back(split_evenly(count, parts, part));
  return ranges;
}

}  // namespace

Geometry Geometry::make(const Problem& problem, int rank) {
  Geometry g;
  g.problem = problem;
  g.pz = problem.grid[0];
  g.py = problem.grid[1];
  g.rz = rank / g.py;
  g.ry = rank % g.py;
  g.z = Axis::make(problem.extents[0], problem.cutoff[0], false);
  g.y = Axis::make(problem.extents[1], problem.cutoff[1], false);
  g.x = Axis::make(problem.extents[2], problem.cutoff[2], g.real());
  g.z_of = split_all(g.z.points, g.pz);
  g.ky_of = split_all(g.y.kept(), g.pz);
  g.y_of = split_all(g.y.points, g.py);
  g.kx_of = split_all(g.x.kept(), g.py);
  return g;
}

std::string find_fault(const Problem& problem, int num_ranks) {
  const char* names[3] = {"z", "y", "x"};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto n = problem.extents[axis];
    if (n < 1) return fmt::format("extent {} of axis {}: must be at least 1", n, names[axis]);
    const bool half = axis == 2 && problem.kind == Kind::real_to_complex;
    const auto largest = half ? n / 2 : (n - 1) / 2;
    const auto cutoff = problem.cutoff[axis];
    if (cutoff < -1 || cutoff > largest) {
      return fmt::format(
          "cut-off {} of axis {} with {} points: must be 0 to {}, or -1 for all modes", cutoff,
          names[axis], n, largest);
    }
  }
  // The product in floating point, as it is to be seen that it does not fit an integer.
  constexpr double most_points = 7.2e16;  // somewhat fewer than a layout has items at most
  double points = 1;
  for (const auto n : problem.extents) points *= static_cast<double>(n);
  if (points > most_points) {
    return fmt::format("{} points: more than {:g}", per_axis(problem.extents, " x "), most_points);
  }
  constexpr int most_fields = 4096;
  if (problem.max_fields < 1 || problem.max_fields > most_fields) {
    return fmt::format("max_fields {}: must be 1 to {}", problem.max_fields, most_fields);
  }
  if (problem.scale == 0 || !std::isfinite(problem.scale)) {
    return fmt::format("scale {}: must be a number that is not 0", problem.scale);
  }
  const auto grid = problem.grid;
  if (grid[0] < 0 || grid[1] < 0 || (grid[0] == 0) != (grid[1] == 0) ||
      (grid[0] > 0 && std::ptrdiff_t{grid[0]} * grid[1] != num_ranks)) {
    return fmt::format("process grid {} x {} does not fit {} ranks: the product must be {}",
                       grid[0], grid[1], num_ranks, num_ranks);
  }
  return "";
}

GridChoice choose_grid(const Problem& problem, std::ptrdiff_t item_bytes, const NodeMap& nodes) {
  const bool half = problem.kind == Kind::real_to_complex;
  const auto kept_y = Axis::make(problem.extents[1], problem.cutoff[1], false).kept();
  const auto kept_x = Axis::make(problem.extents[2], problem.cutoff[2], half).kept();
  return choose_process_grid({problem.extents, {0, kept_y, kept_x}, item_bytes, problem.grid},
                             nodes);
}

}  // namespace tailrace::fft
