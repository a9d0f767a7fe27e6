// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "case.hpp"
#include "cell_files.hpp"
#include "grid.hpp"
#include "soil.hpp"

namespace tailrace::groundwater {

inline constexpr app::Choices<Soil::Curve, 4> curves{{{"saturated", Soil::Curve::saturated},
                                                      {"van_genuchten", Soil::Curve::van_genuchten},
                                                      {"gardner", Soil::Curve::gardner},
                                                      {"table", Soil::Curve::table}}};

/// The ground of every wide cell.
struct Ground {
  std::vector<Soil> soils;
  std::vector<std::uint16_t> soil_of;               ///< index in `soils`, one a wide cell
  std::array<std::vector<double>, 3> conductivity;  ///< along z, y, x [m/s], one a wide cell
};

/// The grid's axes (z, y, x). Local.
std::array<Axis, 3> axes_of(const Case& values);

/// The curve of a material. Local.
Soil soil_of(const MaterialCase& material);

/// Whether the centre of `cell` lies in `region`. Local.
bool in_region(const Grid& grid, const RegionCase& region, const Cell& cell);

/// The own cells of a region, ascending. Local.
std::vector<std::ptrdiff_t> cells_in(const Grid& grid, const RegionCase& region);

/// A normal number (mean 0, variance 1) of the place x, y, z [m]: random numbers on a lattice of
/// the correlation lengths, interpolated. The same for a place whatever the grid and the ranks.
/// Local.
double correlated_normal(const std::array<double, 3>& place,
                         const std::array<double, 3>& correlation, std::uint64_t seed);

/// The ground of the case and of what its file of cells says. Throws `Errc::invalid_input` or
/// `Errc::io` on all ranks, for a file of factors. Collective, blocking.
Ground make_ground(const Case& values, const Grid& grid, const CellData& cells = {});

}  // namespace tailrace::groundwater
