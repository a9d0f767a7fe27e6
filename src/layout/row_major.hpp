// SPDX-License-Identifier: BSD-3-Clause
#pragma once

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

}  // namespace tailrace
