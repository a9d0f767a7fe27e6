// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"

namespace tailrace {
namespace {

/// Items of the vectors of 8 that a box's rows are computed in, on and right of the diagonal.
std::ptrdiff_t computed(const Box& box) {
  std::ptrdiff_t items = 0;
  for (std::ptrdiff_t row = 0; row < box.extents[0]; ++row) {
    const auto first = box.start[0] == box.start[1] ? row : 0;
    items += (box.extents[1] + 7) / 8 * 8 - first / 8 * 8;
  }
  return items;
}

/// The busiest rank's over the mean.
double imbalance(const Layout& layout) {
  std::ptrdiff_t most = 0, total = 0;
  for (int rank = 0; rank < layout.num_ranks(); ++rank) {
    std::ptrdiff_t mine = 0;
    for (const auto& box : layout.boxes(rank)) mine += computed(box);
    most = std::max(most, mine);
    total += mine;
  }
  return static_cast<double>(most) * layout.num_ranks() / static_cast<double>(total);
}

TEST(Triangle, HoldsEachItemOnceAndSharesThemEvenly) {
  const std::ptrdiff_t n = 160;
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 10, 15, 21}) {
    SCOPED_TRACE(ranks);
    const Layout layout = triangle(n, ranks);
    std::vector<int> held(static_cast<std::size_t>(n * n));
    std::ptrdiff_t total = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      for (const auto& box : layout.boxes(rank)) {
        for (auto i = box.start[0]; i < box.start[0] + box.extents[0]; ++i) {
          for (auto j = box.start[1]; j < box.start[1] + box.extents[1]; ++j) {
            ++held[static_cast<std::size_t>(i * n + j)];
            total += j >= i ? 1 : 0;
          }
        }
      }
    }
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      for (auto j = i; j < n; ++j) ASSERT_EQ(held[static_cast<std::size_t>(i * n + j)], 1);
    }
    EXPECT_LE(*std::max_element(held.begin(), held.end()), 1);
    EXPECT_EQ(total, n * (n + 1) / 2);
    EXPECT_LE(imbalance(layout), 1.01);
  }
}

TEST(Triangle, IsMadeOfSquaresOnTheDiagonal) {
  const Layout layout = triangle(50, 4);
  for (int rank = 0; rank < 4; ++rank) {
    for (const auto& box : layout.boxes(rank)) {
      EXPECT_LE(box.start[0], box.start[1]);
      if (box.start[0] == box.start[1]) {
        EXPECT_EQ(box.extents[0], box.extents[1]);
      } else {
        EXPECT_LE(box.start[0] + box.extents[0], box.start[1]);
      }
    }
  }
}

TEST(Triangle, TheBusiestRankHasAtMost3PercentMore) {
  for (const std::ptrdiff_t n : {96, 100, 120, 140, 160, 200, 333}) {
    for (const int ranks : {2, 3, 6, 10}) {
      EXPECT_LE(imbalance(triangle(n, ranks)), 1.03) << n << " rows on " << ranks << " ranks";
    }
  }
}

TEST(Triangle, TwoRanksHaveABlockOnTheDiagonalEachAndHalfOfTheOther) {
  const Layout layout = triangle(160, 2);
  for (int rank = 0; rank < 2; ++rank) {
    const auto boxes = layout.boxes(rank);
    ASSERT_EQ(boxes.size(), 2u);
    EXPECT_EQ(boxes[0].num_items() + boxes[1].num_items(), 80 * 80 + 40 * 80);
  }
}

TEST(Triangle, SmallOnesLeaveRanksWithoutItems) {
  std::ptrdiff_t items = 0;
  for (int rank = 0; rank < 9; ++rank) items += triangle(3, 9).num_items(rank);
  EXPECT_EQ(items, 9);
  EXPECT_THROW(triangle(0, 1), Error);
  EXPECT_THROW(triangle(4, 0), Error);
}

}  // namespace
}  // namespace tailrace
