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

  /// Number of items; 0 if any extent is 0, 1 for a box without axes. The largest number that there
  /// is stands for more.
  std::ptrdiff_t num_items() const;
  bool empty() const { return num_items() == 0; }
  /// "[0:4, 3:7]"
  std::string describe() const;
  bool operator==(const Box& other) const;
};

/// The box of items that `a` and `b` share (extents 0 if none). Local.
Box intersect(const Box& a, const Box& b);

/// The part of `num_items` that the `part`-th of `num_parts` gets: the first `num_items %
/// num_parts` parts get one item more. The one place where uneven splits are decided.
struct Range {
  std::ptrdiff_t start = 0;
  std::ptrdiff_t count = 0;
  std::ptrdiff_t end() const { return start + count; }
  bool operator==(const Range&) const = default;
};
Range split_evenly(std::ptrdiff_t num_items, std::ptrdiff_t num_parts, std::ptrdiff_t part);

/// The part that holds `item` under `split_evenly`.
std::ptrdiff_t part_of(std::ptrdiff_t num_items, std::ptrdiff_t num_parts, std::ptrdiff_t item);

}  // namespace tailrace
