// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "move/copy_kinds.hpp"
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

/// How the items of a box lie in a gapless row-major buffer from `offset` on.
StridedSide packed_side(const Box& box, std::ptrdiff_t offset = 0);
/// How the items of `part` lie in the gapless memory of `box`, which contains it.
StridedSide side_in_packed(const Box& part, const Box& box);

/// The one routine that copies a box between two memories. Axes that are contiguous on both sides
/// are merged, contiguous rows are copied by memcpy, and when the fastest axes of the two sides
/// differ, the two are transposed in squares of about a cache line. That is the ordinary kind;
/// others of the table (copy_kinds.hpp) touch the memory in other ways, with the same result.
class StridedCopy {
 public:
  StridedCopy() = default;
  StridedCopy(const Box& box, const StridedSide& from, const StridedSide& to,
              std::ptrdiff_t item_bytes);
  /// Items of `item_bytes` along at most `max_dims` axes, whose strides are given in bytes.
  StridedCopy(std::span<const CopyAxis> axes, std::ptrdiff_t item_bytes);

  /// Copies from `source` to `destination`, the first bytes of the two memories. When it returns,
  /// whoever is told may read the destination, whatever the kind. Local.
  void run(const std::byte* source, std::byte* destination) const;
  std::ptrdiff_t num_bytes() const { return num_bytes_; }
  /// From now on by this kind, by the best instructions of this processor, or by `loops`. Local.
  void use(const CopyKind& kind, const CopyLoops& loops = *copy_loops().front()) {
    kind_ = &kind;
    loops_ = &loops;
  }

  /// The fastest axes of the two sides differ, and items are short: planes are turned. Local.
  bool turns() const;
  /// The same copy of fewer items, at most `most_bytes` or one index of the slowest axis, between
  /// memories that begin with the first byte that it touches. Local.
  StridedCopy sample(std::ptrdiff_t most_bytes) const;
  /// Bytes from the first that is touched to the last: of the source, of the destination. Local.
  std::array<std::ptrdiff_t, 2> reach() const;
  /// "128 x 128 runs of 16 bytes from 16 and 4096 to 4096 and 16 apart, N bytes in all": the two
  /// fastest axes. Local.
  std::string describe() const;

  using Axis = CopyAxis;
  /// What is copied: runs of `run_bytes` contiguous bytes along axes with strides in bytes, from
  /// and to these places behind the first bytes of the memories.
  std::span<const Axis> axes() const { return axes_; }
  std::ptrdiff_t run_bytes() const { return item_bytes_; }
  std::ptrdiff_t from_offset() const { return from_offset_; }
  std::ptrdiff_t to_offset() const { return to_offset_; }

 private:
  void order_axes();
  void copy_inner(const std::byte* from, std::byte* to) const;

  std::array<Axis, max_dims> axes_{};  ///< slowest first; unused ones have extent 1
  std::ptrdiff_t item_bytes_ = 0;      ///< bytes contiguous on both sides
  std::ptrdiff_t from_offset_ = 0;     ///< bytes
  std::ptrdiff_t to_offset_ = 0;       ///< bytes
  std::ptrdiff_t num_bytes_ = 0;
  const CopyKind* kind_ = nullptr;  ///< none: ordinary
  const CopyLoops* loops_ = nullptr;
};

}  // namespace tailrace
