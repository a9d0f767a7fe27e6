// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace tailrace {

inline constexpr int max_dims = 5;
using Index = std::array<std::ptrdiff_t, max_dims>;

/// A box of a global index space: lower corner and extents, in items, up to `max_dims` axes.
/// Axis `num_dims - 1` is the fastest in row-major order (docs/reference.md).
struct Box {
  int num_dims = 0;
  Index start{};    ///< global index of the first item along each axis
  Index extents{};  ///< items along each axis

  /// Number of items: 0 if any extent is 0, 1 for a box without axes. A product that overflows
  /// gives the largest std::ptrdiff_t.
  std::ptrdiff_t num_items() const;
  bool empty() const { return num_items() == 0; }
  /// "[0:4, 3:7]"
  std::string describe() const;
  bool operator==(const Box& other) const;
};

/// The box of items that `a` and `b` share (extents 0 if none). Local.
Box intersect(const Box& a, const Box& b);

/// A half-open range of items. `split_evenly` returns range `part` of `num_parts` of `num_items`
/// items: the first `num_items % num_parts` parts have one more item. All uneven splits use it.
/// Local.
struct Range {
  std::ptrdiff_t start = 0;
  std::ptrdiff_t count = 0;
  std::ptrdiff_t end() const { return start + count; }
  bool operator==(const Range&) const = default;
};
Range split_evenly(std::ptrdiff_t num_items, std::ptrdiff_t num_parts, std::ptrdiff_t part);

/// The part that contains `item` under `split_evenly`. Local.
std::ptrdiff_t part_of(std::ptrdiff_t num_items, std::ptrdiff_t num_parts, std::ptrdiff_t item);

}  // namespace tailrace
