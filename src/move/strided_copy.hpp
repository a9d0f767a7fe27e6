// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>

#include "tailrace/box.hpp"
#include "tailrace/layout.hpp"

namespace tailrace {

/// One side of a copy: where item (0, 0, ...) lies and how far apart neighbours are, in items.
struct StridedSide {
  std::ptrdiff_t offset = 0;
  Index strides{};
};

/// How the items of `part` (global indices) lie in the memory of `box`, which contains it.
StridedSide side_of(const Box& part, const Box& box, const BoxMemory& memory);

/// How the items of a box of `extents` lie in a gapless row-major buffer from `offset` on.
StridedSide packed_side(const Box& box, std::ptrdiff_t offset);

/// The one routine that copies a box between two memories. Axes that are contiguous on both sides
/// are merged, contiguous rows are copied by memcpy, and when the fastest axes of the two sides
/// differ, the two are transposed in squares of a cache line.
class StridedCopy {
 public:
  StridedCopy() = default;
  StridedCopy(const Box& box, const StridedSide& from, const StridedSide& to,
              std::ptrdiff_t item_bytes);

  /// Copies from `source` to `destination`, the first bytes of the two memories. Local.
  void run(const std::byte* source, std::byte* destination) const;
  std::ptrdiff_t num_bytes() const { return num_bytes_; }

  struct Axis {
    std::ptrdiff_t extent = 1;
    std::ptrdiff_t from_stride = 0;  ///< bytes
    std::ptrdiff_t to_stride = 0;    ///< bytes
  };

 private:
  void order_axes();

  std::array<Axis, max_dims> axes_{};  ///< slowest first; unused ones have extent 1
  std::ptrdiff_t item_bytes_ = 0;      ///< bytes contiguous on both sides
  std::ptrdiff_t from_offset_ = 0;     ///< bytes
  std::ptrdiff_t to_offset_ = 0;       ///< bytes
  std::ptrdiff_t num_bytes_ = 0;
};

}  // namespace tailrace
