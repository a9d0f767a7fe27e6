// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "move/strided_copy.hpp"
#include "server/formats/chunk_grid.hpp"
#include "server/step.hpp"
#include "store/attribute_values.hpp"
#include "tailrace/layout.hpp"

namespace tailrace::server {

/// What a server has of an array, searched by box. Refers to the parts.
class ChunkParts {
 public:
  ChunkParts(const ChunkGrid& grid, std::span<const FieldPart> parts, const store::ItemBytes& fill)
      : parts_(parts), layout_(make_layout(grid, parts)), fill_(fill) {}

  /// Whether a part has items of `box`. Local.
  bool touch(const Box& box) const { return !layout_.overlaps(box).empty(); }
  /// Puts `box` into `items`, row-major without gaps; the fill value where no part has items.
  /// Thread-safe. Local.
  void gather(const Box& box, std::ptrdiff_t item_bytes, std::span<std::byte> items) const {
    const auto overlaps = layout_.overlaps(box);
    std::ptrdiff_t found = 0;
    for (const auto& overlap : overlaps) found += overlap.shared.num_items();
    if (found < box.num_items()) store::fill_items(items, item_bytes, fill_);
    for (const auto& overlap : overlaps) {
      const auto& part = parts_[static_cast<std::size_t>(overlap.local_box)];
      StridedCopy(overlap.shared, side_in_packed(overlap.shared, part.box),
                  side_in_packed(overlap.shared, box), item_bytes)
          .run(part.data, items.data());
    }
  }

 private:
  static Layout make_layout(const ChunkGrid& grid, std::span<const FieldPart> parts) {
    std::vector<Box> boxes;
    for (const auto& part : parts) boxes.push_back(part.box);
    const auto dims = static_cast<std::size_t>(grid.num_dims);
    return from_boxes(std::span(grid.extents.data(), dims), {std::move(boxes)});
  }

  std::span<const FieldPart> parts_;
  Layout layout_;
  store::ItemBytes fill_;
};

}  // namespace tailrace::server
