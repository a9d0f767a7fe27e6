// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"

namespace tailrace {

Memory Memory::dense(ListOf<Box> boxes) {
  Memory memory;
  for (const auto& box : boxes) {
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
                            "empty or have as many entries, none negative",
                            fmt::join(order, ", "), dims, fmt::join(halo, ", ")));
  }
  Memory memory;
  BoxMemory one;
  std::ptrdiff_t stride = 1;
  for (auto place = dims; place-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[place]);
    const auto cells = halo.empty() ? 0 : halo[axis];
    one.strides[axis] = stride;
    one.offset += cells * stride;
    stride *= box.extents[axis] + 2 * cells;
  }
  memory.num_items = stride;
  memory.boxes.push_back(one);
  return memory;
}

}  // namespace tailrace
