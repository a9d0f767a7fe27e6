// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tailrace/comm.hpp"
#include "tailrace/layout.hpp"

namespace tailrace::groundwater {

/// Cells along one axis: walls[i] and walls[i + 1] bound cell i [m].
struct Axis {
  std::vector<double> walls;
  std::ptrdiff_t num_cells() const { return std::ssize(walls) - 1; }
  double width(std::ptrdiff_t i) const {
    return walls[static_cast<std::size_t>(i + 1)] - walls[static_cast<std::size_t>(i)];
  }
  double centre(std::ptrdiff_t i) const {
    return (walls[static_cast<std::size_t>(i + 1)] + walls[static_cast<std::size_t>(i)]) / 2;
  }
};

/// An axis from 0 of the given widths [m]. Local.
Axis make_axis(std::span<const double> widths);

inline std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

using Cell = std::array<std::ptrdiff_t, 3>;  ///< global index (z, y, x)

/// Ranks along (z, y, x) for `extents` cells: the grid with the fewest cells in halos whose ranks
/// all have cells, or as few without as can be. Local.
std::array<int, 3> choose_ranks(const Cell& extents, int num_ranks);

/// A structured grid of `axes` (z, y, x), in blocks of cells over the ranks. A rank's own cells are
/// numbered row-major (x fastest) in its block, its wide cells likewise in the block with one layer
/// of its neighbours' cells around, as far as there are any.
class Grid {
 public:
  /// `ranks` along (z, y, x), product = number of ranks. Local.
  Grid(const Comm& comm, std::array<Axis, 3> axes, std::array<int, 3> ranks);

  const Comm& comm() const { return *comm_; }
  const Axis& axis(int d) const { return axes_[static_cast<std::size_t>(d)]; }
  Cell extents() const;
  std::array<int, 3> ranks() const { return ranks_; }
  const Layout& layout() const { return layout_; }  ///< of the own cells
  const Layout& wide_layout() const { return wide_layout_; }
  const Box& own() const { return own_; }
  const Box& wide() const { return wide_; }
  std::ptrdiff_t num_own() const { return own_.num_items(); }
  std::ptrdiff_t num_wide() const { return wide_.num_items(); }

  Cell own_cell(std::ptrdiff_t own) const;           ///< global index of an own cell
  std::ptrdiff_t own_index(const Cell& cell) const;  ///< of an own cell
  Cell wide_cell(std::ptrdiff_t wide) const;         ///< of a wide cell
  std::ptrdiff_t wide_index(const Cell& cell) const;
  double volume(const Cell& cell) const;  ///< [m3]
  /// Area of a cell's wall across axis `d` [m2].
  double area(const Cell& cell, int d) const;
  bool inside(const Cell& cell) const;
  int owner(const Cell& cell) const;  ///< the rank that holds it as an own cell
  /// Row of a cell in a matrix whose rows are numbered by rank, then by own cell.
  std::int64_t row(const Cell& cell) const;
  /// The layout of such rows.
  Layout rows() const;

 private:
  const Comm* comm_;
  std::array<Axis, 3> axes_;
  std::array<int, 3> ranks_;
  Layout layout_;
  Box own_, wide_;
  Layout wide_layout_;
  std::vector<std::int64_t> first_rows_;   ///< of each rank, and their number
  std::array<std::vector<int>, 3> parts_;  ///< of the owner's rank, by each index of its cell
};

}  // namespace tailrace::groundwater
