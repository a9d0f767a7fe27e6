// SPDX-License-Identifier: BSD-3-Clause
#include "properties.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/random.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"

namespace tailrace::groundwater {

std::array<Axis, 3> axes_of(const Case& values) {
  return {make_axis(widths_of(values, 0)), make_axis(widths_of(values, 1)),
          make_axis(widths_of(values, 2))};
}

Soil soil_of(const MaterialCase& material) {
  Soil soil;
  soil.curve = app::value_of(curves, material.curve);
  soil.porosity = material.porosity;
  soil.residual = material.residual;
  soil.alpha = material.alpha;
  soil.n = material.n;
  soil.storage = material.storage;
  soil.smoothing = material.smoothing;
  soil.heads = material.heads;
  soil.saturations = material.saturations;
  soil.conductivities = material.mobilities;
  return soil;
}

bool in_region(const Grid& grid, const RegionCase& region, const Cell& cell) {
  if (region.cells != nullptr) {
    return std::ranges::binary_search(*region.cells, number_of_cell(grid, cell));
  }
  for (std::size_t d = 0; d < 3; ++d) {
    const double centre = grid.axis(static_cast<int>(2 - d)).centre(cell[2 - d]);
    if (centre < region.from[d] || centre > region.to[d]) return false;
  }
  return true;
}

std::vector<std::ptrdiff_t> cells_in(const Grid& grid, const RegionCase& region) {
  std::vector<std::ptrdiff_t> cells;
  for (std::ptrdiff_t own = 0; own < grid.num_own(); ++own) {
    if (in_region(grid, region, grid.own_cell(own))) cells.push_back(own);
  }
  return cells;
}

double correlated_normal(const std::array<double, 3>& place,
                         const std::array<double, 3>& correlation, std::uint64_t seed) {
  std::array<double, 3> part{};
  std::array<std::int64_t, 3> node{};
  for (std::size_t d = 0; d < 3; ++d) {
    const double at = place[d] / correlation[d];
    node[d] = static_cast<std::int64_t>(std::floor(at));
    part[d] = at - std::floor(at);
  }
  double sum = 0, squares = 0;
  for (unsigned corner = 0; corner < 8; ++corner) {
    double weight = 1;
    std::array<std::uint32_t, 4> counter{0, 0, 0, 0};
    for (std::size_t d = 0; d < 3; ++d) {
      const unsigned up = corner >> d & 1U;
      weight *= up != 0 ? part[d] : 1 - part[d];
      counter[d] = static_cast<std::uint32_t>(node[d] + up);
    }
    sum += weight * app::normal_numbers(counter, seed)[0];
    squares += weight * weight;
  }
  return sum / std::sqrt(squares);
}

namespace {

std::array<double, 3> centre_of(const Grid& grid, const Cell& cell) {
  return {grid.axis(2).centre(cell[2]), grid.axis(1).centre(cell[1]), grid.axis(0).centre(cell[0])};
}

std::vector<double> lognormal_factors(const Case& values, const Grid& grid) {
  const auto& h = values.heterogeneity;
  std::vector<double> factors(static_cast<std::size_t>(grid.num_wide()));
  const std::array<double, 3> correlation{h.correlation[0], h.correlation[1], h.correlation[2]};
  for (std::ptrdiff_t i = 0; i < grid.num_wide(); ++i) {
    const auto place = centre_of(grid, grid.wide_cell(i));
    factors[static_cast<std::size_t>(i)] = std::exp(
        h.sigma * correlated_normal(place, correlation, static_cast<std::uint64_t>(h.seed)));
  }
  return factors;
}

/// Throws unless the dataset has the grid's extents and factors above 0. Collective.
std::vector<double> factors_of_file(const Case& values, const Grid& grid) {
  const auto& h = values.heterogeneity;
  const Input input(grid.comm(), h.file);
  const auto found = input.extents(h.dataset);
  const auto wanted = grid.extents();
  if (!std::equal(found.begin(), found.end(), wanted.begin(), wanted.end())) {
    throw Error(Errc::invalid_input,
                fmt::format("{}: dataset {} of {} has other extents than the grid, {} x {} x {} "
                            "(z, y, x)",
                            values.source, h.dataset, h.file, wanted[0], wanted[1], wanted[2]));
  }
  std::vector<double> factors(static_cast<std::size_t>(grid.num_wide()));
  input.read(h.dataset, grid.wide_layout(), std::span(factors));
  const bool good =
      std::all_of(factors.begin(), factors.end(), [](double f) { return f > 0 && f < 1e300; });
  require_all(grid.comm().raw(), good,
              fmt::format("{}: dataset {} of {} has a factor that is not above 0", values.source,
                          h.dataset, h.file));
  return factors;
}

}  // namespace

Ground make_ground(const Case& values, const Grid& grid, const CellData& cells) {
  Ground ground;
  const auto count = static_cast<std::size_t>(grid.num_wide());
  ground.soil_of.assign(count, 0);
  std::vector<RegionCase> regions;
  const auto& materials = values.flow.materials.items;
  for (const auto& material : materials) {
    ground.soils.push_back(soil_of(material));
    regions.push_back(find_region(values, material.region, values.source));
  }
  std::vector<double> factors(count, 1.0);
  if (values.heterogeneity.kind == "lognormal") factors = lognormal_factors(values, grid);
  if (values.heterogeneity.kind == "file") factors = factors_of_file(values, grid);
  for (auto& along : ground.conductivity) along.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Cell cell = grid.wide_cell(static_cast<std::ptrdiff_t>(i));
    for (std::size_t m = 0; m < materials.size(); ++m) {
      const bool here = cells.materials.empty() ? in_region(grid, regions[m], cell)
                                                : cells.materials[i] == materials[m].id;
      if (here) ground.soil_of[i] = static_cast<std::uint16_t>(m);
    }
    const auto& conductivity = materials[ground.soil_of[i]].conductivity;
    for (std::size_t d = 0; d < 3; ++d) {
      const double of_material = conductivity.size() == 1 ? conductivity[0] : conductivity[2 - d];
      ground.conductivity[d][i] =
          factors[i] * (cells.permeability.empty() ? of_material
                                                   : cells.permeability[i] * values.cells.mobility);
    }
  }
  return ground;
}

}  // namespace tailrace::groundwater
