// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "random_problems.hpp"
#include "tailrace/box.hpp"
#include "tailrace/layout.hpp"

namespace tailrace {

/// Extents of 1 to `most_dims` axes with at most `most_items` items in all; some axes are 1 long.
inline std::vector<std::ptrdiff_t> random_extents(Dice& dice, int most_dims,
                                                  std::ptrdiff_t most_items) {
  std::vector<std::ptrdiff_t> extents(static_cast<std::size_t>(dice.between(1, most_dims)));
  auto room = most_items;
  for (auto& extent : extents) {
    const auto longest = extents.size() == 1 ? room : std::min<std::ptrdiff_t>(room, 40);
    extent = dice.chance(10) ? 1 : dice.between(1, longest);
    room = std::max<std::ptrdiff_t>(room / extent, 1);
  }
  dice.shuffle(extents);
  return extents;
}

inline Box whole_box(const std::vector<std::ptrdiff_t>& extents) {
  Box box;
  box.num_dims = static_cast<int>(extents.size());
  std::ranges::copy(extents, box.extents.begin());
  return box;
}

/// `whole` cut at random into up to `count` boxes that hold each item once.
inline std::vector<Box> random_partition(Dice& dice, const Box& whole, std::ptrdiff_t count) {
  std::vector<Box> boxes{whole};
  for (std::ptrdiff_t attempt = 0; attempt < 3 * count && std::ssize(boxes) < count; ++attempt) {
    const auto b = static_cast<std::size_t>(dice.below(std::ssize(boxes)));
    const auto d = static_cast<std::size_t>(dice.below(whole.num_dims));
    if (boxes[b].extents[d] < 2) continue;
    auto upper = boxes[b];
    const auto cut = dice.between(1, upper.extents[d] - 1);
    boxes[b].extents[d] = cut;
    upper.start[d] += cut;
    upper.extents[d] -= cut;
    boxes.push_back(upper);
  }
  return boxes;
}

/// Any boxes inside `whole`; they may overlap.
inline std::vector<Box> random_boxes(Dice& dice, const Box& whole, std::ptrdiff_t count) {
  std::vector<Box> boxes(static_cast<std::size_t>(count), whole);
  for (auto& box : boxes) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(whole.num_dims); ++d) {
      box.extents[d] = dice.between(1, whole.extents[d]);
      box.start[d] = dice.below(whole.extents[d] - box.extents[d] + 1);
    }
  }
  return boxes;
}

/// Deals things to ranks at random; some ranks may get nothing, or one rank everything.
template <class Thing>
std::vector<std::vector<Thing>> deal(Dice& dice, const std::vector<Thing>& things, int num_ranks) {
  std::vector<std::vector<Thing>> dealt(static_cast<std::size_t>(num_ranks));
  const auto takers = dice.chance(30) ? dice.between(1, num_ranks) : num_ranks;
  const auto first = dice.below(num_ranks);
  for (const auto& thing : things) {
    dealt[static_cast<std::size_t>((first + dice.below(takers)) % num_ranks)].push_back(thing);
  }
  return dealt;
}

/// A random memory of `boxes`: gaps between them, axes in any order, halos, axes that run
/// backwards. `plain` keeps to what is dense.
inline Memory random_memory(Dice& dice, const std::vector<Box>& boxes, bool plain) {
  if (plain) return Memory::dense(boxes);
  Memory memory;
  std::ptrdiff_t at = dice.below(5);
  for (const auto& box : boxes) {
    std::vector<std::size_t> order(static_cast<std::size_t>(box.num_dims));
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (dice.chance(50)) dice.shuffle(order);
    BoxMemory own;
    std::ptrdiff_t step = 1;
    own.offset = at;
    for (auto d = order.rbegin(); d != order.rend(); ++d) {
      const auto halo = dice.chance(25) ? dice.between(1, 2) : 0;
      const bool backwards = dice.chance(15);
      const auto extent = box.extents[*d];
      own.strides[*d] = backwards ? -step : step;
      own.offset += step * (halo + (backwards ? extent - 1 : 0));
      step *= extent + 2 * halo;
    }
    memory.boxes.push_back(own);
    at += step + dice.below(4);
  }
  memory.num_items = at;
  return memory;
}

/// The same with `factor` - 1 items of others between two neighbours, as in interleaved arrays.
inline Memory spread(Memory memory, std::ptrdiff_t factor) {
  for (auto& box : memory.boxes) {
    box.offset *= factor;
    for (auto& stride : box.strides) stride *= factor;
  }
  memory.num_items *= factor;
  return memory;
}

/// Calls `item(global index in the box's space, place in memory)` for each item of `box`.
template <class Item>
void for_each_item(const Box& box, const BoxMemory& memory, Item&& item) {
  if (box.empty()) return;
  Index at{};
  const auto num_dims = static_cast<std::size_t>(box.num_dims);
  while (true) {
    Index global{};
    auto place = memory.offset;
    for (std::size_t d = 0; d < num_dims; ++d) {
      global[d] = box.start[d] + at[d];
      place += at[d] * memory.strides[d];
    }
    item(global, place);
    auto d = num_dims;
    while (d-- > 0) {
      if (++at[d] < box.extents[d]) break;
      at[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

/// Number of an item in row-major order.
inline std::ptrdiff_t flat_index(const std::vector<std::ptrdiff_t>& extents, const Index& at) {
  std::ptrdiff_t flat = 0;
  for (std::size_t d = 0; d < extents.size(); ++d) flat = flat * extents[d] + at[d];
  return flat;
}

}  // namespace tailrace
