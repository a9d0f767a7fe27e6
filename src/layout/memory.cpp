// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <fmt/format.h>

#include "layout/rule.hpp"
#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/axis_text.hpp"

namespace tailrace {

namespace {

/// Whether `most_items` are enough for an axis of `extent` items with `cells` before and behind it,
/// each `stride` items long.
bool fits(std::ptrdiff_t extent, std::ptrdiff_t cells, std::ptrdiff_t stride) {
  std::ptrdiff_t items = 0;
  return extent >= 0 && extent <= most_items && cells <= most_items &&
         !__builtin_mul_overflow(extent + 2 * cells, stride, &items) && items <= most_items;
}

}  // namespace

Memory Memory::dense(ListOf<Box> boxes) {
  Memory memory;
  for (const auto& box : boxes) {
    if (box.num_items() > most_items - memory.num_items) {
      throw Error(Errc::invalid_input, fmt::format("box {} after {} items: more than {} items",
                                                   box.describe(), memory.num_items, most_items));
    }
    BoxMemory one{memory.num_items, {}};
    std::ptrdiff_t stride = 1;
    for (auto d = static_cast<std::size_t>(box.num_dims); d-- > 0; stride *= box.extents[d]) {
      one.strides[d] = stride;
    }
    memory.num_items += box.num_items();
    memory.boxes.push_back(one);
  }
  return memory;
}

Memory Memory::ordered(const Box& box, ListOf<int> order, ListOf<std::ptrdiff_t> halo) {
  const auto dims = static_cast<std::size_t>(box.num_dims);
  std::array<int, max_dims> seen{};
  bool ok = order.size() == dims && (halo.empty() || halo.size() == dims);
  for (const int axis : order) {
    ok = ok && axis >= 0 && axis < box.num_dims && seen[static_cast<std::size_t>(axis)]++ == 0;
  }
  for (const auto cells : halo) ok = ok && cells >= 0;
  if (!ok) {
    throw Error(Errc::invalid_input,
                fmt::format("order [{}] must name each of the {} axes once, and halo [{}] must be "
                            "empty or have one entry for each axis, none negative",
                            axis_list(order, dims), dims, per_axis(halo)));
  }
  Memory memory;
  BoxMemory one;
  std::ptrdiff_t stride = 1;
  for (auto place = dims; place-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[place]);
    const auto cells = halo.empty() ? 0 : halo[axis];
    one.strides[axis] = stride;
    if (!fits(box.extents[axis], cells, stride)) {
      throw Error(Errc::invalid_input,
                  fmt::format("box {} with a halo of [{}] is more than {} items", box.describe(),
                              per_axis(halo), most_items));
    }
    one.offset += cells * stride;
    stride *= box.extents[axis] + 2 * cells;
  }
  memory.num_items = stride;
  memory.boxes.push_back(one);
  return memory;
}

}  // namespace tailrace
