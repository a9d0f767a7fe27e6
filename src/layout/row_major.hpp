// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "core/round_up.hpp"
#include "tailrace/box.hpp"

namespace tailrace {

/// The items of a row-major array by their place in a row of all of them.
struct RowMajor {
  int num_dims = 0;
  Index extents{};

  std::ptrdiff_t num_items() const { return Box{num_dims, {}, extents}.num_items(); }

  std::ptrdiff_t linear(const Index& place) const {
    std::ptrdiff_t item = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(num_dims); ++d) {
      item = item * extents[d] + place[d];
    }
    return item;
  }

  /// Items from one to the next along each axis.
  Index strides() const {
    Index steps{};
    std::ptrdiff_t step = 1;
    for (auto d = static_cast<std::size_t>(num_dims); d-- > 0; step *= extents[d]) steps[d] = step;
    return steps;
  }

  /// The last item of `box`, which is not empty.
  std::ptrdiff_t last_of(const Box& box) const {
    Index place = box.start;
    for (std::size_t d = 0; d < static_cast<std::size_t>(num_dims); ++d) {
      place[d] += box.extents[d] - 1;
    }
    return linear(place);
  }

  Index place_of(std::ptrdiff_t item) const {
    Index place{};
    for (auto d = static_cast<std::size_t>(num_dims); d-- > 0; item /= extents[d]) {
      place[d] = item % extents[d];
    }
    return place;
  }

  /// The first item of `box` at or after `item`, or num_items() if there is none.
  std::ptrdiff_t next_in_box(const Box& box, std::ptrdiff_t item) const {
    if (item >= num_items()) return num_items();
    auto place = place_of(item);
    const auto dims = static_cast<std::size_t>(num_dims);
    for (std::size_t d = 0; d < dims; ++d) {
      const auto end = box.start[d] + box.extents[d];
      if (place[d] >= box.start[d] && place[d] < end) continue;
      auto from = d;  // axes from here on restart at the box's corner
      if (place[d] >= end) {
        do {
          if (from == 0) return num_items();
          --from;
        } while (place[from] + 1 >= box.start[from] + box.extents[from]);
        ++place[from++];
      }
      for (; from < dims; ++from) place[from] = box.start[from];
      break;
    }
    return linear(place);
  }
};

inline Index sum(const Index& a, const Index& b) {
  Index result{};
  for (std::size_t d = 0; d < result.size(); ++d) result[d] = a[d] + b[d];
  return result;
}

inline Index difference(const Index& a, const Index& b) {
  Index result{};
  for (std::size_t d = 0; d < result.size(); ++d) result[d] = a[d] - b[d];
  return result;
}

/// The smallest box that holds both.
inline Box bounds_of(const Box& a, const Box& b) {
  Box bounds = a;
  for (std::size_t d = 0; d < static_cast<std::size_t>(a.num_dims); ++d) {
    const auto end = std::max(a.start[d] + a.extents[d], b.start[d] + b.extents[d]);
    bounds.start[d] = std::min(a.start[d], b.start[d]);
    bounds.extents[d] = end - bounds.start[d];
  }
  return bounds;
}

/// The cells, of extents `cell` from the first item on, that an array is cut into.
inline RowMajor cells_of(const RowMajor& array, const Index& cell) {
  RowMajor cells{array.num_dims, {}};
  for (std::size_t d = 0; d < static_cast<std::size_t>(array.num_dims); ++d) {
    cells.extents[d] = divide_up(array.extents[d], cell[d]);
  }
  return cells;
}

/// The items of a cell, also those beyond the end of the array.
inline Box cell_box(const RowMajor& cells, std::ptrdiff_t number, const Index& cell) {
  Box box{cells.num_dims, cells.place_of(number), cell};
  for (std::size_t d = 0; d < static_cast<std::size_t>(cells.num_dims); ++d)
    box.start[d] *= cell[d];
  return box;
}

/// The cells that `box` has items in, as a box of cells.
inline Box cells_touching(const Box& box, const Index& cell) {
  Box cells{box.num_dims, {}, {}};
  for (std::size_t d = 0; d < static_cast<std::size_t>(box.num_dims); ++d) {
    cells.start[d] = box.start[d] / cell[d];
    cells.extents[d] = divide_up(box.start[d] + box.extents[d], cell[d]) - cells.start[d];
  }
  return cells;
}

}  // namespace tailrace
