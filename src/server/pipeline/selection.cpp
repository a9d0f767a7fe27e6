// SPDX-License-Identifier: BSD-3-Clause
#include "selection.hpp"

#include <algorithm>

#include "move/strided_copy.hpp"
#include "stage_memory.hpp"
#include "tailrace/layout.hpp"

namespace tailrace::server {
namespace {

// Which of the selected items `box` holds, as a box of the new field.
Box selected_box(const Box& box, std::span<const AxisSelection> axes) {
  Box found{box.num_dims, {}, {}};
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const auto& axis = axes[d];
    const auto before = [&](std::ptrdiff_t index) {  // selected items below `index`
      return AxisSelection{axis.start, std::min(index, axis.stop), axis.step}.count();
    };
    found.start[d] = before(box.start[d]);
    found.extents[d] = before(box.start[d] + box.extents[d]) - found.start[d];
  }
  return found;
}

}  // namespace

Field select_items(Step& step, const Field& field, std::span<const AxisSelection> axes) {
  Field result = field;
  result.parts.clear();
  for (std::size_t d = 0; d < axes.size(); ++d) result.extents[d] = axes[d].count();
  const auto item = item_bytes(field.type);
  for (const auto& part : field.parts) {
    const auto box = selected_box(part.box, axes);
    if (box.empty()) continue;
    const auto dense = Memory::dense({&part.box, 1}).boxes.front();
    StridedSide from{dense.offset, dense.strides};
    for (std::size_t d = 0; d < axes.size(); ++d) {
      const auto first = axes[d].start + box.start[d] * axes[d].step - part.box.start[d];
      from.offset += first * dense.strides[d];
      from.strides[d] *= axes[d].step;
    }
    auto* data = add_memory(step, box.num_items() * item);
    StridedCopy(box, from, packed_side(box, 0), item).run(part.data, data);
    result.parts.push_back({box, data});
  }
  return result;
}

void select_values(Coordinate& coordinate, const AxisSelection& axis) {
  std::vector<double> values;
  for (auto i = axis.start; i < axis.stop; i += axis.step) {
    values.push_back(coordinate.values[static_cast<std::size_t>(i)]);
  }
  coordinate.values = std::move(values);
}

int axis_of(const Field& field, const std::string& name) {
  const auto found = std::ranges::find(field.dims, name);
  return found == field.dims.end() ? -1 : static_cast<int>(found - field.dims.begin());
}

}  // namespace tailrace::server
