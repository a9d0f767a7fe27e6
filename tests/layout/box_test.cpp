// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/box.hpp"

#include <gtest/gtest.h>

namespace tailrace {
namespace {

TEST(Box, CountsAndDescribesItems) {
  const Box box{2, {0, 3}, {4, 4}};
  EXPECT_EQ(box.num_items(), 16);
  EXPECT_EQ(box.describe(), "[0:4, 3:7]");
  EXPECT_FALSE(box.empty());
  EXPECT_TRUE((Box{2, {0, 3}, {4, 0}}.empty()));
  EXPECT_EQ(Box{}.num_items(), 1);
}

TEST(Box, EqualityLooksAtUsedAxesOnly) {
  Box a{2, {1, 2}, {3, 4}};
  Box b = a;
  b.start[4] = 9;
  EXPECT_EQ(a, b);
  b.start[1] = 1;
  EXPECT_FALSE(a == b);
}

TEST(Intersect, SharesOrIsEmpty) {
  const Box a{3, {0, 0, 0}, {4, 4, 4}};
  EXPECT_EQ(intersect(a, {3, {2, 1, 3}, {9, 2, 9}}), (Box{3, {2, 1, 3}, {2, 2, 1}}));
  EXPECT_EQ(intersect(a, a), a);
  EXPECT_TRUE(intersect(a, {3, {4, 0, 0}, {1, 4, 4}}).empty());
  // Two axes that miss each other must not multiply to a positive number of items.
  EXPECT_TRUE(intersect(a, {3, {6, 7, 0}, {1, 1, 4}}).empty());
}

TEST(SplitEvenly, CoversAllItemsOnceInOrder) {
  for (std::ptrdiff_t items = 0; items < 40; ++items) {
    for (std::ptrdiff_t parts = 1; parts < 12; ++parts) {
      std::ptrdiff_t next = 0;
      for (std::ptrdiff_t part = 0; part < parts; ++part) {
        const auto range = split_evenly(items, parts, part);
        ASSERT_EQ(range.start, next);
        ASSERT_GE(range.count, items / parts);
        ASSERT_LE(range.count, items / parts + 1);
        next = range.end();
        for (auto item = range.start; item < range.end(); ++item) {
          ASSERT_EQ(part_of(items, parts, item), part);
        }
      }
      ASSERT_EQ(next, items);
    }
  }
}

TEST(SplitEvenly, LongerPartsComeFirst) {
  EXPECT_EQ(split_evenly(7, 3, 0), (Range{0, 3}));
  EXPECT_EQ(split_evenly(7, 3, 1), (Range{3, 2}));
  EXPECT_EQ(split_evenly(2, 3, 2), (Range{2, 0}));
}

}  // namespace
}  // namespace tailrace
