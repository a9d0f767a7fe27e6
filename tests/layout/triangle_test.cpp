// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"

namespace tailrace {
namespace {

TEST(Triangle, HoldsEachItemOnceAndSharesThemEvenly) {
  const std::ptrdiff_t n = 160;
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 10, 15, 21}) {
    SCOPED_TRACE(ranks);
    const Layout layout = triangle(n, ranks);
    std::vector<int> held(static_cast<std::size_t>(n * n));
    std::ptrdiff_t most = 0, total = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      std::ptrdiff_t mine = 0;
      for (const auto& box : layout.boxes(rank)) {
        for (auto i = box.start[0]; i < box.start[0] + box.extents[0]; ++i) {
          for (auto j = box.start[1]; j < box.start[1] + box.extents[1]; ++j) {
            ++held[static_cast<std::size_t>(i * n + j)];
            mine += j >= i ? 1 : 0;
          }
        }
      }
      most = std::max(most, mine);
      total += mine;
    }
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      for (auto j = i; j < n; ++j) ASSERT_EQ(held[static_cast<std::size_t>(i * n + j)], 1);
    }
    EXPECT_LE(*std::max_element(held.begin(), held.end()), 1);
    EXPECT_EQ(total, n * (n + 1) / 2);
    const double mean = static_cast<double>(total) / ranks;
    EXPECT_LE(static_cast<double>(most), 1.05 * mean);
    RecordProperty("busiest_over_mean", std::to_string(static_cast<double>(most) / mean));
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
  for (const std::ptrdiff_t n : {60, 75, 80, 96, 100, 120, 160, 200, 333}) {
    for (const int ranks : {3, 6, 10}) {
      const Layout layout = triangle(n, ranks);
      std::ptrdiff_t most = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        std::ptrdiff_t mine = 0;
        for (const auto& box : layout.boxes(rank)) {
          const auto all = box.num_items();
          mine += box.start[0] == box.start[1] ? (all + box.extents[0]) / 2 : all;
        }
        most = std::max(most, mine);
      }
      const double mean = static_cast<double>(n * (n + 1) / 2) / ranks;
      EXPECT_LE(static_cast<double>(most), 1.03 * mean) << n << " rows on " << ranks << " ranks";
    }
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
