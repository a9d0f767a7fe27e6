// SPDX-License-Identifier: BSD-3-Clause
#include "halo.hpp"

#include <algorithm>
#include <limits>

namespace tailrace::groundwater {

Axis make_axis(std::span<const double> widths) {
  Axis axis;
  axis.walls.push_back(0);
  for (const double width : widths) axis.walls.push_back(axis.walls.back() + width);
  return axis;
}

std::array<int, 3> choose_ranks(const Cell& extents, int num_ranks) {
  std::array<int, 3> best{num_ranks, 1, 1};
  double least = std::numeric_limits<double>::infinity();
  const auto cells = [&](std::size_t d) { return static_cast<double>(extents[d]); };
  for (int pz = 1; pz <= num_ranks; ++pz) {
    if (num_ranks % pz != 0) continue;
    for (int py = 1; py <= num_ranks / pz; ++py) {
      if (num_ranks / pz % py != 0) continue;
      const int px = num_ranks / pz / py;
      const bool empty = pz > extents[0] || py > extents[1] || px > extents[2];
      const double walls = (pz - 1) * cells(1) * cells(2) + (py - 1) * cells(0) * cells(2) +
                           (px - 1) * cells(0) * cells(1) + (empty ? 1e30 : 0);
      if (walls < least) {
        least = walls;
        best = {pz, py, px};
      }
    }
  }
  return best;
}

namespace {

Cell extents_of(const std::array<Axis, 3>& axes) {
  return {axes[0].num_cells(), axes[1].num_cells(), axes[2].num_cells()};
}

Box widened(Box box, const Cell& extents) {
  if (box.empty()) return box;
  for (std::size_t d = 0; d < 3; ++d) {
    const auto end = std::min(box.start[d] + box.extents[d] + 1, extents[d]);
    box.start[d] = std::max<std::ptrdiff_t>(box.start[d] - 1, 0);
    box.extents[d] = end - box.start[d];
  }
  return box;
}

Box block_of(const Layout& layout, int rank) {
  const auto boxes = layout.boxes(rank);
  if (!boxes.empty()) return boxes[0];
  Box none;
  none.num_dims = 3;
  return none;
}

Layout widened(const Layout& layout, const Cell& extents) {
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(layout.num_ranks()));
  for (int r = 0; r < layout.num_ranks(); ++r) {
    for (const auto& box : layout.boxes(r)) {
      boxes[static_cast<std::size_t>(r)].push_back(widened(box, extents));
    }
  }
  return from_boxes(extents, std::move(boxes));
}

Cell cell_of(const Box& box, std::ptrdiff_t item) {
  const auto nx = box.extents[2], ny = box.extents[1];
  return {box.start[0] + item / (nx * ny), box.start[1] + item / nx % ny, box.start[2] + item % nx};
}

std::ptrdiff_t item_of(const Box& box, const Cell& cell) {
  return ((cell[0] - box.start[0]) * box.extents[1] + cell[1] - box.start[1]) * box.extents[2] +
         cell[2] - box.start[2];
}

}  // namespace

Grid::Grid(const Comm& comm, std::array<Axis, 3> axes, std::array<int, 3> ranks)
    : comm_(&comm),
      axes_(std::move(axes)),
      ranks_(ranks),
      layout_(blocks(extents_of(axes_), ranks_)),
      own_(block_of(layout_, comm.rank())),
      wide_(widened(own_, extents_of(axes_))),
      wide_layout_(widened(layout_, extents_of(axes_))),
      first_rows_{0} {
  for (int r = 0; r < comm.num_ranks(); ++r) {
    first_rows_.push_back(first_rows_.back() + layout_.num_items(r));
  }
  int step = 1;
  for (std::size_t d = 3; d-- > 0; step *= ranks_[d]) {
    for (std::ptrdiff_t i = 0; i < axes_[d].num_cells(); ++i) {
      parts_[d].push_back(step * static_cast<int>(part_of(axes_[d].num_cells(), ranks_[d], i)));
    }
  }
}

Cell Grid::extents() const { return extents_of(axes_); }

Cell Grid::own_cell(std::ptrdiff_t own) const { return cell_of(own_, own); }

std::ptrdiff_t Grid::own_index(const Cell& cell) const { return item_of(own_, cell); }

Cell Grid::wide_cell(std::ptrdiff_t wide) const { return cell_of(wide_, wide); }

std::ptrdiff_t Grid::wide_index(const Cell& cell) const { return item_of(wide_, cell); }

double Grid::volume(const Cell& cell) const {
  return axes_[0].width(cell[0]) * axes_[1].width(cell[1]) * axes_[2].width(cell[2]);
}

double Grid::area(const Cell& cell, int d) const {
  double product = 1;
  for (std::size_t other = 0; other < 3; ++other) {
    if (static_cast<int>(other) != d) product *= axes_[other].width(cell[other]);
  }
  return product;
}

bool Grid::inside(const Cell& cell) const {
  for (std::size_t d = 0; d < 3; ++d) {
    if (cell[d] < 0 || cell[d] >= axes_[d].num_cells()) return false;
  }
  return true;
}

int Grid::owner(const Cell& cell) const {
  return parts_[0][static_cast<std::size_t>(cell[0])] +
         parts_[1][static_cast<std::size_t>(cell[1])] +
         parts_[2][static_cast<std::size_t>(cell[2])];
}

std::int64_t Grid::row(const Cell& cell) const {
  const int rank = owner(cell);
  return first_rows_[static_cast<std::size_t>(rank)] + item_of(block_of(layout_, rank), cell);
}

Layout Grid::rows() const {
  std::vector<std::vector<Box>> boxes(first_rows_.size() - 1);
  for (std::size_t r = 0; r + 1 < first_rows_.size(); ++r) {
    if (first_rows_[r + 1] == first_rows_[r]) continue;
    Box box;
    box.num_dims = 1;
    box.start[0] = first_rows_[r];
    box.extents[0] = first_rows_[r + 1] - first_rows_[r];
    boxes[r].push_back(box);
  }
  const std::array<std::ptrdiff_t, 1> extents{first_rows_.back()};
  return from_boxes(extents, std::move(boxes));
}

Halo::Halo(const Grid& grid, int num_fields)
    : num_own_(grid.num_own()),
      num_wide_(grid.num_wide()),
      num_fields_(num_fields),
      exchange_(grid.comm(), grid.layout(), grid.wide_layout(),
                {.item_bytes = sizeof(double), .num_fields = num_fields}) {}

void Halo::fill(std::span<const double> own, std::span<double> wide) {
  sources_.clear();
  destinations_.clear();
  for (std::ptrdiff_t f = 0; f < num_fields_; ++f) {
    sources_.push_back(own.data() + f * num_own_);
    destinations_.push_back(wide.data() + f * num_wide_);
  }
  exchange_.run(sources_, destinations_);
}

}  // namespace tailrace::groundwater
