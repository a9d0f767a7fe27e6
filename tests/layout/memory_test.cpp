// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"

namespace tailrace {
namespace {

TEST(Memory, DenseBoxesFollowOneAnother) {
  const std::vector<Box> boxes{{2, {0, 0}, {2, 3}}, {2, {5, 5}, {4, 1}}};
  const auto memory = Memory::dense(boxes);
  ASSERT_EQ(memory.boxes.size(), 2U);
  EXPECT_EQ(memory.boxes[0].offset, 0);
  EXPECT_EQ(memory.boxes[0].strides, (Index{3, 1}));
  EXPECT_EQ(memory.boxes[1].offset, 6);
  EXPECT_EQ(memory.boxes[1].strides, (Index{1, 1}));
  EXPECT_EQ(memory.num_items, 10);
  EXPECT_EQ(Memory::dense({}).num_items, 0);
}

TEST(Memory, OrderedAxes) {
  const Box box{3, {0, 0, 0}, {2, 3, 5}};
  const std::vector<int> order{1, 0, 2};
  const auto memory = Memory::ordered(box, order);
  EXPECT_EQ(memory.boxes[0].strides, (Index{5, 10, 1}));
  EXPECT_EQ(memory.num_items, 30);
}

TEST(Memory, ProductsOfExtentsAreChecked) {
  const auto large = std::ptrdiff_t{1} << 40;
  const Box box{2, {}, {large, large}}, line{2, {}, {large, 1}};
  const std::vector<int> order{0, 1};
  EXPECT_THROW(Memory::ordered(box, order), Error);
  EXPECT_THROW(Memory::ordered(line, order, {0, large}), Error);
  EXPECT_THROW(Memory::ordered(line, order, {0, PTRDIFF_MAX}), Error);
  EXPECT_NO_THROW(Memory::ordered(line, order, {0, 1}));
  EXPECT_THROW(Memory::dense({box}), Error);
  const Box half{1, {}, {std::ptrdiff_t{1} << 55}};
  EXPECT_NO_THROW(Memory::dense({half, half}));
  EXPECT_THROW(Memory::dense({half, half, half}), Error);
}

TEST(Memory, HaloIsOnBothSides) {
  const Box box{3, {0, 0, 0}, {2, 3, 5}};
  const std::vector<int> order{0, 1, 2};
  const std::vector<std::ptrdiff_t> halo{1, 0, 2};
  const auto memory = Memory::ordered(box, order, halo);
  EXPECT_EQ(memory.boxes[0].strides, (Index{27, 9, 1}));
  EXPECT_EQ(memory.boxes[0].offset, 27 + 2);
  EXPECT_EQ(memory.num_items, 4 * 3 * 9);
}

TEST(Memory, RefusesWrongOrders) {
  const Box box{2, {0, 0}, {2, 3}};
  const std::vector<int> twice{0, 0};
  const std::vector<int> few{0};
  const std::vector<int> far{0, 2};
  const std::vector<int> right{1, 0};
  const std::vector<std::ptrdiff_t> negative{0, -1};
  EXPECT_THROW(Memory::ordered(box, twice), Error);
  EXPECT_THROW(Memory::ordered(box, few), Error);
  EXPECT_THROW(Memory::ordered(box, far), Error);
  EXPECT_THROW(Memory::ordered(box, right, negative), Error);
  EXPECT_NO_THROW(Memory::ordered(box, right));
}

}  // namespace
}  // namespace tailrace
