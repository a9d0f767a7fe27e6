// SPDX-License-Identifier: BSD-3-Clause
#include "move/strided_copy.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "move/numbered_items.hpp"

namespace tailrace {
namespace {

/// Copies `part` of `box` from memory in `from_order` to memory in `to_order`, both with halo.
void check(const Box& box, const Box& part, std::span<const int> from_order,
           std::span<const int> to_order, std::ptrdiff_t halo, std::ptrdiff_t item_bytes) {
  const std::vector<std::ptrdiff_t> cells(from_order.size(), halo);
  const auto from = Memory::ordered(box, from_order, cells);
  const auto to = Memory::ordered(part, to_order, cells);
  const auto source = testing::make_fields({box}, from, item_bytes, 1, true)[0];
  auto destination = testing::make_fields({part}, to, item_bytes, 1, false)[0];
  const auto expected = testing::make_fields({part}, to, item_bytes, 1, true)[0];
  const StridedCopy copy(part, side_of(part, box, from.boxes[0]), side_of(part, part, to.boxes[0]),
                         item_bytes);
  EXPECT_EQ(copy.num_bytes(), part.num_items() * item_bytes);
  copy.run(reinterpret_cast<const std::byte*>(source.data()),
           reinterpret_cast<std::byte*>(destination.data()));
  EXPECT_EQ(destination, expected);
}

TEST(StridedCopy, AllOrdersAndSizesOfThreeAxes) {
  const Box box{3, {10, 20, 30}, {5, 19, 33}};
  const Box part{3, {11, 21, 30}, {3, 17, 33}};
  std::vector<int> from_order{0, 1, 2};
  do {
    std::vector<int> to_order{0, 1, 2};
    do {
      for (const std::ptrdiff_t bytes : {1, 2, 3, 4, 8, 12, 16, 24, 40}) {
        check(box, part, from_order, to_order, 0, bytes);
      }
      check(box, part, from_order, to_order, 2, 8);
      check(part, part, from_order, to_order, 0, 8);
    } while (std::ranges::next_permutation(to_order).found);
  } while (std::ranges::next_permutation(from_order).found);
}

TEST(StridedCopy, PlanesLongerThanAStrip) {
  const Box wide{3, {0, 0, 0}, {37, 2, 1101}};
  const Box tall{3, {0, 0, 0}, {1101, 2, 37}};
  for (const std::ptrdiff_t bytes : {4, 8, 16}) {
    for (const auto& box : {wide, tall}) {
      check(box, box, std::vector{0, 1, 2}, std::vector{1, 2, 0}, 0, bytes);
      check(box, box, std::vector{0, 1, 2}, std::vector{2, 1, 0}, 0, bytes);
    }
  }
}

TEST(StridedCopy, FiveAxesAndExtentsOfOne) {
  const Box box{5, {0, 0, 0, 0, 0}, {3, 1, 4, 2, 5}};
  std::vector<int> order{0, 1, 2, 3, 4};
  do {
    check(box, box, std::vector{0, 1, 2, 3, 4}, order, 0, 8);
    check(box, box, order, std::vector{2, 0, 4, 1, 3}, 1, 4);
  } while (std::ranges::next_permutation(order).found);
}

TEST(StridedCopy, NothingToCopy) {
  const Box none{2, {0, 0}, {0, 4}};
  const StridedCopy copy(none, packed_side(none, 0), packed_side(none, 0), 8);
  copy.run(nullptr, nullptr);
  EXPECT_EQ(copy.num_bytes(), 0);
}

}  // namespace
}  // namespace tailrace
